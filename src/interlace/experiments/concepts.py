"""Words that translate each other in all languages of a recipe: what the embedding picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.experiments import Recipe

MOST = 24  # more words than that cannot be told apart in a picture


def concepts(recipe: Recipe, root: Path) -> list[dict[str, str]]:
    """Up to `MOST` words of the source language with a word in every other language, evenly over the dictionary."""
    pattern, source = recipe.evaluate.dictionary, recipe.evaluate.source
    others = [language for language in recipe.languages if language != source]
    if pattern is None or not others:
        return []
    tables = {target: _table(root / pattern.format(source=source, target=target)) for target in others}
    shared = [word for word in tables[others[0]] if all(word in table for table in tables.values())]
    places = np.linspace(0, len(shared) - 1, min(MOST, len(shared))).round().astype(np.int64).tolist()
    chosen = [shared[place] for place in places]
    return [{source: word, **{target: tables[target][word] for target in others}} for word in chosen]


def _table(path: Path) -> dict[str, str]:
    """The first translation of each word; lines are `source<TAB or blank>target`."""
    table: dict[str, str] = {}
    for line in read_lines(path):
        source, _, target = line.replace("\t", " ").partition(" ")
        if target.strip():
            table.setdefault(source, target.strip())
    return table
