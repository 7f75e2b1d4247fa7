"""Where words of all languages lie beside their translations, in two dimensions."""

from __future__ import annotations

from math import hypot
from statistics import fmean
from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._format import joined, language_name, number
from interlace.report._map import draw
from interlace.report._run import first_of_each
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._parts import Embedding
    from interlace.report._run import Run

_METHODS = {"pca": "principal components", "tsne": "t-SNE", "umap": "UMAP"}


def embedding(runs: Sequence[Run]) -> Section:
    """The section: a picture a recipe (of its first run that has one)."""
    shown = [
        (run, run.embedding) for run in first_of_each([run for run in runs if run.embedding and run.embedding.words])
    ]
    languages = list(dict.fromkeys(word.language for _, picture in shown if picture for word in picture.words))
    styles = {language: index for index, language in enumerate(languages)}
    pictures = [
        {"label": run.label, "wide": draw(picture, styles, 520.0), "narrow": draw(picture, styles, 370.0),
         "note": _note(picture)}
        for run, picture in shown
        if picture
    ]  # fmt: skip
    lead = (
        f"Words in {joined([language_name(language) for language in languages])}; a thin line joins two translations."
        " Short lines mean that a word lies where its translation lies, whatever the language."
        if pictures
        else "No picture of the word vectors was saved with these runs."
    )
    return Section("Words and their translations", lead, render("embedding", pictures=pictures, styles=styles))


def _note(picture: Embedding) -> str:
    method = _METHODS.get(picture.method, picture.method)
    explained = sum(picture.explained)
    text = f"First two {method}" if picture.method == "pca" else f"By {method}"
    text += f", {number(100 * explained, 0)}\N{NARROW NO-BREAK SPACE}% of the variance" if explained else ""
    ratio = _closeness(picture)
    if ratio is not None:
        text += (
            f". Translations lie {number(ratio, 2)} times as far apart as words of the same two languages"
            " on the average (1: unrelated)"
        )
    return f"{text}."


def _closeness(picture: Embedding) -> float | None:
    """Mean distance of translations over the mean distance of other word pairs of the same languages, as drawn."""
    words = picture.words
    sides: dict[tuple[str, str], tuple[set[int], set[int]]] = {}
    for one, other in picture.pairs:
        ones, others = sides.setdefault((words[one].language, words[other].language), (set(), set()))
        ones.add(one)
        others.add(other)
    joined_pairs = {frozenset(pair) for pair in picture.pairs}
    near = [_distance(picture, one, other) for one, other in picture.pairs]
    far = [
        _distance(picture, one, other)
        for ones, others in sides.values()
        for one in ones
        for other in others
        if one != other and frozenset((one, other)) not in joined_pairs
    ]
    return fmean(near) / fmean(far) if near and far and fmean(far) > 0 else None


def _distance(picture: Embedding, one: int, other: int) -> float:
    first, second = picture.words[one], picture.words[other]
    return hypot(first.x - second.x, first.y - second.y)
