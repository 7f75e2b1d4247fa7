"""Maps of words, with their translations joined by lines and as many labels as fit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interlace.report import svg
from interlace.report.runs import ConceptWords
from interlace.report.text import language_name, language_names

Points = NDArray[np.float64]  # (words, 2)

_ASPECT = 0.8  # height of a map by its width
_MARGIN = 16.0
_HALF = 3.4  # half the width of a point
_TYPE_SIZE = 12.0
_AWAY = _HALF + 3.0  # distance of a label from its point
_SPACE = 1.5  # minimum distance of labels from each other
# Places of a label around its point, best first: right, left or centred, and how far below.
_PLACES = ((1, 0.0), (-1, 0.0), (0, -1.0), (0, 1.0), (1, -0.7), (1, 0.7), (-1, -0.7), (-1, 0.7))
_ANCHORS = {1: "start", -1: "end", 0: "middle"}


@dataclass(frozen=True)
class Label:
    """A word beside its point: where it is, its text anchor, and the box that nothing else may overlap."""

    x: float
    y: float
    anchor: str
    box: NDArray[np.float64]  # (4,) left, top, right, bottom


def word_map(
    words: ConceptWords, coordinates: Points, styles: Mapping[str, int], width: float
) -> svg.Drawing:
    """Draw words as points, translations joined by lines, with as many labels as fit.

    coordinates: (words, 2). styles: of languages.
    """
    points = map_points(coordinates, width)
    lines = []
    for pair in words.pairs:
        start = points[pair[0]]
        end = points[pair[1]]
        lines.append(f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}")
    # one path, so that crossing lines do not darken each other
    parts = [svg.element("path", d="".join(lines), class_="links")]
    for (x, y), (_, language, word) in zip(points.tolist(), words.words, strict=True):
        parts.append(
            svg.marker(x, y, styles[language], f"{word} ({language_name(language)})", _HALF)
        )
    for index, label in map_labels(words, points, styles, width).items():
        _, language, word = words.words[index]
        parts.append(
            svg.element(
                "text",
                word,
                class_=f"word c{styles[language] % svg.STYLES}",
                x=label.x,
                y=label.y + _TYPE_SIZE * 0.36,
                text_anchor=label.anchor,
                lang=language,
            )
        )
    description = f"Map of {len(words.words)} words in {language_names(list(styles))}"
    return svg.Drawing(width, width * _ASPECT, description, parts, "map")


def map_points(coordinates: Points, width: float) -> Points:
    """Return (words, 2) points in the middle of the picture, both axes on one scale."""
    size = np.array([width, width * _ASPECT])
    points = coordinates * (1.0, -1.0)
    points -= points.min(axis=0)
    extent = np.maximum(points.max(axis=0), 1e-9)
    points *= ((size - 2 * _MARGIN) / extent).min()
    centred: Points = points + (size - points.max(axis=0)) / 2
    return centred


def map_labels(
    words: ConceptWords, points: Points, styles: Mapping[str, int], width: float
) -> dict[int, Label]:
    """Place labels around their points greedily, words of the first language first; return those that fit by word."""
    boxes = np.concatenate([points - _HALF, points + _HALF], axis=1)  # (points and labels, 4)
    labels: dict[int, Label] = {}
    order = [(styles[language] > 0, index) for index, (_, language, _) in enumerate(words.words)]
    for _, index in sorted(order):
        x, y = points[index].tolist()
        for label in _candidates(words.words[index][2], x, y):
            if _is_free(label.box, boxes, width):
                boxes = np.vstack([boxes, label.box])
                labels[index] = label
                break
    return labels


def _candidates(word: str, x: float, y: float) -> Iterator[Label]:
    """Yield the possible labels of a word at a point, best first."""
    text_width = svg.text_width(word, _TYPE_SIZE) * 1.06 + 1  # the font is unknown
    half_height = _TYPE_SIZE / 2
    for side, level in _PLACES:
        label_x = x + side * _AWAY
        distance = half_height + (_AWAY - 1 if side == 0 else 0)
        label_y = y + level * distance
        left = label_x - text_width * (1 - side) / 2
        top = label_y - half_height
        bottom = label_y + half_height
        box = np.array([left - _SPACE, top - _SPACE, left + text_width + _SPACE, bottom + _SPACE])
        yield Label(label_x, label_y, _ANCHORS[side], box)


def _is_free(box: NDArray[np.float64], boxes: NDArray[np.float64], width: float) -> bool:
    """Return whether a box is within the picture and overlaps none of the others."""
    if box.min() < 0 or box[2] > width or box[3] > width * _ASPECT:
        return False
    overlaps = (boxes[:, :2] < box[2:]) & (boxes[:, 2:] > box[:2])  # (boxes, 2) on each axis
    return not overlaps.all(axis=1).any()
