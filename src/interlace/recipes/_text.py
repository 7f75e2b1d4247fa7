"""What the text of a recipe's corpus hangs on: shared by the keys of all that is made from it and cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.data.cache import content_key
from interlace.text.words import SPLITTERS

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.recipes import CorpusGroup, Recipe


def text_key(recipe: Recipe, group: CorpusGroup, corpus: str, split: str, root: Path) -> dict[str, Any]:
    """The files by content, how they are read and rewritten, what a word is; who has the same key has the same rows.

    Raises:
        DataError: a file is missing. MissingDependencyError: a splitter needs a package.
    """
    languages = corpus.split("-")
    splitter = SPLITTERS.build(recipe.splitter)
    return {
        "languages": languages,
        "reader": group.reader,
        "files": [content_key(path) for path in group.files(split, corpus, root)],
        "splitter": [recipe.splitter, *(splitter.of(language).made_with for language in languages)],
        "normalise": recipe.normalise.dump(),
    }
