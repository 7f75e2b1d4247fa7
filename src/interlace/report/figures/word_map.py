"""Words as points, with their translations joined by lines and as many labels as fit."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from interlace.report import svg
from interlace.report.text import language_name

Points = NDArray[np.float64]  # (words, 2)

WIDTH = 520.0
HEIGHT = 416.0
_MARGIN = 16.0
_HALF = 3.4  # half the width of a point
_TYPE_SIZE = 12.0
_DISC = 1  # the style whose marker is a filled circle


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
    lines = []
    for start, stop in points[np.array(pairs)].tolist():
        lines.append(f"M{start[0]:.1f} {start[1]:.1f}L{stop[0]:.1f} {stop[1]:.1f}")
    # one path, so that crossing lines do not darken each other
    parts = [svg.element("path", d="".join(lines), class_="links")]
    for (language, word), (x, y) in zip(words, points.tolist(), strict=True):
        title = f"{word} ({language_name(language)})"
        parts.append(svg.marker(x, y, _DISC, title, _HALF, colour=styles[language]))
    for index in free_labels(words, points):
        language, word = words[index]
        label = svg.element(
            "text",
            word,
            class_=f"word c{styles[language] % svg.STYLES}",
            x=points[index, 0] + _HALF + 3,
            y=points[index, 1] + _TYPE_SIZE * 0.36,
            lang=language,
        )
        parts.append(label)
    return svg.Drawing(WIDTH, HEIGHT, f"Map of {len(words)} words", parts, "map")


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
