"""Translations by t-SNE before and after training, joined by lines (Yang et al. 2021, figure 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._format import joined, language_name, number
from interlace.report._map import draw
from interlace.report._run import first_of_each
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._run import Run
    from interlace.report._words import Vectors, Words


def before_after(runs: Sequence[Run]) -> Section:
    """The section: two pictures a recipe, of its first run that kept its words."""
    shown = [(run.label, run.words) for run in first_of_each([run for run in runs if run.words])]
    named = [language for _, words in shown if words for _, language, _ in words.named]
    styles = {language: number for number, language in enumerate(dict.fromkeys(named))}
    pictures = [
        _picture(f"{label}, {when}", words, vectors, styles)
        for label, words in shown
        if words
        for when, vectors in (("before training", words.before), ("after training", words.after))
    ]
    lead = (
        f"Words in {joined([language_name(language) for language in styles])} by their vectors of the input table; a"
        " line joins two translations. Each picture is drawn for itself: only who is near whom can be read from it."
        if pictures
        else "These runs kept no words with their vectors."
    )
    return Section("Translations before and after", lead, render("embedding", pictures=pictures, styles=styles))


def _picture(label: str, words: Words, vectors: Vectors, styles: dict[str, int]) -> dict[str, object]:
    near, far = words.cosine(vectors)
    note = f"t-SNE. Cosine of translations {number(near, 2)}, of other words of the same languages {number(far, 2)}"
    drawn = words.drawn(vectors)
    return {"label": label, "wide": draw(drawn, styles, 520.0), "narrow": draw(drawn, styles, 370.0),
            "note": f"{note}."}  # fmt: skip
