"""Maps of words and their translations: after training, and before and after by t-SNE (Yang et al. 2021, figure 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from interlace.report import svg
from interlace.report.figures import word_map
from interlace.report.runs import ConceptWords, Run, Vectors, WordMap, WordPoint, first_of_each
from interlace.report.sections import Section
from interlace.report.text import language_name, language_names, number, percent, render


def word_maps(runs: Sequence[Run]) -> list[Section]:
    """Return the sections `Words and their translations` and `Translations before and after training`."""
    mapped = [(run.label, run.word_map) for run in first_of_each([one for one in runs if one.word_map])]
    kept = [(run.label, run.words) for run in first_of_each([one for one in runs if one.words])]
    maps = [(label, _note(found), found) for label, found in mapped if found and found.words]
    pairs = [
        (f"{label}, {when} training", f"t-SNE. {cosines_note(words, vectors)}", _t_sne(words, vectors))
        for label, words in kept
        if words
        for when, vectors in (("before", words.before), ("after", words.after))
    ]
    lead = "Words in {}. A line joins two translations; short lines mean that words are close to their translations."
    by_t_sne = (
        "Words in {} by their input embeddings; a line joins two translations. Only distances within a map compare."
    )
    return [
        *_section("Words and their translations", lead, maps),
        *_section("Translations before and after training", by_t_sne, pairs),
    ]


def _section(title: str, lead: str, maps: Sequence[tuple[str, str, WordMap]]) -> list[Section]:
    """Return maps with captions above; each is drawn for wide and for narrow screens."""
    if not maps:
        return []
    languages = list(dict.fromkeys(word.language for _, _, found in maps for word in found.words))
    styles = {language: style for style, language in enumerate(languages)}
    drawn = [
        (label, note, word_map(found, styles, 520.0), word_map(found, styles, 370.0)) for label, note, found in maps
    ]
    keys = [(svg.key(style), language_name(language)) for language, style in styles.items()]
    body = render("word_maps", maps=drawn, keys=keys)
    return [Section(title, lead.format(language_names(languages)), body, [each[2] for each in drawn])]


def _note(found: WordMap) -> str:
    """Return the method, and the mean distance of translations by that of other words of the same languages."""
    names = {"pca": "First two principal components", "tsne": "t-SNE", "umap": "UMAP"}
    explained = f", {percent(100 * sum(found.explained))} of the variance" if sum(found.explained) else ""
    note = f"{names.get(found.method, found.method)}{explained}."
    points = np.array([(word.x, word.y) for word in found.words])
    joined = {frozenset(pair) for pair in found.pairs}
    sides: dict[tuple[str, str], tuple[set[int], set[int]]] = {}
    for one, other in found.pairs:
        both = sides.setdefault((found.words[one].language, found.words[other].language), (set(), set()))
        both[0].add(one)
        both[1].add(other)
    far = [
        float(np.hypot(*(points[one] - points[other])))
        for ones, others in sides.values()
        for one in ones
        for other in others
        if one != other and frozenset((one, other)) not in joined
    ]
    near = [float(np.hypot(*(points[one] - points[other]))) for one, other in found.pairs]
    if not near or not far or np.mean(far) == 0:
        return note
    return f"{note} Distance of translations by that of other words: {number(float(np.mean(near) / np.mean(far)), 2)}."


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


def _t_sne(words: ConceptWords, vectors: Vectors) -> WordMap:
    """Reduce vectors to two dimensions by t-SNE (van der Maaten & Hinton 2008), the same on every call."""
    from sklearn.manifold import TSNE

    perplexity = min(12.0, max((len(vectors) - 1) / 4, 1.0))
    points = TSNE(perplexity=perplexity, init="pca", random_state=0, n_jobs=1).fit_transform(_unit(vectors))
    found = [
        WordPoint(word=word, language=language, x=float(x), y=float(y), concept=concept)
        for (concept, language, word), (x, y) in zip(words.words, points, strict=True)
    ]
    return WordMap(method="tsne", words=found, pairs=words.pairs)
