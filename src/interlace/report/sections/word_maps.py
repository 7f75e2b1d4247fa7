"""Maps of words and their translations before and after training.

By t-SNE (Yang et al. 2021, figure 2) and by PCA (Yang et al. 2020, figure 4).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interlace.report import svg
from interlace.report.figures.word_map import word_map
from interlace.report.runs import ConceptWords, ReportedRun, Vectors, first_of_each
from interlace.report.section import Section
from interlace.report.text import language_name, language_names, number, render

_METHODS = ("t-SNE", "PCA")
_WIDE = 520.0
_NARROW = 370.0


@dataclass(frozen=True)
class _Embedding:
    """The words of a run with their vectors before or after training."""

    label: str
    words: ConceptWords
    vectors: Vectors  # (W, H)


@dataclass(frozen=True)
class DrawnMap:
    """A map with its caption, for wide and for narrow screens."""

    label: str
    note: str
    wide: svg.Drawing
    narrow: svg.Drawing


def word_maps(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Words and their translations`; each map is drawn for wide and for narrow screens."""
    runs = first_of_each(run for run in runs if run.words)
    drawable = [run for run in runs if _is_finite(run)]
    embeddings = _embeddings(drawable)
    if not embeddings:
        return []
    languages: dict[str, None] = {}
    for embedding in embeddings:
        languages |= dict.fromkeys(language for _, language, _ in embedding.words.words)
    styles = {language: style for style, language in enumerate(languages)}
    maps = []
    for embedding in embeddings:
        maps += [_draw(embedding, method, styles) for method in _METHODS]
    keys = [(svg.key(style), language_name(language)) for language, style in styles.items()]
    body = render("word_maps", maps=maps, keys=keys)
    lead = (
        f"Words in {language_names(list(languages))} by their input embeddings; a line joins two translations. "
        "Distances are comparable only within a map. "
        "Runs that start from the same embeddings share the map before training."
    )
    left_out = [run.label for run in runs if run not in drawable]
    if left_out:
        lead += f" Left out, with vectors that are not finite: {', '.join(left_out)}."
    return [Section("Words and their translations", lead, body, [drawn.wide for drawn in maps])]


def _is_finite(run: ReportedRun) -> bool:
    return run.words is not None and bool(
        np.isfinite(run.words.before).all() and np.isfinite(run.words.after).all()
    )


def _embeddings(runs: Iterable[ReportedRun]) -> list[_Embedding]:
    """Return the vectors of runs before and after training; equal vectors before training only once."""
    embeddings = []
    starts: list[Vectors] = []
    for run in runs:
        if run.words is None:
            continue
        before = run.words.before
        if not any(np.array_equal(before, start) for start in starts):
            starts.append(before)
            embeddings.append(_Embedding(f"{run.label}, before training", run.words, before))
        embeddings.append(_Embedding(f"{run.label}, after training", run.words, run.words.after))
    return embeddings


def _draw(embedding: _Embedding, method: str, styles: dict[str, int]) -> DrawnMap:
    words = embedding.words
    coordinates = project(embedding.vectors, method)
    return DrawnMap(
        label=embedding.label,
        note=f"{method}. {cosines_note(words, embedding.vectors)}",
        wide=word_map(words, coordinates, styles, _WIDE),
        narrow=word_map(words, coordinates, styles, _NARROW),
    )


def project(vectors: Vectors, method: str) -> Any:
    """Return (W, 2) coordinates of unit vectors by t-SNE (van der Maaten & Hinton 2008) or by PCA.

    PCA keeps distances that t-SNE distorts, but shows only the two directions of most variance.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if method == "PCA":
        return PCA(n_components=2, random_state=0).fit_transform(_unit(vectors))
    perplexity = min(12.0, max((len(vectors) - 1) / 4, 1.0))
    return TSNE(perplexity=perplexity, init="pca", random_state=0, n_jobs=1).fit_transform(
        _unit(vectors)
    )


def cosines_note(words: ConceptWords, vectors: Vectors) -> str:
    """Return the mean cosines of translations and of other words of the same two languages."""
    unit = _unit(vectors)
    cosines = unit @ unit.T  # (W, W)
    languages = np.array([language for _, language, _ in words.words])
    near = []
    far = []
    for word, translation in words.pairs:
        near.append(cosines[word, translation])
        block = cosines[np.ix_(languages == languages[word], languages == languages[translation])]
        far.append((block.sum() - np.trace(block)) / max(block.size - len(block), 1))
    near_mean = number(float(np.mean(near)), 2)
    return (
        f"Mean cosine of translations {near_mean}, of other words {number(float(np.mean(far)), 2)}."
    )


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit
