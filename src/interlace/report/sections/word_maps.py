"""Maps of words and their translations before and after training.

By t-SNE (Yang et al. 2021, figure 2) and by PCA (Yang et al. 2020, figure 4).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from interlace.report import svg
from interlace.report.figures.word_map import word_map
from interlace.report.runs import ConceptWords, Run, Vectors, first_of_each
from interlace.report.sections import Section
from interlace.report.text import language_name, language_names, number, render

Map = tuple[str, str, ConceptWords, Any]  # label, note, words, (words, 2) coordinates


def word_maps(runs: Sequence[Run]) -> list[Section]:
    """Return the section `Words and their translations`; each map is drawn for wide and for narrow screens."""
    kept = []
    not_finite = []
    for run in first_of_each([run for run in runs if run.words]):
        if run.words is None:
            continue
        if np.isfinite(run.words.before).all() and np.isfinite(run.words.after).all():
            kept.append((run.label, run.words))
        else:
            not_finite.append(run.label)
    if not kept:
        return []
    maps: list[Map] = []
    drawn_starts: list[Vectors] = []
    for label, words in kept:
        for when, vectors in (("before", words.before), ("after", words.after)):
            if when == "before" and any(np.array_equal(vectors, other) for other in drawn_starts):
                continue
            drawn_starts.append(vectors)
            for method in ("t-SNE", "PCA"):
                note = f"{method}. {cosines_note(words, vectors)}"
                maps.append((f"{label}, {when} training", note, words, project(vectors, method)))
    languages = list(dict.fromkeys(language for _, _, found, _ in maps for _, language, _ in found.words))
    styles = {language: style for style, language in enumerate(languages)}
    drawn = [
        (label, note, word_map(found, places, styles, 520.0), word_map(found, places, styles, 370.0))
        for label, note, found, places in maps
    ]
    keys = [(svg.key(style), language_name(language)) for language, style in styles.items()]
    body = render("word_maps", maps=drawn, keys=keys)
    lead = (
        f"Words in {language_names(languages)} by their input embeddings; a line joins two translations. "
        "Distances are comparable only within a map. "
        "Runs that start from the same embeddings share the map before training."
    )
    if not_finite:
        lead += f" Left out, with vectors that are not finite: {', '.join(not_finite)}."
    return [Section("Words and their translations", lead, body, [each[2] for each in drawn])]


def project(vectors: Vectors, method: str) -> Any:
    """Return (W, 2) coordinates of unit vectors by t-SNE (van der Maaten & Hinton 2008) or by PCA.

    PCA keeps distances that t-SNE distorts, but shows only the two directions of most variance.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if method == "PCA":
        return PCA(n_components=2, random_state=0).fit_transform(_unit(vectors))
    perplexity = min(12.0, max((len(vectors) - 1) / 4, 1.0))
    return TSNE(perplexity=perplexity, init="pca", random_state=0, n_jobs=1).fit_transform(_unit(vectors))


def cosines_note(words: ConceptWords, vectors: Vectors) -> str:
    """Return the mean cosines of translations and of other words of the same two languages."""
    unit = _unit(vectors)
    cosines = unit @ unit.T
    languages = np.array([language for _, language, _ in words.words])
    pairs = np.array(words.pairs)
    blocks = [cosines[np.ix_(languages == languages[a], languages == languages[b])] for a, b in words.pairs]
    far = [(block.sum() - np.trace(block)) / max(block.size - len(block), 1) for block in blocks]
    near = float(cosines[pairs[:, 0], pairs[:, 1]].mean())
    return f"Mean cosine of translations {number(near, 2)}, of other words {number(float(np.mean(far)), 2)}."


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit
