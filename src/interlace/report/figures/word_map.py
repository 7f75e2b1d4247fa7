"""Words as points, with their translations joined by lines and as many labels as fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interlace.report import svg
from interlace.report.text import language_name, render

Points = NDArray[np.float64]  # (words, 2)

WIDTH = 520.0
HEIGHT = 416.0
_MARGIN = 16.0
_HALF = 3.4  # half the width of a point
_TYPE_SIZE = 12.0


@dataclass(frozen=True)
class _Point:
    """A word in the figure."""

    text: str
    language: str
    language_name: str
    style: int
    x: float
    y: float


def word_map(
    words: Sequence[tuple[str, str]],
    pairs: Sequence[tuple[int, int]],
    coordinates: Points,
    styles: Mapping[str, int],
) -> svg.Drawing:
    """Draw words as points in the colours of their languages, with labels to the right where there is space.

    words: (language, word). pairs: numbers of words that a line joins. coordinates: (words, 2). styles: of languages.
    """
    points = map_points(coordinates)
    drawn = []
    for (language, word), (x, y) in zip(words, points.tolist(), strict=True):
        drawn.append(_Point(word, language, language_name(language), styles[language], x, y))
    body = render(
        "word_map",
        words=drawn,
        lines=points[np.array(pairs)].tolist(),
        labelled=[drawn[index] for index in free_labels(words, points)],
    )
    return svg.Drawing(WIDTH, HEIGHT, f"Map of {len(words)} words", body, "map")


def map_points(coordinates: Points) -> Points:
    """Return (words, 2) points in the middle of the picture, both axes on one scale."""
    size = np.array([WIDTH, HEIGHT])
    points = coordinates * (1.0, -1.0)
    points -= points.min(axis=0)
    extent = np.maximum(points.max(axis=0), 1e-9)
    points *= ((size - 2 * _MARGIN) / extent).min()
    centred: Points = points + (size - points.max(axis=0)) / 2
    return centred


def free_labels(words: Sequence[tuple[str, str]], points: Points) -> list[int]:
    """Return the words whose labels overlap neither points nor the labels of earlier ones."""
    boxes = np.concatenate([points - _HALF, points + _HALF], axis=1)  # (points and labels, 4)
    labelled = []
    for index, (_, word) in enumerate(words):
        x, y = points[index].tolist()
        right = x + _HALF + 3 + svg.text_width(word, _TYPE_SIZE) * 1.06  # the font is unknown
        box = np.array([x + _HALF + 1, y - _TYPE_SIZE / 2, right, y + _TYPE_SIZE / 2])
        overlaps = (boxes[:, :2] < box[2:]) & (boxes[:, 2:] > box[:2])  # (boxes, 2) on each axis
        if right <= WIDTH and not overlaps.all(axis=1).any():
            boxes = np.vstack([boxes, box])
            labelled.append(index)
    return labelled
