"""Tables of shaded cells with a figure in each: the figure says it, the shade only helps to find it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.report._matrix import Drawing
from interlace.report._svg import element, text, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

_DARKEST = 0.42  # of the colour, so that ink on it can still be read
_GAP = 8.0
_TYPE = 12.0


@dataclass(frozen=True)
class Shaded:
    """A cell: what stands in it, a smaller line below, how dark it is (0 to 1), and whether it has a frame."""

    words: str
    below: str = ""
    dark: float = 0.0
    framed: bool = False
    title: str = ""


def draw_heat(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Shaded | None]],
    label: str,
    *,
    width: float = 62.0,
    height: float = 34.0,
) -> Drawing:
    """The table; a cell that is None stays empty. Names of columns stand in as many lines as they have words."""
    left = max([text_width(row, _TYPE) for row in rows], default=0.0) + _GAP
    heads = [_broken(column, width) for column in columns]
    top = 14.0 * max(map(len, heads), default=1) + _GAP / 2
    parts: list[Markup] = []
    for number, head in enumerate(heads):
        for line, words in enumerate(reversed(head)):
            parts.append(text(left + width * (number + 0.5), top - _GAP / 2 - 14.0 * line, words, "tick", "middle"))
    for row, name in enumerate(rows):
        middle = top + height * (row + 0.5)
        parts.append(text(left - _GAP, middle + _TYPE * 0.36, name, anchor="end"))
        for column, cell in enumerate(cells[row]):
            if cell is not None:
                parts += _cell(cell, left + width * column, top + height * row, width, height)
    return Drawing(left + width * len(columns) + 2, top + height * len(rows) + 2, label, parts)


def _cell(cell: Shaded, x: float, y: float, width: float, height: float) -> list[Markup]:
    title = [element("title", cell.title)] if cell.title else []
    place = {"x": x + 1, "y": y + 1, "width": width - 2, "height": height - 2, "rx": 1.5}
    shade = f"{_DARKEST * min(max(cell.dark, 0.0), 1.0):.3f}"
    parts = [element("rect", *title, class_="link", fill_opacity=shade, **place)]
    if cell.framed:
        parts.append(element("rect", class_="sure", **place))
    middle = y + height / 2
    parts.append(text(x + width / 2, middle + (-1.5 if cell.below else 4.3), cell.words, anchor="middle"))
    if cell.below:
        parts.append(text(x + width / 2, middle + 11.0, cell.below, "tick", "middle"))
    return parts


def _broken(words: str, width: float) -> list[str]:
    """A name in lines that fit a column, broken between words."""
    lines: list[str] = []
    for word in words.split():
        if lines and text_width(f"{lines[-1]} {word}", 11.0) <= width - 4:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]
