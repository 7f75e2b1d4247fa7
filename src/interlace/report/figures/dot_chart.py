"""Rows of dots over a common horizontal axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from interlace.report import axes, svg
from interlace.report.text import number, render

_WIDTH = 380.0
_RIGHT = 366.0
_TOP = 40.0
_ROW_HEIGHT = 27.0
_TYPE_SIZE = 12.0


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


def dot_chart(title: str, rows: Sequence[DotRow], ends: tuple[float, float]) -> svg.Drawing:
    """Draw rows of dots from top to bottom; ends: of the axis."""
    name_width = max(svg.text_width(row.name, _TYPE_SIZE) for row in rows)
    left = min(10 + name_width, 0.5 * _WIDTH)
    levels = []
    level = _TOP
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
        ticks=axes.ticks(*ends, 5),
        across=axes.Scale(*ends, left, _RIGHT),
        levels=levels,
        bottom=bottom,
        width=_WIDTH,
        number=number,
    )
    spoken = []
    for row in rows:
        titles = ", ".join(dot.title for dot in row.dots)
        spoken.append(f"{row.name} {titles}")
    return svg.Drawing(_WIDTH, bottom, f"{title}: {'; '.join(spoken)}", body, "dots")
