"""Shaded tables, alignment matrices, and maps of words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import cos, radians, sin
from typing import TYPE_CHECKING

import numpy as np

from interlace.report.svg import STYLES, Drawing, element, fitted, line, marker, text, text_width
from interlace.report.text import clipped, language_name, language_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup
    from numpy.typing import NDArray

    from interlace.report.runs import AlignmentMatrix, WordMap

    _Array = NDArray[np.float64]


# ---- shaded tables ----

_MAX_OPACITY = 0.42  # so that text on the colour stays readable
_HEAD = 8.0  # between names and cells


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
    height: float = 34.0,
) -> Drawing:
    """Draw a table of shaded cells; None leaves a cell empty."""
    left = max([text_width(row, 12.0) for row in rows], default=0.0) + _HEAD
    heads = [_broken(column, width) for column in columns]
    top = 14.0 * max(map(len, heads), default=1) + _HEAD / 2
    parts: list[Markup] = []
    for place, head in enumerate(heads):
        for row, words in enumerate(reversed(head)):
            parts.append(text(left + width * (place + 0.5), top - _HEAD / 2 - 14.0 * row, words, "tick", "middle"))
    for row, name in enumerate(rows):
        parts.append(text(left - _HEAD, top + height * (row + 0.5) + 4.3, name, anchor="end"))
        for column, cell in enumerate(cells[row]):
            if cell is not None:
                parts += _shaded(cell, left + width * column, top + height * row, width, height)
    return Drawing(left + width * len(columns) + 2, top + height * len(rows) + 2, label, parts, "matrix")


def _shaded(cell: Shade, x: float, y: float, width: float, height: float) -> list[Markup]:
    title = [element("title", cell.title)] if cell.title else []
    place = {"x": x + 1, "y": y + 1, "width": width - 2, "height": height - 2, "rx": 1.5}
    opacity = f"{_MAX_OPACITY * min(max(cell.dark, 0.0), 1.0):.3f}"
    parts = [element("rect", *title, class_="link", fill_opacity=opacity, **place)]
    if cell.framed:
        parts.append(element("rect", class_="sure", **place))
    middle = y + height / 2
    parts.append(text(x + width / 2, middle + (-1.5 if cell.below else 4.3), cell.words, anchor="middle"))
    if cell.below:
        parts.append(text(x + width / 2, middle + 11.0, cell.below, "tick", "middle"))
    return parts


def _broken(words: str, width: float) -> list[str]:
    """Break a name between words and after hyphens into lines that fit a column."""
    lines = [""]
    for part in re.findall(r"[^\s-]+-?\s*|-\s*", words):
        if lines[-1] and text_width((lines[-1] + part).rstrip(), 11.0) > width - 4:
            lines.append("")
        lines[-1] += part
    return [fitted(each.rstrip(), 11.0, width - 4) for each in lines]


# ---- alignment matrices ----

_CELL, _TYPE = 22.0, 13.0
_SLOPE = 55  # degrees of the target words
_MAX_WORD = 30  # characters of a word; the hover title has all of them
_MIN_OPACITY = 0.2  # of a link with confidence 0
_GAP = 7.0  # between a word and the squares
_KEY_ROW = 19.0


def alignment_matrix(matrix: AlignmentMatrix) -> Drawing:
    """Draw source words down, target words across, a square for each link, and gold links as outlines."""
    source, target = ([clipped(word, _MAX_WORD) for word in side] for side in (matrix.source, matrix.target))
    left = max([text_width(word, _TYPE) for word in source], default=0.0) + _GAP + 2
    top = max([text_width(word, _TYPE) for word in target], default=0.0) * sin(radians(_SLOPE)) + _GAP + _TYPE
    right, bottom = left + _CELL * len(target), top + _CELL * len(source)
    parts = [line(left, top + _CELL * row, right, top + _CELL * row, "grid") for row in range(len(source) + 1)]
    parts += [line(left + _CELL * at, top, left + _CELL * at, bottom, "grid") for at in range(len(target) + 1)]
    for row, word in enumerate(source):
        parts.append(text(left - _GAP, top + _CELL * (row + 0.5) + _TYPE * 0.36, word, anchor="end"))
    for column, word in enumerate(target):
        x, y = left + _CELL * (column + 0.5) + _TYPE * 0.25, top - _GAP
        parts.append(element("text", word, transform=f"translate({x:.2f} {y:.2f}) rotate(-{_SLOPE})"))
    parts += [*_links(matrix, left, top), *_gold(matrix, left, top)]
    keys = list(_matrix_keys(matrix))
    parts += [
        part for row, (kind, words) in enumerate(keys) for part in _matrix_key(kind, words, bottom + _KEY_ROW * row)
    ]
    beyond = [
        text_width(word, _TYPE) * cos(radians(_SLOPE)) + _CELL * (0.5 - len(target) + place) + _TYPE
        for place, word in enumerate(target)
    ]
    width = max(right + max(beyond, default=0.0), max(text_width(words, _TYPE) for _, words in keys) + _KEY_ROW + _GAP)
    links = ", ".join(f"{matrix.source[i]} – {matrix.target[j]}" for i, j in matrix.links)
    label = f"Word alignment: {links}" if links else "No word alignment"
    return Drawing(width + 2, bottom + _KEY_ROW * (len(keys) + 0.6), label, parts, "matrix")


def _links(matrix: AlignmentMatrix, left: float, top: float) -> Iterator[Markup]:
    for place, (i, j) in enumerate(matrix.links):
        confidence = matrix.confidence[place] if matrix.confidence else 1.0
        title = element("title", f"{matrix.source[i]} – {matrix.target[j]}, {confidence:.2f}")
        opacity = f"{_MIN_OPACITY + (1 - _MIN_OPACITY) * confidence:.3f}"
        yield _square(left + _CELL * j, top + _CELL * i, 3.0, "link", title, fill_opacity=opacity)


def _gold(matrix: AlignmentMatrix, left: float, top: float) -> Iterator[Markup]:
    sure = set(matrix.sure or ())
    for i, j in sorted(sure | set(matrix.possible or ())):
        yield _square(left + _CELL * j, top + _CELL * i, 1.4, "sure" if (i, j) in sure else "possible")


def _square(x: float, y: float, inset: float, class_: str, *inside: Markup, **attributes: object) -> Markup:
    size = _CELL - 2 * inset
    place = {"x": x + inset, "y": y + inset, "width": size, "height": size, "rx": 1.5}
    return element("rect", *inside, class_=class_, **place, **attributes)


def _matrix_keys(matrix: AlignmentMatrix) -> Iterator[tuple[str, str]]:
    """Yield classes of marks with their meaning."""
    if matrix.corpus.count("-") == 1:
        down, across = map(language_name, matrix.corpus.split("-"))
        yield "", f"down: {down}, across: {across}"
    yield "link", "alignment link (darker: higher confidence)" if matrix.confidence else "alignment link"
    if matrix.sure is not None or matrix.possible is not None:
        yield "sure", "gold link"
    if set(matrix.possible or ()) - set(matrix.sure or ()):
        yield "possible", "possible gold link"


def _matrix_key(kind: str, words: str, y: float) -> Iterator[Markup]:
    if kind:
        yield element("rect", class_=kind, x=3.0, y=y + 8.5, width=11.0, height=11.0, rx=1.5)
    yield text(_KEY_ROW + 2 if kind else 3.0, y + 18.5, words, "tick")


# ---- maps of words ----

_EDGE = 16.0
_ASPECT = 0.8  # height of a map by its width
_HALF = 3.4  # half the width of a point
_WORD = 12.0  # type size
_SPACE = 1.5  # minimum distance of a label from everything else
# Places of a label around its point: (horizontal anchor -1 left to 1 right, vertical offset).
_PLACES = ((1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (1.0, -0.7), (1.0, 0.7), (-1.0, -0.7), (-1.0, 0.7))
_ANCHORS = {1.0: "start", 0.0: "middle", -1.0: "end"}


def word_map(found: WordMap, styles: Mapping[str, int], width: float) -> Drawing:
    """Draw words as points, translations joined by lines, with as many labels as fit; `styles` are of languages."""
    points = _placed(found, width)
    height = width * _ASPECT
    words = found.words
    joins = "".join(
        f"M{points[one, 0]:.1f} {points[one, 1]:.1f}L{points[other, 0]:.1f} {points[other, 1]:.1f}"
        for one, other in found.pairs
    )
    parts = [element("path", d=joins, class_="links")]  # one path, so that crossing lines do not darken each other
    for (x, y), word in zip(points.tolist(), words, strict=True):
        parts.append(marker(x, y, styles[word.language], f"{word.word} ({language_name(word.language)})", _HALF))
    for index, place in _labels(found, points, styles, width, height):
        x, y = _anchor(points[index], place)
        class_ = f"word c{styles[words[index].language] % STYLES}"
        place_ = {"x": x, "y": y + _WORD * 0.36, "text_anchor": _ANCHORS[place[0]], "lang": words[index].language}
        parts.append(element("text", words[index].word, class_=class_, **place_))
    return Drawing(width, height, f"Map of {len(words)} words in {language_names(list(styles))}", parts, "map")


def _placed(found: WordMap, width: float) -> _Array:
    """(words, 2) points in the middle of the picture, both axes on one scale."""
    points = np.array([(word.x, -word.y) for word in found.words], dtype=np.float64)
    points -= points.min(axis=0)
    room = np.array([width, width * _ASPECT])
    points *= ((room - 2 * _EDGE) / np.maximum(points.max(axis=0), 1e-9)).min()
    placed: _Array = points + (room - points.max(axis=0)) / 2
    return placed


def _labels(
    found: WordMap, points: _Array, styles: Mapping[str, int], width: float, height: float
) -> list[tuple[int, tuple[float, float]]]:
    """Place labels greedily, words of the first language first; return (word, place) of those that fit."""
    words = found.words
    boxes = np.concatenate([points - _HALF, points + _HALF], axis=1)  # left, top, right, bottom
    order = sorted(range(len(words)), key=lambda index: (styles[words[index].language] > 0, index))
    placed: list[tuple[int, tuple[float, float]]] = []
    for index in order:
        wide = text_width(words[index].word, _WORD) * 1.06 + 1  # the font is unknown
        for place in _PLACES:
            box = _box(points[index], place, wide)
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
            if inside and not _overlaps(box, boxes):
                boxes = np.vstack([boxes, box])
                placed.append((index, place))
                break
    return placed


def _anchor(point: _Array, place: tuple[float, float]) -> tuple[float, float]:
    """Return the middle of a label's height at its near end, or its middle above and below the point."""
    side, level = place
    away = _HALF + _SPACE + 1.5
    return float(point[0]) + side * away, float(point[1]) + level * (_WORD / 2 + (away - 1 if side == 0 else 0))


def _box(point: _Array, place: tuple[float, float], wide: float) -> _Array:
    x, y = _anchor(point, place)
    left = {1.0: x, 0.0: x - wide / 2, -1.0: x - wide}[place[0]]
    return np.array([left - _SPACE, y - _WORD / 2 - _SPACE, left + wide + _SPACE, y + _WORD / 2 + _SPACE])


def _overlaps(box: _Array, boxes: _Array) -> bool:
    across = (boxes[:, 0] < box[2]) & (boxes[:, 2] > box[0])
    down = (boxes[:, 1] < box[3]) & (boxes[:, 3] > box[1])
    return bool((across & down).any())
