"""The text of a recipe's corpora, and what it hangs on: shared by all that is made from it and cached."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from interlace.data.build import filtered_lines, filtered_pairs
from interlace.data.cache import content_key
from interlace.data.filters import build_filters
from interlace.text.word_tokenizers import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.data.filters import Filter
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.text import Text, TextPairs


def text_key(recipe: Recipe, group: CorpusGroup, corpus: str, split: str, root: Path) -> dict[str, Any]:
    """The files by content, how they are read, rewritten and filtered, what a word is; the same key, the same rows.

    Raises:
        DataError: a file is missing. MissingDependencyError: a word tokenizer needs a package.
    """
    languages = corpus.split("-")
    return {
        "languages": languages,
        "reader": group.reader,
        **group.part(split),
        "files": [content_key(path) for path in group.files(split, corpus, root)],
        "word_tokenizer": words_key(recipe, languages),
        "normalization": recipe.normalization.dump(),
        "filters": [[rule.name, rule.dump()] for rule in filters_of(recipe, split)],
    }


def words_key(recipe: Recipe, languages: list[str]) -> list[str]:
    """What words depend on: the word tokenizer, and for each language the versions of the packages that it asks."""
    word_tokenizer = WORD_TOKENIZERS.build(recipe.word_tokenizer)
    return [recipe.word_tokenizer, *(word_tokenizer.of(language).package_versions for language in languages)]


def filters_of(recipe: Recipe, split: str) -> list[Filter]:
    """The recipe's filters for training text; what a model is measured on is left as it is."""
    return build_filters(recipe.filters) if split == "train" else []


def training_lines(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> Iterator[Text]:
    """The text of one language as `training_pairs` gives that of two."""
    return filtered_lines(*_how(recipe, group, corpus, root))


def training_pairs(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> Iterator[TextPairs]:
    """All pairs of the training files; those that the corpus leaves out have no words."""
    return filtered_pairs(*_how(recipe, group, corpus, root))


def _how(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> Any:
    reader, word_tokenizer = group.reading(), WORD_TOKENIZERS.build(recipe.word_tokenizer)
    chunks = reader.read_chunks(group.files("train", corpus, root), corpus.split("-"))
    return chunks, word_tokenizer, recipe.normalization, Counter(), filters_of(recipe, "train")
