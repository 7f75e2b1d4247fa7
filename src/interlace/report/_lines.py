"""A panel of lines over training steps, labelled at their ends; panels stand side by side as small multiples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.report._format import clipped, number, significant
from interlace.report._svg import apart, element, line, log_ticks, marker, path, picture, scale, text, text_width, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markupsafe import Markup

    _Map = Callable[[float], float]

WIDTH, HEIGHT = 340.0, 190.0
_LEFT, _TOP, _BOTTOM = 40.0, 34.0, 28.0
_TYPE = 12.0  # size of the text, as in the style sheet
_MOST = 60  # points a line; longer ones are averaged in equal stretches


@dataclass(frozen=True)
class Curve:
    """Values over steps in the style of a column; `label` stands at the line's end."""

    label: str
    style: int
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Domain:
    """What the axes of all panels of one figure span; `log` is for the vertical one."""

    steps: tuple[float, float]
    values: tuple[float, float]
    log: bool = False


def finite(points: Sequence[tuple[float, float | None]]) -> list[tuple[float, float]]:
    """The points whose value is a finite number."""
    return [(step, value) for step, value in points if value is not None and math.isfinite(value)]


def smoothed(points: list[tuple[float, float]], most: int = _MOST) -> tuple[list[tuple[float, float]], int]:
    """Means of equal stretches, so that at most `most` points stay, and how many points went into one."""
    size = max(1, math.ceil(len(points) / most))
    parts = [points[start : start + size] for start in range(0, len(points), size)]
    return [
        (sum(step for step, _ in part) / len(part), sum(value for _, value in part) / len(part)) for part in parts
    ], size


def domain(curves: Sequence[Curve], log: bool = False) -> Domain:
    """What all the curves span; a logarithmic axis is only used where every value is positive."""
    points = [point for curve in curves for point in curve.points]
    steps, values = [step for step, _ in points], [value for _, value in points]
    log = log and min(values) > 0
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    edges = (low / 1.15, high * 1.15) if log else (low - room if low < 0 or low > room else 0.0, high + room)
    return Domain((min(0.0, *steps) if len(steps) > 1 else 0.0, max(*steps, 1.0) if steps else 1.0), edges, log)


def panel(title: str, curves: Sequence[Curve], span: Domain, what: str) -> Markup:
    """One panel; `what` says in words what stands on the vertical axis (for screen readers)."""
    curves = [curve for curve in curves if curve.points]
    several = len({curve.label for curve in curves}) > 1
    ends = [(clipped(curve.label, 12) + " " if several else "") + significant(curve.points[-1][1]) for curve in curves]
    right = WIDTH - max(text_width(end, _TYPE) for end in ends) - 14
    across = scale(*span.steps, _LEFT, right)
    up = scale(*span.values, HEIGHT - _BOTTOM, _TOP, span.log)
    label = f"{title}: {what}; at the last step " + ", ".join(
        f"{curve.label} {significant(curve.points[-1][1])}" for curve in curves
    )
    parts = [text(0, 14, title, "title"), *_axes(span, up, right)]
    parts += [path([(across(step), up(value)) for step, value in curve.points], curve.style) for curve in curves]
    parts += _ends(curves, ends, across, up)
    return picture(WIDTH, HEIGHT, label, parts, "panel")


def _axes(span: Domain, up: _Map, right: float) -> list[Markup]:
    rows = log_ticks(*span.values) if span.log else ticks(*span.values)
    parts = [line(_LEFT, up(value), right, up(value), "grid") for value in rows]
    parts += [text(_LEFT - 6, up(value) + 4, _tick(value), "tick", "end") for value in rows]
    last = span.steps[1]
    parts.append(text(_LEFT, HEIGHT - 8, number(span.steps[0], 0), "tick", "start"))
    parts.append(text(right, HEIGHT - 8, f"step {number(last, 0)}", "tick", "end"))
    return parts


def _tick(value: float) -> str:
    return number(value, 0) if float(value).is_integer() else significant(value, 2)


def _ends(curves: Sequence[Curve], ends: Sequence[str], across: _Map, up: _Map) -> list[Markup]:
    """A marker at each line's last point, and labels moved apart so that none covers another."""
    points = [(across(curve.points[-1][0]), up(curve.points[-1][1])) for curve in curves]
    heights = apart([y + 4 for _, y in points], _TYPE + 2, _TOP, HEIGHT - _BOTTOM + 4)
    parts: list[Markup] = []
    for curve, words, (x, y), height in zip(curves, ends, points, heights, strict=True):
        parts.append(marker(x, y, curve.style, half=3.2))
        parts.append(element("text", words, x=x + 8, y=height, class_=f"name c{curve.style % 8}"))
    return parts
