"""Rows of dots over a common horizontal axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from interlace.report import axes, svg
from interlace.report.text import number

_WIDTH = 380.0
_RIGHT = 366.0
_TOP = 40.0
_ROW_HEIGHT = 27.0
_TYPE_SIZE = 12.0
_RULE_SPACE = 8.0  # above the row of a mean


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
    title: str, rows: Sequence[DotRow], ends: tuple[float, float], keys: Mapping[str, int] = {}
) -> svg.Drawing:
    """Draw rows of dots from top to bottom; ends: of the axis; keys: names of styles, below."""
    name_width = max(svg.text_width(row.name, _TYPE_SIZE) for row in rows)
    left = min(10 + name_width, 0.5 * _WIDTH)
    across = axes.Scale(*ends, left, _RIGHT)
    parts = []
    labels = []
    level = _TOP
    for row in rows:
        if row.is_mean:
            level += _RULE_SPACE
            rule = level - _ROW_HEIGHT / 2 - 4
            parts.append(svg.line(0, rule, _WIDTH, rule, "rule"))
        name = svg.fitted(row.name, _TYPE_SIZE, left - 8)
        parts.append(
            svg.text(
                0,
                level + 4,
                name,
                "mean" if row.is_mean else "",
            )
        )
        parts += _dots(row.dots, level, across)
        titles = ", ".join(dot.title for dot in row.dots)
        labels.append(f"{row.name} {titles}")
        level += _ROW_HEIGHT
    bottom = level + 16
    grid = []
    for value in axes.ticks(*ends, 5):
        tick = number(value, 0 if value.is_integer() else 1)
        grid.append(
            svg.line(
                across(value),
                _TOP - 12,
                across(value),
                level - 8,
                "grid",
            )
        )
        grid.append(
            svg.text(
                across(value),
                level + 8,
                tick,
                "tick",
                "middle",
            )
        )
    heading = svg.text(0, 14, title, "title")
    key_lines = svg.key_lines(keys, bottom, _WIDTH)
    if keys:
        bottom = key_lines.bottom
    spoken = "; ".join(labels)
    drawn = [heading, *grid, *parts, *key_lines.parts]
    return svg.Drawing(
        _WIDTH,
        bottom,
        f"{title}: {spoken}",
        drawn,
        "dots",
    )


def _dots(
    dots: Sequence[Dot],
    middle: float,
    across: axes.Scale,
) -> list[Markup]:
    """Return the dots of a row, each a little below the one before, so that equal values do not hide each other."""
    xs = [across(dot.mean) for dot in dots]
    parts = []
    if len(xs) > 1:
        parts.append(
            svg.line(
                min(xs),
                middle,
                max(xs),
                middle,
                "gap",
            )
        )
    distance = 4.5 if len(xs) < 4 else 13.5 / len(xs)
    for rank, (dot, x) in enumerate(zip(dots, xs, strict=True)):
        level = middle + (rank - (len(xs) - 1) / 2) * distance
        if dot.low != dot.high:
            whisker = f"whisker c{dot.style % svg.STYLES}"
            parts.append(
                svg.line(
                    across(dot.low),
                    level,
                    across(dot.high),
                    level,
                    whisker,
                )
            )
        parts.append(svg.marker(x, level, dot.style, dot.title))
    return parts
