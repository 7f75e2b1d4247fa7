"""Charts: lines over training steps, dots by row, grouped bars, scatter plots, and scores by amount of data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from interlace.report.svg import (
    KEY_LINE,
    STYLES,
    Drawing,
    apart,
    below,
    element,
    fitted,
    key_lines,
    line,
    log_ticks,
    marker,
    path,
    scale,
    text,
    text_width,
    ticks,
    whisker,
)
from interlace.report.text import clipped, count, number, significant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from markupsafe import Markup

    Map = Callable[[float], float]

WIDTH, _RIGHT = 380.0, 366.0
_TYPE = 12.0
_DISC = 1  # the style whose marker is a filled circle


# ---- lines over steps ----

_PANEL_WIDTH, _PANEL_HEIGHT = 340.0, 190.0
_LEFT, _TOP, _BOTTOM = 40.0, 34.0, 28.0
_MAX_POINTS = 60  # a line; longer ones are averaged


@dataclass(frozen=True)
class Curve:
    """Values over steps in the style of a run; `label` is drawn at the line's end."""

    label: str
    style: int
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Domain:
    """The range of both axes; `log`: whether the vertical axis is logarithmic."""

    steps: tuple[float, float]
    values: tuple[float, float]
    log: bool = False


def finite(points: Sequence[tuple[float, float | None]]) -> list[tuple[float, float]]:
    """Return the points with a finite value."""
    return [(step, value) for step, value in points if value is not None and math.isfinite(value)]


def smoothed(points: list[tuple[float, float]]) -> tuple[list[tuple[float, float]], int]:
    """Return means over equal stretches, at most 60 points, and the number of points in a stretch."""
    size = max(1, math.ceil(len(points) / _MAX_POINTS))
    parts = [points[start : start + size] for start in range(0, len(points), size)]
    means = [(sum(s for s, _ in part) / len(part), sum(v for _, v in part) / len(part)) for part in parts]
    return means, size


def domain(curves: Sequence[Curve], log: bool = False) -> Domain:
    """Return the range of all curves; logarithmic only if all values are positive."""
    points = [point for curve in curves for point in curve.points]
    steps, values = [step for step, _ in points], [value for _, value in points]
    log = log and min(values) > 0
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    edges = (low / 1.15, high * 1.15) if log else (low - room if low < 0 or low > room else 0.0, high + room)
    return Domain((min(0.0, *steps) if len(steps) > 1 else 0.0, max(*steps, 1.0) if steps else 1.0), edges, log)


def line_panel(title: str, curves: Sequence[Curve], span: Domain, unit: str) -> Drawing:
    """Draw curves over steps; `unit` names the vertical axis for screen readers."""
    curves = [curve for curve in curves if curve.points]
    several = len({curve.label for curve in curves}) > 1
    ends = [(clipped(curve.label, 12) + " " if several else "") + significant(curve.points[-1][1]) for curve in curves]
    right = _PANEL_WIDTH - max(text_width(end, _TYPE) for end in ends) - 14
    across = scale(*span.steps, _LEFT, right)
    up = scale(*span.values, _PANEL_HEIGHT - _BOTTOM, _TOP, span.log)
    last = ", ".join(f"{curve.label} {significant(curve.points[-1][1])}" for curve in curves)
    parts = [text(0, 14, title, "title")]
    for value in log_ticks(*span.values) if span.log else ticks(*span.values):
        shown = number(value, 0) if float(value).is_integer() else significant(value, 2)
        parts += [
            line(_LEFT, up(value), right, up(value), "grid"),
            text(_LEFT - 6, up(value) + 4, shown, "tick", "end"),
        ]
    parts.append(text(_LEFT, _PANEL_HEIGHT - 8, number(span.steps[0], 0), "tick", "start"))
    parts.append(text(right, _PANEL_HEIGHT - 8, f"step {number(span.steps[1], 0)}", "tick", "end"))
    parts += [path([(across(step), up(value)) for step, value in curve.points], curve.style) for curve in curves]
    points = [(across(curve.points[-1][0]), up(curve.points[-1][1])) for curve in curves]
    heights = apart([y + 4 for _, y in points], _TYPE + 2, _TOP, _PANEL_HEIGHT - _BOTTOM + 4)
    for curve, words, (x, y), height in zip(curves, ends, points, heights, strict=True):
        parts.append(marker(x, y, curve.style, f"{curve.label}: {words}", half=3.2))
        parts.append(text(x + 8, height, words, f"name c{curve.style % STYLES}"))
    return Drawing(_PANEL_WIDTH, _PANEL_HEIGHT, f"{title}: {unit}; at the last step {last}", parts, "panel")


# ---- dots by row ----


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
    """A row of dots; `mean` rows are set apart by a rule."""

    name: str
    dots: Sequence[Dot]
    mean: bool = False


def dot_chart(
    title: str,
    rows: Sequence[DotRow],
    ends: tuple[float, float],
    keys: Mapping[str, int] | None = None,
    *,
    names_above: bool = False,
) -> Drawing:
    """Draw rows of dots over a common horizontal axis.

    Args:
        title: of the chart.
        rows: from top to bottom.
        ends: of the axis.
        keys: name -> style, drawn under the title.
        names_above: whether names of rows are above their dots, for long names.
    """
    left = 12.0 if names_above else min(10 + max(text_width(row.name, _TYPE) for row in rows), 0.5 * WIDTH)
    height, top = (32.0, 68.0) if names_above else (27.0, 40.0 if keys is None else 60.0)
    drawn_keys, more = key_lines(keys, 34, WIDTH) if keys else ([], 0.0)
    across = scale(*ends, left, _RIGHT)
    bottom = top + height * len(rows) + 8 * any(row.mean for row in rows)
    parts: list[Markup] = []
    for value in ticks(*ends, 5):
        parts += [line(across(value), top - (22 if names_above else 12), across(value), bottom - 8, "grid")]
        parts += [text(across(value), bottom + 8, number(value, 0 if value.is_integer() else 1), "tick", "middle")]
    for place, row in enumerate(rows):
        y = top + height * place + 8 * row.mean
        if row.mean:
            parts.append(line(0, y - height / 2 - 4, WIDTH, y - height / 2 - 4, "rule"))
        if names_above:
            parts.append(text(0, y - 9, fitted(row.name, 11.0, _RIGHT), "tick"))
        else:
            parts.append(text(0, y + 4, fitted(row.name, _TYPE, left - 8), "row mean" if row.mean else "row"))
        parts += _dots(row, y, across)
    label = f"{title}: " + "; ".join(f"{row.name} " + ", ".join(dot.title for dot in row.dots) for row in rows)
    parts = below([text(0, 14, title, "title"), *drawn_keys], parts, more)
    return Drawing(WIDTH, bottom + 16 + more, label, parts, "dots")


def _dots(row: DotRow, y: float, across: Map) -> list[Markup]:
    """Draw dots a little above each other, so that equal values do not hide each other."""
    means = [across(dot.mean) for dot in row.dots]
    parts = [line(min(means), y, max(means), y, "gap")] if len(means) > 1 else []
    lane = 4.5 if len(row.dots) < 4 else 13.5 / len(row.dots)
    for place, dot in enumerate(row.dots):
        level = y + (place - (len(row.dots) - 1) / 2) * lane
        parts += whisker(across(dot.low), level, across(dot.high), level, dot.style)
        parts.append(marker(across(dot.mean), level, dot.style, dot.title))
    return parts


# ---- bars, scatter plots ----


@dataclass(frozen=True)
class Bar:
    """A bar of one series in one group."""

    group: str
    series: str
    value: float
    title: str


def bar_chart(title: str, bars: Sequence[Bar], styles: Mapping[str, int], ends: tuple[float, float]) -> Drawing:
    """Draw bars of each group side by side, up or down from 0; `styles` are of the series."""
    groups = list(dict.fromkeys(bar.group for bar in bars))
    low, high = ends
    bottom = 190.0 + (11.0 if low < 0 else 0.0)
    up = scale(low, high, 190.0, 56.0)
    keys, more = key_lines(styles, 34, WIDTH, shape=_DISC)
    parts: list[Markup] = []
    for value in ticks(low, high, 4):
        parts.append(line(30, up(value), _RIGHT, up(value), "rule" if value == 0 else "grid"))
        parts.append(text(24, up(value) + 4, number(value, 0), "tick", "end"))
    space = (_RIGHT - 36) / len(groups)
    wide = min(26.0, space * 0.9 / max(len(styles), 1))
    names = [wrap(group, int(space / text_width("x", 11)), break_on_hyphens=False) for group in groups]
    for place, (group, lines) in enumerate(zip(groups, names, strict=True)):
        middle = 36 + space * (place + 0.5)
        parts += [text(middle, bottom + 16 + 13 * row, words, "tick", "middle") for row, words in enumerate(lines)]
        for bar in (one for one in bars if one.group == group):
            x = middle + (styles[bar.series] - len(styles) / 2) * wide
            size = {"x": x + 1, "y": up(max(bar.value, 0.0)), "width": wide - 2, "height": abs(up(bar.value) - up(0.0))}
            fill = f"c{styles[bar.series] % STYLES} full"
            parts.append(element("rect", element("title", bar.title), class_=fill, **size))
            beyond = up(bar.value) + (11.0 if bar.value < 0 else -3)
            parts.append(text(x + wide / 2, beyond, _bar_label(bar.value, wide), "tick", "middle"))
    label = f"{title}: " + "; ".join(bar.title for bar in bars)
    whole = below([text(0, 14, title, "title"), *keys], parts, more)
    return Drawing(WIDTH, bottom + 11 + 13 * max(map(len, names)) + more, label, whole, "dots")


def _bar_label(value: float, wide: float) -> str:
    """Return the number above a bar: with a decimal if it is small and the bar wide enough."""
    precise = number(value, 1)
    return precise if abs(value) < 10 and text_width(precise, 11) <= wide + 1 else number(value, 0)


@dataclass(frozen=True)
class ScatterPoint:
    """A point; `colour` and `shape` name its style."""

    x: float
    y: float
    colour: str
    shape: str
    title: str


def scatter(
    title: str, points: Sequence[ScatterPoint], colours: Mapping[str, int], shapes: Mapping[str, int]
) -> Drawing:
    """Draw points over a horizontal axis of percent."""
    values = [point.y for point in points]
    low, high = min(0.0, *values), max(1.0, *values)
    room = (high - low) * 0.08
    across, up = scale(0.0, 100.0, 40.0, _RIGHT - 10), scale(low - room, high + room, 222.0, 62.0)
    first, more = key_lines(colours, 34, WIDTH, shape=_DISC)
    second, further = key_lines(shapes, 34 + KEY_LINE + more, WIDTH, colour=0)
    parts: list[Markup] = []
    for value in ticks(low, high, 4):
        parts += [line(40, up(value), _RIGHT, up(value), "grid")]
        parts += [text(34, up(value) + 4, number(value, 0), "tick", "end")]
    parts += [text(across(value), 238, value, "tick", "middle") for value in (0, 25, 50, 75, 100)]
    for point in points:
        mark = marker(across(point.x), up(point.y), shapes[point.shape], point.title, colour=colours[point.colour])
        parts.append(mark)
    label = f"{title}: " + "; ".join(point.title for point in points)
    keys = [text(0, 14, title, "title"), *first, *second]
    return Drawing(WIDTH, 246 + more + further, label, below(keys, parts, more + further), "dots")


# ---- scores by amount of data ----


@dataclass(frozen=True)
class SizePoint:
    """Mean score at one amount of data, with its range over runs."""

    size: float
    mean: float
    low: float
    high: float


def size_chart(title: str, lines: Mapping[str, Sequence[SizePoint]]) -> Drawing:
    """Draw scores over a logarithmic axis of rows of training text, a line a system."""
    height, left, top, bottom = 230.0, 40.0, 34.0, 30.0
    points = [point for found in lines.values() for point in found]
    low, high = min(point.low for point in points), max(point.high for point in points)
    room = (high - low) * 0.08 or 1.0
    right = WIDTH - max(text_width(label, _TYPE) for label in lines) - 16
    sizes = sorted({point.size for point in points})
    across = scale(sizes[0], sizes[-1], left + 8, right, log=True)
    up = scale(low - room, high + room, height - bottom, top)
    parts = [text(0, 14, title, "title")]
    for value in ticks(low - room, high + room):
        parts += [line(left, up(value), right, up(value), "grid")]
        parts += [text(left - 6, up(value) + 4, number(value), "tick", "end")]
    for size in sizes if len(sizes) < 6 else log_ticks(sizes[0], sizes[-1]):
        parts.append(text(across(size), height - 10, count(size), "tick", "middle"))
    heights = apart([up(found[-1].mean) + 4 for found in lines.values()], _TYPE + 2, top, height - bottom)
    spoken = []
    for style, ((label, found), y) in enumerate(zip(lines.items(), heights, strict=True)):
        parts.append(path([(across(point.size), up(point.mean)) for point in found], style))
        for point in found:
            title_ = f"{label}, {count(point.size)} rows: {number(point.mean)}"
            parts += whisker(across(point.size), up(point.low), across(point.size), up(point.high), style)
            parts.append(marker(across(point.size), up(point.mean), style, title_))
            spoken.append(title_)
        parts.append(text(right + 8, y, label, f"name c{style % STYLES}"))
    return Drawing(WIDTH, height, f"{title} by rows of training text: {'; '.join(spoken)}", parts, "dots")
