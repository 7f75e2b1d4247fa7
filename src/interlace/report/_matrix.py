"""The drawing of a link matrix: source words down, target words across, a square where two are linked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import cos, radians, sin
from typing import TYPE_CHECKING

from interlace.report._format import language_name
from interlace.report._svg import element, line, text, text_width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from interlace.report._parts import LinkMatrix

_CELL = 22.0
_TYPE = 13.0
_SLOPE = 55  # degrees: steep enough that words of neighbours stay apart, flat enough to be read
_LONGEST = 30  # characters of a word that are shown; pointing at a square gives all of them
_PALEST = 0.2  # how much of the colour a link has of which nothing is sure
_GAP = 7.0  # between a word and the squares
_ROW = 19.0  # of the key
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")  # most of these may not stand in XML


@dataclass(frozen=True)
class Drawing:
    """Parts of a picture, and the size it needs."""

    width: float
    height: float
    label: str
    parts: list[Markup]


def draw(matrix: LinkMatrix) -> Drawing:
    """The matrix with its words and its key."""
    source, target = ([_shown(word) for word in side] for side in (matrix.source, matrix.target))
    left = max([text_width(word, _TYPE) for word in source], default=0.0) + _GAP + 2
    top = max([text_width(word, _TYPE) for word in target], default=0.0) * sin(radians(_SLOPE)) + _GAP + _TYPE
    right, bottom = left + _CELL * len(target), top + _CELL * len(source)
    parts = [*_grid(left, top, len(source), len(target)), *_words(source, target, left, top)]
    parts += [_square(matrix, number, left, top) for number in range(len(matrix.links))]
    parts += _gold(matrix, left, top)
    key = list(_key(matrix))
    parts += [part for row, (kind, words) in enumerate(key) for part in _key_row(kind, words, bottom + _ROW * row)]
    over = max([_overhang(word, len(target) - number) for number, word in enumerate(target)], default=0.0)
    widest = max(text_width(words, _TYPE) for _, words in key) + _ROW + _GAP
    return Drawing(max(right + over, widest) + 2, bottom + _ROW * (len(key) + 0.6), _label(matrix), parts)


def _overhang(word: str, columns: int) -> float:
    """How far a sloping word reaches beyond the last column."""
    return text_width(word, _TYPE) * cos(radians(_SLOPE)) + _CELL * (0.5 - columns) + _TYPE


def _grid(left: float, top: float, rows: int, columns: int) -> Iterator[Markup]:
    right, bottom = left + _CELL * columns, top + _CELL * rows
    for row in range(rows + 1):
        yield line(left, top + _CELL * row, right, top + _CELL * row, "grid")
    for column in range(columns + 1):
        yield line(left + _CELL * column, top, left + _CELL * column, bottom, "grid")


def _words(source: Sequence[str], target: Sequence[str], left: float, top: float) -> Iterator[Markup]:
    for row, word in enumerate(source):
        yield text(left - _GAP, top + _CELL * (row + 0.5) + _TYPE * 0.36, word, anchor="end")
    for column, word in enumerate(target):
        x, y = left + _CELL * (column + 0.5) + _TYPE * 0.25, top - _GAP
        yield element("text", word, transform=f"translate({x:.2f} {y:.2f}) rotate(-{_SLOPE})")


def _square(matrix: LinkMatrix, number: int, left: float, top: float) -> Markup:
    i, j = matrix.links[number]
    sure = matrix.confidence[number] if matrix.confidence else 1.0
    title = element("title", _clean(f"{matrix.source[i]} – {matrix.target[j]}, {sure:.2f}"))
    opacity = f"{_PALEST + (1 - _PALEST) * sure:.3f}"
    return _rectangle(left + _CELL * j, top + _CELL * i, 3.0, "link", title, fill_opacity=opacity)


def _gold(matrix: LinkMatrix, left: float, top: float) -> Iterator[Markup]:
    sure = set(matrix.sure or ())
    for i, j in sorted(sure | set(matrix.possible or ())):
        yield _rectangle(left + _CELL * j, top + _CELL * i, 1.4, "sure" if (i, j) in sure else "possible")


def _rectangle(x: float, y: float, inset: float, class_: str, *inside: Markup, **attributes: object) -> Markup:
    """One cell, a little smaller."""
    size = _CELL - 2 * inset
    place = {"x": x + inset, "y": y + inset, "width": size, "height": size, "rx": 1.5}
    return element("rect", *inside, class_=class_, **place, **attributes)


def _key(matrix: LinkMatrix) -> Iterator[tuple[str, str]]:
    """Classes of marks and what they mean; the languages first."""
    if matrix.corpus.count("-") == 1:
        down, across = (language_name(code) for code in matrix.corpus.split("-"))
        yield "", f"down: {down}, across: {across}"
    yield "link", "linked, the darker the surer" if matrix.confidence else "linked"
    if matrix.sure is not None or matrix.possible is not None:
        yield "sure", "gold link"
    if set(matrix.possible or ()) - set(matrix.sure or ()):
        yield "possible", "possible gold link"


def _key_row(kind: str, words: str, y: float) -> Iterator[Markup]:
    if kind:
        yield element("rect", class_=kind, x=3.0, y=y + 8.5, width=11.0, height=11.0, rx=1.5)
    yield text(_ROW + 2 if kind else 3.0, y + 18.5, words, "tick")


def _label(matrix: LinkMatrix) -> str:
    links = ", ".join(f"{matrix.source[i]} – {matrix.target[j]}" for i, j in matrix.links)
    return _clean(f"Word links: {links}" if links else "No word links")


def _shown(word: str) -> str:
    word = _clean(word)
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"


def _clean(words: str) -> str:
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", words)
