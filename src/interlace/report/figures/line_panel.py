"""Curves over training steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

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
    points: list[Point]

    @property
    def last_value(self) -> str:
        """The value at the last step, as text."""
        return significant(self.points[-1][1])


@dataclass(frozen=True)
class Domain:
    """The range of both axes; `log`: whether the vertical axis is logarithmic."""

    steps: tuple[float, float]
    values: tuple[float, float]
    log: bool = False


@dataclass(frozen=True)
class Smoothed:
    """Means over equal stretches of a curve, and the number of points in a stretch."""

    points: list[Point]
    stretch: int


def finite(points: Sequence[tuple[float, float | None]]) -> list[Point]:
    """Return the points with a finite value."""
    return [(step, value) for step, value in points if value is not None and math.isfinite(value)]


def smoothed(points: list[Point], max_points: int = 60) -> Smoothed:
    """Return means over equal stretches, at most `max_points`."""
    stretch = max(1, math.ceil(len(points) / max_points))
    means = []
    for start in range(0, len(points), stretch):
        part = points[start : start + stretch]
        mean_step = sum(step for step, _ in part) / len(part)
        mean_value = sum(value for _, value in part) / len(part)
        means.append((mean_step, mean_value))
    return Smoothed(means, stretch)


def domain(curves: Sequence[Curve], log: bool = False) -> Domain:
    """Return the range of all curves; logarithmic only if all values are positive."""
    points = list(chain.from_iterable(curve.points for curve in curves))
    steps = [step for step, _ in points]
    low = min(value for _, value in points)
    high = max(value for _, value in points)
    step_range = (min(0.0, *steps) if len(steps) > 1 else 0.0, max(*steps, 1.0))
    if log and low > 0:
        return Domain(step_range, (low / 1.15, high * 1.15), log=True)
    margin = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    starts_at_zero = 0 <= low <= margin
    return Domain(step_range, (0.0 if starts_at_zero else low - margin, high + margin))


def line_panel(title: str, curves: Sequence[Curve], span: Domain, unit: str) -> svg.Drawing:
    """Draw curves over steps; `unit` names the vertical axis for screen readers."""
    labels = _end_labels(curves)
    right = _WIDTH - max(svg.text_width(label, _TYPE_SIZE) for label in labels) - 14
    across = axes.Scale(*span.steps, _LEFT, right)
    up = axes.Scale(*span.values, _BOTTOM, _TOP, log=span.log)
    values = axes.log_ticks(*span.values) if span.log else axes.ticks(*span.values)
    parts = [svg.text(0, 14, title, "title")]
    for value in values:
        parts += svg.value_line(up(value), _LEFT, right, _tick(value))
    parts.append(svg.text(_LEFT, _HEIGHT - 8, number(span.steps[0], 0), "tick", "start"))
    parts.append(svg.text(right, _HEIGHT - 8, f"step {number(span.steps[1], 0)}", "tick", "end"))
    for curve in curves:
        parts.append(
            svg.path([(across(step), up(value)) for step, value in curve.points], curve.style)
        )
    parts += _ends(curves, labels, across, up)
    spoken = ", ".join(f"{curve.label} {curve.last_value}" for curve in curves)
    return svg.Drawing(
        _WIDTH, _HEIGHT, f"{title}: {unit}; at the last step {spoken}", parts, "panel"
    )


def _tick(value: float) -> str:
    return number(value, 0) if value.is_integer() else significant(value, 2)


def _end_labels(curves: Sequence[Curve]) -> list[str]:
    """Return the last value of each curve, with the name of the curve if they have several."""
    if len({curve.label for curve in curves}) == 1:
        return [curve.last_value for curve in curves]
    return [f"{clipped(curve.label, 12)} {curve.last_value}" for curve in curves]


def _ends(
    curves: Sequence[Curve], labels: Sequence[str], across: axes.Scale, up: axes.Scale
) -> list[Markup]:
    """Return a marker at the end of each curve, and its label to the right, moved so that labels do not overlap."""
    xs = [across(curve.points[-1][0]) for curve in curves]
    ys = [up(curve.points[-1][1]) for curve in curves]
    levels = axes.apart([y + 4 for y in ys], _TYPE_SIZE + 2, _TOP, _BOTTOM + 4)
    parts = []
    for curve, label, x, y, level in zip(curves, labels, xs, ys, levels, strict=True):
        parts.append(svg.marker(x, y, curve.style, f"{curve.label}: {label}", half=3.2))
        parts.append(svg.text(max(xs) + 8, level, label, f"name c{curve.style % svg.STYLES}"))
    return parts
