"""The training text of a recipe's corpora and the cache keys of it, shared by everything that is made from text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from interlace.data.build import filtered_lines, filtered_pairs
from interlace.data.cache import content_key
from interlace.data.filters import build_filters
from interlace.text.word_tokenizers import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from interlace.data.filters import Filter
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.text import Text, TextPairs


def text_key(recipe: Recipe, group: CorpusGroup, corpus: str, split: str, root: Path) -> dict[str, Any]:
    """Return everything that the text of a corpus depends on: file contents, reader, normalization, filters, words.

    Raises:
        DataError: a file is missing. MissingDependencyError: a word tokenizer needs a package.
    """
    languages = corpus.split("-")
    return {
        "languages": languages,
        "reader": group.reader,
        **group.subset_key(split),
        "files": [content_key(path) for path in group.files(split, corpus, root)],
        "word_tokenizer": words_key(recipe, languages),
        "normalization": recipe.normalization.dump(),
        "filters": [[rule.name, rule.dump()] for rule in filters_of(recipe, split)],
    }


def words_key(recipe: Recipe, languages: list[str]) -> list[str]:
    """Return everything that words depend on: the word tokenizer, and the package versions for each language."""
    word_tokenizer = WORD_TOKENIZERS.build(recipe.word_tokenizer)
    return [recipe.word_tokenizer, *(word_tokenizer.of(language).package_versions for language in languages)]


def filters_of(recipe: Recipe, split: str) -> list[Filter]:
    """Return the recipe's filters for training text; held-out text is not filtered."""
    return build_filters(recipe.filters) if split == "train" else []


def training_lines(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> Iterator[Text]:
    """Yield the training text of a monolingual corpus; lines that filters drop have no words."""
    return filtered_lines(*_sources(recipe, group, corpus, root))


def training_pairs(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> Iterator[TextPairs]:
    """Yield the training pairs of a parallel corpus; pairs that filters drop have no words."""
    return filtered_pairs(*_sources(recipe, group, corpus, root))


def corpora_with(groups: Iterable[CorpusGroup], language: str) -> Iterator[tuple[CorpusGroup, str, int]]:
    """Yield group, corpus and side of each training corpus of a language."""
    for group in groups:
        for corpus in group.trained:
            if language in (sides := corpus.split("-")):
                yield group, corpus, sides.index(language)


def side_texts(recipe: Recipe, group: CorpusGroup, corpus: str, side: int, root: Path) -> Iterator[Text]:
    """Yield the training text of one side of a corpus; lines that filters drop have no words."""
    if "-" not in corpus:
        return training_lines(recipe, group, corpus, root)
    return ((pair.source, pair.target)[side] for pair in training_pairs(recipe, group, corpus, root))


def _sources(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> Any:
    reader, word_tokenizer = group.reading(), WORD_TOKENIZERS.build(recipe.word_tokenizer)
    chunks = reader.read_chunks(group.files("train", corpus, root), corpus.split("-"))
    return chunks, word_tokenizer, recipe.normalization, Counter(), filters_of(recipe, "train")
