"""Rows of dots over a common horizontal axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from interlace.report import axes, svg
from interlace.report.text import number

_WIDTH = 380.0
_RIGHT = 366.0
_TYPE_SIZE = 12.0
_RULE_SPACE = 8.0  # above rows of means


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


@dataclass(frozen=True)
class _Layout:
    """Where the rows of a chart are. names_above: whether their names are above the dots instead of beside them."""

    rows: Sequence[DotRow]
    names_above: bool
    has_keys: bool

    @property
    def left(self) -> float:
        if self.names_above:
            return 12.0
        return min(
            10 + max(svg.text_width(row.name, _TYPE_SIZE) for row in self.rows), 0.5 * _WIDTH
        )

    @property
    def row_height(self) -> float:
        return 32.0 if self.names_above else 27.0

    @property
    def top(self) -> float:
        if self.names_above:
            return 68.0
        return 60.0 if self.has_keys else 40.0

    @property
    def bottom(self) -> float:
        bottom = self.top + self.row_height * len(self.rows)
        return bottom + _RULE_SPACE if any(row.mean for row in self.rows) else bottom

    def level(self, index: int) -> float:
        """Return the height of a row."""
        level = self.top + self.row_height * index
        return level + _RULE_SPACE if self.rows[index].mean else level


def dot_chart(
    title: str,
    rows: Sequence[DotRow],
    ends: tuple[float, float],
    keys: Mapping[str, int] | None = None,
    *,
    names_above: bool = False,
) -> svg.Drawing:
    """Draw rows of dots over a common horizontal axis, from top to bottom.

    ends: of the axis. keys: name -> style, drawn under the title. names_above: for long names of rows.
    """
    layout = _Layout(rows, names_above, keys is not None)
    across = axes.Scale(*ends, layout.left, _RIGHT)
    parts = _axis(layout, across, axes.ticks(*ends, 5))
    row_labels = []
    for index, row in enumerate(rows):
        parts += _row_name(layout, index)
        parts += _dots(row, layout.level(index), across)
        row_labels.append(f"{row.name} " + ", ".join(dot.title for dot in row.dots))
    key_lines = svg.key_lines(keys or {}, 34, _WIDTH)
    height = layout.bottom + 16 + key_lines.extra_height
    return svg.Drawing(
        _WIDTH,
        height,
        f"{title}: {'; '.join(row_labels)}",
        svg.below(title, key_lines, parts),
        "dots",
    )


def _axis(layout: _Layout, across: axes.Scale, values: Sequence[float]) -> list[Markup]:
    top = layout.top - (22 if layout.names_above else 12)
    parts = []
    for value in values:
        x = across(value)
        parts.append(svg.line(x, top, x, layout.bottom - 8, "grid"))
        parts.append(
            svg.text(
                x,
                layout.bottom + 8,
                number(value, 0 if value.is_integer() else 1),
                "tick",
                "middle",
            )
        )
    return parts


def _row_name(layout: _Layout, index: int) -> list[Markup]:
    """Return the name of a row, with a rule above that of a mean."""
    row = layout.rows[index]
    level = layout.level(index)
    parts = []
    if row.mean:
        rule = level - layout.row_height / 2 - 4
        parts.append(svg.line(0, rule, _WIDTH, rule, "rule"))
    if layout.names_above:
        parts.append(svg.text(0, level - 9, svg.fitted(row.name, 11.0, _RIGHT), "tick"))
    else:
        name = svg.fitted(row.name, _TYPE_SIZE, layout.left - 8)
        parts.append(svg.text(0, level + 4, name, "row mean" if row.mean else "row"))
    return parts


def _dots(row: DotRow, middle: float, across: axes.Scale) -> list[Markup]:
    """Return the dots of a row, each a little below the one before, so that equal values do not hide each other."""
    xs = [across(dot.mean) for dot in row.dots]
    parts = []
    if len(xs) > 1:
        parts.append(svg.line(min(xs), middle, max(xs), middle, "gap"))
    distance = 4.5 if len(xs) < 4 else 13.5 / len(xs)
    for rank, (dot, x) in enumerate(zip(row.dots, xs, strict=True)):
        level = middle + (rank - (len(xs) - 1) / 2) * distance
        parts += svg.whisker(across(dot.low), level, across(dot.high), level, dot.style)
        parts.append(svg.marker(x, level, dot.style, dot.title))
    return parts
