"""A map of words: points, thin lines between translations, and as many labels as fit without covering anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.report._format import language_name
from interlace.report._svg import STYLES, element, marker, picture, text_width

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markupsafe import Markup
    from numpy.typing import NDArray

    from interlace.report._parts import Embedding

    _Array = NDArray[np.float64]

_EDGE = 16.0
_ASPECT = 0.8  # height of a map by its width, the same for all, so that they can stand side by side
_HALF = 3.4  # half the width of a point
_TYPE = 12.0
_GAP = 1.5  # least distance between a label and anything else
# Where a label may stand from its point: (horizontal anchor -1 left of it to 1 right of it, vertical offset).
_PLACES = ((1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (1.0, -0.7), (1.0, 0.7), (-1.0, -0.7), (-1.0, 0.7))

_ANCHORS = {1.0: "start", 0.0: "middle", -1.0: "end"}


def draw(embedding: Embedding, styles: Mapping[str, int], width: float) -> Markup:
    """The map, `width` units wide; both axes on one scale."""
    points = _placed(embedding, width)
    height = width * _ASPECT
    parts = [_links(embedding, points)]
    words = embedding.words
    for (x, y), word in zip(points.tolist(), words, strict=True):
        parts.append(marker(x, y, styles[word.language], f"{word.word} ({language_name(word.language)})", _HALF))
    for index, place in _labels(embedding, points, styles, width, height):
        x, y = _anchor(points[index], place)
        attributes = {"text_anchor": _ANCHORS[place[0]], "class_": f"word c{styles[words[index].language] % STYLES}"}
        parts.append(
            element("text", words[index].word, x=x, y=y + _TYPE * 0.36, lang=words[index].language, **attributes)
        )
    languages = ", ".join(language_name(language) for language in styles)
    return picture(width, height, f"Map of {len(words)} words in {languages}", parts, "map")


def _placed(embedding: Embedding, width: float) -> _Array:
    """(words, 2) points in the picture, in its middle."""
    points = np.array([(word.x, -word.y) for word in embedding.words], dtype=np.float64)
    points -= points.min(axis=0)
    room = np.array([width, width * _ASPECT])
    points *= ((room - 2 * _EDGE) / np.maximum(points.max(axis=0), 1e-9)).min()  # one factor: distances stay true
    placed: _Array = points + (room - points.max(axis=0)) / 2
    return placed


def _links(embedding: Embedding, points: _Array) -> Markup:
    """All lines in one path, so that crossing ones do not darken each other."""
    lines = [
        f"M{points[one, 0]:.1f} {points[one, 1]:.1f}L{points[other, 0]:.1f} {points[other, 1]:.1f}"
        for one, other in embedding.pairs
    ]
    return element("path", d="".join(lines), class_="links")


def _labels(
    embedding: Embedding, points: _Array, styles: Mapping[str, int], width: float, height: float
) -> list[tuple[int, tuple[float, float]]]:
    """Greedy: the first language's words first, each at its first free place; (word, place) of those that fit."""
    words = embedding.words
    boxes = np.concatenate([points - _HALF, points + _HALF], axis=1)  # left, top, right, bottom of what stands
    order = sorted(range(len(words)), key=lambda index: (styles[words[index].language] > 0, index))
    placed: list[tuple[int, tuple[float, float]]] = []
    for index in order:
        wide = text_width(words[index].word, _TYPE) * 1.06 + 1  # a little more, as the type in use is not known
        for place in _PLACES:
            box = _box(points[index], place, wide)
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
            if inside and not _hits(box, boxes):
                boxes = np.vstack([boxes, box])
                placed.append((index, place))
                break
    return placed


def _anchor(point: _Array, place: tuple[float, float]) -> tuple[float, float]:
    """Where a label is tied: the middle of its height, and its near end (its middle above and below the point)."""
    side, level = place
    away = _HALF + _GAP + 1.5
    return float(point[0]) + side * away, float(point[1]) + level * (_TYPE / 2 + (away - 1 if side == 0 else 0))


def _box(point: _Array, place: tuple[float, float], wide: float) -> _Array:
    """Left, top, right, bottom of a label there, with the gap it keeps."""
    x, y = _anchor(point, place)
    left = {1.0: x, 0.0: x - wide / 2, -1.0: x - wide}[place[0]]
    return np.array([left - _GAP, y - _TYPE / 2 - _GAP, left + wide + _GAP, y + _TYPE / 2 + _GAP])


def _hits(box: _Array, boxes: _Array) -> bool:
    across = (boxes[:, 0] < box[2]) & (boxes[:, 2] > box[0])
    down = (boxes[:, 1] < box[3]) & (boxes[:, 3] > box[1])
    return bool((across & down).any())
