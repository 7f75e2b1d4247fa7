"""Maps of words and their translations, before and after training.

By t-SNE (Yang et al. 2021, figure 2) and by PCA (Yang et al. 2020, figure 4).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.report import svg
from interlace.report.figures.word_map import word_map
from interlace.report.runs import MappedWords, ReportedRun, first_of_each
from interlace.report.sections import Section
from interlace.report.text import language_name, render

Vectors = NDArray[np.float32]  # (W, H)

_METHODS = ("t-SNE", "PCA")


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
            figures += _maps(f"{run.label}, before training", words, words.before, styles)
        figures += _maps(f"{run.label}, after training", words, words.after, styles)
    if not figures:
        return None
    names = {language_name(language): style for language, style in styles.items()}
    body = svg.legend(names) + render("figures", figures=figures)
    lead = (
        "Words by their input embeddings; a line joins two translations. Distances are comparable only within a map. "
        "Runs that start from the same embeddings share the maps before training. Points without a label show their "
        "word on hover."
    )
    drawings = [drawing for _, drawing in figures]
    return Section("Words and their translations", lead, body, drawings)


def _is_drawable(words: MappedWords) -> bool:
    """Return whether a run has enough words, and finite vectors."""
    is_finite = np.isfinite(words.before).all() and np.isfinite(words.after).all()
    return bool(len(words.words) >= 3 and is_finite)


def _maps(
    label: str, words: MappedWords, vectors: Vectors, styles: dict[str, int]
) -> list[tuple[str, svg.Drawing]]:
    """Return a map by each method, with captions."""
    maps = []
    for method in _METHODS:
        drawing = word_map(words.words, words.pairs, project(vectors, method), styles)
        maps.append((f"{label}, {method}", drawing))
    return maps


def project(vectors: Vectors, method: str) -> Any:
    """Return (W, 2) coordinates of unit vectors by t-SNE (van der Maaten & Hinton 2008) or by PCA.

    PCA keeps distances that t-SNE distorts, but shows only the two directions of most variance.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    if method == "PCA":
        return PCA(n_components=2, random_state=0).fit_transform(unit)
    perplexity = min(12.0, max((len(vectors) - 1) / 4, 1.0))
    return TSNE(perplexity=perplexity, init="pca", random_state=0, n_jobs=1).fit_transform(unit)
