"""Tables of shaded cells."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from interlace.report import svg

_SPACE = 8.0  # between names and cells
_MAX_OPACITY = 0.42  # of a cell, so that text on the colour stays readable
_HEIGHT = 34.0
_HEAD_LINE = 14.0
_HEAD_SIZE = 11.0


@dataclass(frozen=True)
class Shade:
    """A shaded cell: its text, a smaller line below, how dark it is (0 to 1), and whether it has a frame."""

    words: str
    below: str = ""
    dark: float = 0.0
    framed: bool = False
    title: str = ""


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Shade | None]],
    label: str,
    width: float = 62.0,
) -> svg.Drawing:
    """Draw a table of shaded cells, `width` units wide; None leaves a cell empty."""
    # the font is unknown, so names may be wider than estimated
    left = max((svg.text_width(row, 13.0) * 1.06 for row in rows), default=0.0) + _SPACE
    heads = [_broken(column, width) for column in columns]
    top = _HEAD_LINE * max((len(head) for head in heads), default=1) + _SPACE / 2
    parts: list[Markup] = []
    for column, head in enumerate(heads):
        for line, words in enumerate(reversed(head)):
            y = top - _SPACE / 2 - _HEAD_LINE * line
            parts.append(svg.text(left + width * (column + 0.5), y, words, "tick", "middle"))
    for row, name in enumerate(rows):
        y = top + _HEIGHT * row
        parts.append(svg.text(left - _SPACE, y + _HEIGHT / 2 + 4.3, name, anchor="end"))
        for column, cell in enumerate(cells[row]):
            if cell is not None:
                parts += _cell(cell, left + width * column, y, width)
    return svg.Drawing(
        left + width * len(columns) + 2, top + _HEIGHT * len(rows) + 2, label, parts, "matrix"
    )


def _cell(cell: Shade, x: float, y: float, width: float) -> list[Markup]:
    box = {"x": x + 1, "y": y + 1, "width": width - 2, "height": _HEIGHT - 2, "rx": 1.5}
    title = [svg.element("title", cell.title)] if cell.title else []
    opacity = f"{_MAX_OPACITY * min(max(cell.dark, 0.0), 1.0):.3f}"
    parts = [svg.element("rect", *title, class_="link", fill_opacity=opacity, **box)]
    if cell.framed:
        parts.append(svg.element("rect", class_="sure", **box))
    middle = x + width / 2
    level = y + _HEIGHT / 2
    if not cell.below:
        parts.append(svg.text(middle, level + 4.3, cell.words, anchor="middle"))
        return parts
    parts.append(svg.text(middle, level - 1.5, cell.words, anchor="middle"))
    parts.append(svg.text(middle, level + 11.0, cell.below, "tick", "middle"))
    return parts


def _broken(words: str, width: float) -> list[str]:
    """Break a name between words and after hyphens into lines that fit a column."""
    lines = [""]
    for part in re.findall(r"[^\s-]+-?\s*|-\s*", words):
        longer = (lines[-1] + part).rstrip()
        if lines[-1] and svg.text_width(longer, _HEAD_SIZE) > width - 4:
            lines.append("")
        lines[-1] += part
    return [svg.fitted(line.rstrip(), _HEAD_SIZE, width - 4) for line in lines]
