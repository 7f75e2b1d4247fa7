"""Maps of words and their translations: after training, and before and after by t-SNE (Yang et al. 2021, figure 2)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from interlace.report import svg
from interlace.report.figures import word_map
from interlace.report.runs import ConceptWords, Run, Vectors, first_of_each
from interlace.report.sections import Section
from interlace.report.text import language_name, language_names, number, percent, render

Map = tuple[str, str, ConceptWords, Any]  # label, note, words, (words, 2) coordinates


def word_maps(runs: Sequence[Run]) -> list[Section]:
    """Return the sections `Words and their translations` and `Translations before and after training`."""
    kept = [(run.label, run.words) for run in first_of_each([run for run in runs if run.words]) if run.words]
    if not kept:
        return []
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    by_pca: list[Map] = []
    by_t_sne: list[Map] = []
    for label, words in kept:
        pca = PCA(n_components=2, random_state=0)
        places = pca.fit_transform(words.after)
        variance = percent(100 * float(pca.explained_variance_ratio_.sum()))
        note = f"First two principal components, {variance} of the variance. {cosines_note(words, words.after)}"
        by_pca.append((label, note, words, places))
        for when, vectors in (("before", words.before), ("after", words.after)):  # van der Maaten & Hinton (2008)
            perplexity = min(12.0, max((len(vectors) - 1) / 4, 1.0))
            places = TSNE(perplexity=perplexity, init="pca", random_state=0, n_jobs=1).fit_transform(_unit(vectors))
            by_t_sne.append((f"{label}, {when} training", f"t-SNE. {cosines_note(words, vectors)}", words, places))
    lead = "Words in {} by their input embeddings; a line joins two translations."
    return [
        _section("Words and their translations", lead, by_pca),
        _section("Translations before and after training", f"{lead} Only distances within a map compare.", by_t_sne),
    ]


def _section(title: str, lead: str, maps: Sequence[Map]) -> Section:
    """Return maps with captions above; each is drawn for wide and for narrow screens."""
    languages = list(dict.fromkeys(language for _, _, found, _ in maps for _, language, _ in found.words))
    styles = {language: style for style, language in enumerate(languages)}
    drawn = [
        (label, note, word_map(found, places, styles, 520.0), word_map(found, places, styles, 370.0))
        for label, note, found, places in maps
    ]
    keys = [(svg.key(style), language_name(language)) for language, style in styles.items()]
    body = render("word_maps", maps=drawn, keys=keys)
    return Section(title, lead.format(language_names(languages)), body, [each[2] for each in drawn])


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
