"""Charts with axes: rows of dots, and curves over training steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from interlace.report import svg
from interlace.report.text import clipped, number, render, significant

Point = tuple[float, float]  # step, value

_TYPE_SIZE = 12.0
_CHART_WIDTH = 380.0
_CHART_RIGHT = 366.0
_CHART_TOP = 40.0
_ROW_HEIGHT = 27.0
_PANEL_WIDTH = 340.0
_PANEL_HEIGHT = 190.0
_PANEL_LEFT = 40.0
_PANEL_TOP = 34.0
_PANEL_BOTTOM = 162.0


@dataclass(frozen=True)
class Dot:
    """A marked value with its range, and its text for hover."""

    style: int
    mean: float
    low: float
    high: float
    title: str


@dataclass(frozen=True)
class DotRow:
    """A row of dots; `is_mean`: set apart by a rule."""

    name: str
    dots: Sequence[Dot]
    is_mean: bool = False


def dot_chart(
    title: str,
    rows: Sequence[DotRow],
    ends: tuple[float, float],
) -> svg.Drawing:
    """Draw rows of dots from top to bottom; ends: of the axis."""
    name_width = max(svg.text_width(row.name, _TYPE_SIZE) for row in rows)
    left = min(10 + name_width, 0.5 * _CHART_WIDTH)
    levels = []
    level = _CHART_TOP
    for row in rows:
        if row.is_mean:
            level += 8
        levels.append(level)
        level += _ROW_HEIGHT
    bottom = level + 16
    body = render(
        "dot_chart",
        title=title,
        rows=rows,
        ticks=ticks(*ends, 5),
        across=Scale(*ends, left, _CHART_RIGHT),
        levels=levels,
        bottom=bottom,
        width=_CHART_WIDTH,
        number=number,
    )
    spoken = []
    for row in rows:
        titles = ", ".join(dot.title for dot in row.dots)
        spoken.append(f"{row.name} {titles}")
    return svg.Drawing(
        _CHART_WIDTH,
        bottom,
        f"{title}: {'; '.join(spoken)}",
        body,
        "dots",
    )


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
    title: str,
    curves: Sequence[Curve],
    values: Domain,
    last_step: float,
) -> svg.Drawing:
    """Draw curves from step 0 to the last step, with a marker and a label at the end of each."""
    has_names = len({curve.label for curve in curves}) > 1
    labels = []
    for curve in curves:
        name = f"{clipped(curve.label, 12)} " if has_names else ""
        labels.append(name + curve.last_value)
    right = _PANEL_WIDTH - max(svg.text_width(label, _TYPE_SIZE) for label in labels) - 14
    across = Scale(
        0.0,
        last_step,
        _PANEL_LEFT,
        right,
    )
    up = Scale(
        values.low,
        values.high,
        _PANEL_BOTTOM,
        _PANEL_TOP,
        log=values.log,
    )
    make_ticks = log_ticks if values.log else ticks
    ends = [up(curve.points[-1][1]) + 4 for curve in curves]
    levels = apart(
        ends,
        _TYPE_SIZE + 2,
        _PANEL_TOP,
        _PANEL_BOTTOM + 4,
    )
    drawn = []
    for curve, label, level in zip(
        curves,
        labels,
        levels,
        strict=True,
    ):
        points = [(across(step), up(value)) for step, value in curve.points]
        drawn.append(
            _DrawnCurve(
                curve.style,
                points,
                label,
                level,
                f"{curve.label}: {label}",
            )
        )
    body = render(
        "line_panel",
        title=title,
        curves=drawn,
        ticks=make_ticks(values.low, values.high),
        up=up,
        left=_PANEL_LEFT,
        right=right,
        height=_PANEL_HEIGHT,
        last_step=last_step,
        labels_at=max(across(curve.points[-1][0]) for curve in curves) + 8,
        number=number,
        significant=significant,
    )
    spoken = ", ".join(f"{curve.label} {curve.last_value}" for curve in curves)
    return svg.Drawing(
        _PANEL_WIDTH,
        _PANEL_HEIGHT,
        f"{title}: at the last step {spoken}",
        body,
        "panel",
    )


def ticks(
    low: float,
    high: float,
    about: int = 4,
) -> list[float]:
    """Return about that many round numbers within [low, high]."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten within [low, high], or those of 1, 2, 5, 10, 20, ... if they are fewer than three."""
    powers = []
    values = []
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for factor in (1, 2, 5):
            value = factor * 10.0**exponent
            if low * 0.999 <= value <= high * 1.001:
                values.append(value)
                if factor == 1:
                    powers.append(value)
    return powers if len(powers) > 2 else values


def round_ends(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the closest round numbers around all ranges."""
    low = min(start for start, _ in ranges)
    high = max(end for _, end in ranges)
    values = ticks(low, high, 5)
    step = values[1] - values[0] if len(values) > 1 else 1.0
    return math.floor(low / step) * step, math.ceil(high / step + 1e-9) * step


@dataclass(frozen=True)
class Scale:
    """The linear (or logarithmic) map of [low, high] to [first, last]."""

    low: float
    high: float
    first: float
    last: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        start = self._bend(self.low)
        width = self._bend(self.high) - start or 1.0
        return self.first + (self._bend(value) - start) / width * (self.last - self.first)

    def _bend(self, value: float) -> float:
        return math.log10(value) if self.log else float(value)


def apart(
    positions: Sequence[float],
    distance: float,
    low: float,
    high: float,
) -> list[float]:
    """Return positions near these, in the same order, at least `distance` apart and within [low, high]."""
    order = sorted(range(len(positions)), key=positions.__getitem__)
    placed = list(positions)
    for index in order:
        placed[index] = max(placed[index], low)
        low = placed[index] + distance
    for index in reversed(order):
        placed[index] = min(placed[index], high)
        high = placed[index] - distance
    return placed
