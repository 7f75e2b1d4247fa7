"""The key of a figure that has one of its own: marks with names, in as many lines below the title as they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report._svg import element, fitted, marker, text, text_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from markupsafe import Markup

LINE = 18.0  # from a line of keys to the next
_TYPE, _LEFT = 11.0, 6.0


def key_lines(
    styles: Mapping[str, int], y: float, width: float, shape: int | None = None, colour: int | None = None
) -> tuple[list[Markup], float]:
    """Marks of styles with their names, all of one shape or colour where that is told.

    Args:
        styles: by name.
        y: the foot of the first line.
        width: of the figure.
        shape: the style whose shape all have.
        colour: the style whose colour all have.

    Returns:
        The parts, and how much lower than one line the last one ends.
    """
    parts, x, more = [], _LEFT, 0.0
    for whole, style in styles.items():
        name = fitted(whole, _TYPE, width - _LEFT - 9)
        wide = 22 + text_width(name, _TYPE)
        if x > _LEFT and x + wide - 13 > width:
            x, more = _LEFT, more + LINE
        mark = marker(x, y + more - 4, style if shape is None else shape, colour=style if colour is None else colour)
        parts += [mark, text(x + 9, y + more, name, "tick")]
        x += wide
    return parts, more


def below(keys: Sequence[Markup], drawn: Iterable[Markup], more: float) -> list[Markup]:
    """A title and keys, and below them what is drawn as if they took one line."""
    return [*keys, element("g", *drawn, transform=f"translate(0 {more:g})")] if more else [*keys, *drawn]
