"""Maps of words and their translations, before and after training.

By t-SNE (Yang et al. 2021, figure 2) and by PCA (Yang et al. 2020, figure 4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from interlace.core.ragged import DoubleArray, FloatArray
from interlace.report import svg
from interlace.report.runs import MappedWords, ReportedRun, first_of_each
from interlace.report.sections import Section
from interlace.report.text import language_name, render

Vectors = FloatArray  # (W, H)
Points = DoubleArray  # (words, 2)

_WIDTH = 520.0
_HEIGHT = 416.0
_MARGIN = 16.0
_HALF = 3.4  # half the width of a point
_TYPE_SIZE = 12.0


def word_maps(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Words and their translations`, maps of each run with finite vectors."""
    styles: dict[str, int] = {}
    figures: list[tuple[str, svg.Drawing]] = []
    drawn_starts: list[Vectors] = []
    for run in first_of_each(runs):
        words = run.words
        if words is None or not _is_drawable(words):
            continue
        for language, _ in words.words:
            styles.setdefault(language, len(styles))
        is_drawn = any(np.array_equal(words.before, start) for start in drawn_starts)
        if not is_drawn:
            drawn_starts.append(words.before)
            figures += _maps(
                f"{run.label}, before training",
                words,
                words.before,
                styles,
            )
        figures += _maps(
            f"{run.label}, after training",
            words,
            words.after,
            styles,
        )
    if not figures:
        return None
    names = {language_name(language): style for language, style in styles.items()}
    body = svg.legend(names) + render("figures", figures=figures)
    lead = (
        "Words by their input embeddings; a line joins two translations. Distances are comparable only within a map. "
        "Runs that start from the same embeddings share the maps before training. Points without a label show their "
        "word on hover."
    )
    if not _has_tsne():
        lead += " Maps by t-SNE need scikit-learn: pip install 'interlace[train]'."
    drawings = [drawing for _, drawing in figures]
    return Section(
        "Words and their translations",
        lead,
        body,
        drawings,
    )


def _is_drawable(words: MappedWords) -> bool:
    """Return whether a run has enough words, and finite vectors."""
    is_finite = np.isfinite(words.before).all() and np.isfinite(words.after).all()
    return bool(len(words.words) >= 3 and is_finite)


def _maps(
    label: str,
    words: MappedWords,
    vectors: Vectors,
    styles: dict[str, int],
) -> list[tuple[str, svg.Drawing]]:
    """Return a map by each method, with captions."""
    maps = []
    for method in ("t-SNE", "PCA") if _has_tsne() else ("PCA",):
        drawing = word_map(
            words.words,
            words.pairs,
            project(vectors, method),
            styles,
        )
        maps.append((f"{label}, {method}", drawing))
    return maps


def project(vectors: Vectors, method: str) -> Any:
    """Return (W, 2) coordinates of unit vectors by t-SNE (van der Maaten & Hinton 2008) or by PCA.

    PCA keeps distances that t-SNE distorts, but shows only the two directions of most variance.
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    if method == "PCA":
        return _principal(unit)
    from sklearn.manifold import TSNE

    perplexity = min(12.0, max((len(vectors) - 1) / 4, 1.0))
    return TSNE(
        perplexity=perplexity,
        init="pca",
        random_state=0,
        n_jobs=1,
    ).fit_transform(unit)


def _has_tsne() -> bool:
    return find_spec("sklearn") is not None


def _principal(vectors: Vectors) -> Any:
    """Return (W, 2) coordinates on the two axes of most variance, whose largest components are positive."""
    centered = vectors - vectors.mean(axis=0)
    axes = np.linalg.svd(centered, full_matrices=False)[2][:2]
    largest = np.abs(axes).argmax(axis=1)
    signs = np.sign(axes[np.arange(len(axes)), largest])
    return centered @ (axes.T * signs)


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
        drawn.append(
            _Point(
                word,
                language,
                language_name(language),
                styles[language],
                x,
                y,
            )
        )
    body = render(
        "word_map",
        words=drawn,
        lines=points[np.array(pairs)].tolist(),
        labelled=[drawn[index] for index in free_labels(words, points)],
    )
    return svg.Drawing(
        _WIDTH,
        _HEIGHT,
        f"Map of {len(words)} words",
        body,
        "map",
    )


def map_points(coordinates: Points) -> Points:
    """Return (words, 2) points in the middle of the picture, both axes on one scale."""
    size = np.array([_WIDTH, _HEIGHT])
    points = coordinates * (1.0, -1.0)
    points -= points.min(axis=0)
    extent = np.maximum(points.max(axis=0), 1e-9)
    points *= ((size - 2 * _MARGIN) / extent).min()
    return points + (size - points.max(axis=0)) / 2


def free_labels(words: Sequence[tuple[str, str]], points: Points) -> list[int]:
    """Return the words whose labels overlap neither points nor the labels of earlier ones."""
    boxes = np.concatenate([points - _HALF, points + _HALF], axis=1)  # (points and labels, 4)
    labelled = []
    for index, (_, word) in enumerate(words):
        x, y = points[index].tolist()
        right = x + _HALF + 3 + svg.text_width(word, _TYPE_SIZE) * 1.06  # the font is unknown
        box = np.array([x + _HALF + 1, y - _TYPE_SIZE / 2, right, y + _TYPE_SIZE / 2])
        # (boxes, 2) on each axis
        overlaps = (boxes[:, :2] < box[2:]) & (boxes[:, 2:] > box[:2])
        if right <= _WIDTH and not overlaps.all(axis=1).any():
            boxes = np.vstack([boxes, box])
            labelled.append(index)
    return labelled
