"""Curves over training steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from interlace.report import axes, svg
from interlace.report.text import clipped, number, significant

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
    """Draw curves from step 0 to the last step."""
    has_names = len({curve.label for curve in curves}) > 1
    labels = []
    for curve in curves:
        name = f"{clipped(curve.label, 12)} " if has_names else ""
        labels.append(name + curve.last_value)
    right = _WIDTH - max(svg.text_width(label, _TYPE_SIZE) for label in labels) - 14
    across = axes.Scale(0.0, last_step, _LEFT, right)
    up = axes.Scale(
        values.low,
        values.high,
        _BOTTOM,
        _TOP,
        log=values.log,
    )
    make_ticks = axes.log_ticks if values.log else axes.ticks
    parts = [svg.text(0, 14, title, "title")]
    for value in make_ticks(values.low, values.high):
        tick = number(value, 0) if value.is_integer() else significant(value, 2)
        parts += svg.value_line(up(value), _LEFT, right, tick)
    parts.append(
        svg.text(
            _LEFT,
            _HEIGHT - 8,
            "0",
            "tick",
            "start",
        )
    )
    parts.append(
        svg.text(
            right,
            _HEIGHT - 8,
            f"step {number(last_step, 0)}",
            "tick",
            "end",
        )
    )
    for curve in curves:
        line = [(across(step), up(value)) for step, value in curve.points]
        parts.append(svg.path(line, curve.style))
    parts += _ends(curves, labels, across, up)
    spoken = ", ".join(f"{curve.label} {curve.last_value}" for curve in curves)
    return svg.Drawing(
        _WIDTH,
        _HEIGHT,
        f"{title}: at the last step {spoken}",
        parts,
        "panel",
    )


def _ends(
    curves: Sequence[Curve], labels: Sequence[str], across: axes.Scale, up: axes.Scale
) -> list[Markup]:
    """Return a marker at the end of each curve, and its label to the right, moved so that labels do not overlap."""
    xs = [across(curve.points[-1][0]) for curve in curves]
    ys = [up(curve.points[-1][1]) for curve in curves]
    levels = axes.apart(
        [y + 4 for y in ys],
        _TYPE_SIZE + 2,
        _TOP,
        _BOTTOM + 4,
    )
    parts = []
    for curve, label, x, y, level in zip(
        curves,
        labels,
        xs,
        ys,
        levels,
        strict=True,
    ):
        parts.append(
            svg.marker(
                x,
                y,
                curve.style,
                f"{curve.label}: {label}",
                half=3.2,
            )
        )
        parts.append(
            svg.text(
                max(xs) + 8,
                level,
                label,
                f"name c{curve.style % svg.STYLES}",
            )
        )
    return parts
