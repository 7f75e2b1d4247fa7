"""Curves over training steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from interlace.report import axes, svg
from interlace.report.text import clipped, number, render, significant

Point = tuple[float, float]  # step, value

_WIDTH = 340.0
_HEIGHT = 190.0
_LEFT = 40.0
_TOP = 34.0
_BOTTOM = 162.0
_TYPE_SIZE = 12.0


@dataclass(frozen=True)
class Curve:
    """Values over steps in the style of a run; `label` is drawn at the line's end."""

    label: str
    style: int
    points: Sequence[Point]

    @property
    def last_value(self) -> str:
        """The value at the last step, as text."""
        return significant(self.points[-1][1])


@dataclass(frozen=True)
class _DrawnCurve:
    """A curve in the coordinates of the figure; level: of its label, which keeps clear of the others."""

    style: int
    points: Sequence[Point]
    label: str
    level: float
    title: str


@dataclass(frozen=True)
class Domain:
    """The range of the vertical axis; `log`: whether it is logarithmic."""

    low: float
    high: float
    log: bool = False


def domain(curves: Sequence[Curve], *, log: bool = False) -> Domain:
    """Return the range of the values of all curves; logarithmic only if all are positive."""
    values = []
    for curve in curves:
        values += [value for _, value in curve.points]
    low = min(values)
    high = max(values)
    if log and low > 0:
        return Domain(low / 1.15, high * 1.15, log=True)
    margin = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    if 0 <= low <= margin:
        return Domain(0.0, high + margin)
    return Domain(low - margin, high + margin)


def smoothed(points: Sequence[Point], max_points: int = 60) -> list[Point]:
    """Return means over equal stretches, at most `max_points`."""
    stretch = max(1, math.ceil(len(points) / max_points))
    means = []
    for start in range(0, len(points), stretch):
        part = points[start : start + stretch]
        mean_step = sum(step for step, _ in part) / len(part)
        mean_value = sum(value for _, value in part) / len(part)
        means.append((mean_step, mean_value))
    return means


def line_panel(
    title: str, curves: Sequence[Curve], values: Domain, last_step: float
) -> svg.Drawing:
    """Draw curves from step 0 to the last step, with a marker and a label at the end of each."""
    has_names = len({curve.label for curve in curves}) > 1
    labels = []
    for curve in curves:
        name = f"{clipped(curve.label, 12)} " if has_names else ""
        labels.append(name + curve.last_value)
    right = _WIDTH - max(svg.text_width(label, _TYPE_SIZE) for label in labels) - 14
    across = axes.Scale(0.0, last_step, _LEFT, right)
    up = axes.Scale(values.low, values.high, _BOTTOM, _TOP, log=values.log)
    make_ticks = axes.log_ticks if values.log else axes.ticks
    ends = [up(curve.points[-1][1]) + 4 for curve in curves]
    levels = axes.apart(ends, _TYPE_SIZE + 2, _TOP, _BOTTOM + 4)
    drawn = []
    for curve, label, level in zip(curves, labels, levels, strict=True):
        points = [(across(step), up(value)) for step, value in curve.points]
        drawn.append(_DrawnCurve(curve.style, points, label, level, f"{curve.label}: {label}"))
    body = render(
        "line_panel",
        title=title,
        curves=drawn,
        ticks=make_ticks(values.low, values.high),
        up=up,
        left=_LEFT,
        right=right,
        height=_HEIGHT,
        last_step=last_step,
        labels_at=max(across(curve.points[-1][0]) for curve in curves) + 8,
        number=number,
        significant=significant,
    )
    spoken = ", ".join(f"{curve.label} {curve.last_value}" for curve in curves)
    return svg.Drawing(_WIDTH, _HEIGHT, f"{title}: at the last step {spoken}", body, "panel")
