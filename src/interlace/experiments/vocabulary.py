"""The vocabulary of a recipe: an existing tokenizer, one that is extended, or one that is learned from its text."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from interlace.data.artifacts import Artifact
from interlace.data.corpus_text import CorpusText
from interlace.data.extension import extend_vocab
from interlace.data.vocab import Extension, Vocab
from interlace.experiments.recipe import Recipe, tokenizer_of
from interlace.experiments.sections import VocabSettings
from interlace.experiments.texts import RecipeTexts
from interlace.models.token_embeddings import check_vectors

TextsByLanguage = Mapping[str, Sequence[CorpusText]]


class LearnedVocab(Artifact[Vocab]):
    """A vocabulary that is learned from the training text of several languages."""

    kind: ClassVar[str] = "vocab"

    def __init__(self, settings: VocabSettings, texts: TextsByLanguage) -> None:
        self.settings = settings
        self.texts = texts

    def __str__(self) -> str:
        return f"a vocabulary of {self.settings.size:,} tokens"

    @cached_property
    def key(self) -> dict[str, Any]:
        """The settings and the text."""
        return {
            "size": self.settings.size,
            "alpha": self.settings.alpha,
            "kind": self.settings.kind,
            "text": _key_of(self.texts),
            "version": 3,  # of what is learned from the same text
        }

    def build(self, folder: Path) -> None:
        """Learn the vocabulary."""
        settings = self.settings
        lines = _lines_of(self.texts)
        vocab = Vocab.learn(lines, size=settings.size, alpha=settings.alpha, kind=settings.kind)
        vocab.save(folder)

    def open(self, folder: Path) -> Vocab:
        """Load the vocabulary."""
        return Vocab.load(str(folder))


class ExtendedVocab(Artifact[Vocab]):
    """A vocabulary with further tokens that are learned from the training text; the ids of its own tokens stay."""

    kind: ClassVar[str] = "vocab"

    def __init__(self, base: Vocab, settings: VocabSettings, texts: TextsByLanguage) -> None:
        self.base = base
        self.settings = settings
        self.texts = texts

    def __str__(self) -> str:
        return f"{self.settings.extend:,} new tokens for {self.base.name}"

    @cached_property
    def key(self) -> dict[str, Any]:
        """The vocabulary that is extended, the settings of extension, and the text."""
        return {
            "base": self.base.fingerprint,
            "extend": [self.settings.extend, self.settings.extend_min_count],
            "alpha": self.settings.alpha,
            "text": _key_of(self.texts),
            "version": 3,
        }

    def build(self, folder: Path) -> None:
        """Learn the new tokens."""
        settings = self.settings
        extended = extend_vocab(
            self.base,
            _lines_of(self.texts),
            settings.extend,
            min_count=settings.extend_min_count,
            alpha=settings.alpha,
        )
        extended.save(folder)
        if extended.extension is not None:
            extended.extension.save(folder)

    def open(self, folder: Path) -> Vocab:
        """Load the extended vocabulary."""
        extension = Extension.open(folder)
        return self.base.with_tokenizer(Vocab.load(folder).tokenizer, extension)


def vocabulary_of(recipe: Recipe, texts: RecipeTexts) -> Vocab:
    """Return the vocabulary of a recipe, with its normalization; for translation with its target languages."""
    vocab = _vocabulary(recipe, texts).with_normalization(recipe.normalization)
    if recipe.seq2seq:
        return vocab.with_target_languages(recipe.languages)
    return vocab


def _vocabulary(recipe: Recipe, texts: RecipeTexts) -> Vocab:
    settings = recipe.vocab
    start = tokenizer_of(recipe)
    if start is None:
        return LearnedVocab(settings, _texts_of(recipe, texts)).get()
    if start == recipe.model.vectors:
        check_vectors(recipe.model)  # its errors are clearer than that of a missing tokenizer
    vocab = Vocab.load(start)
    if settings.extend:
        return ExtendedVocab(vocab, settings, _texts_of(recipe, texts)).get()
    return vocab


def _texts_of(recipe: Recipe, texts: RecipeTexts) -> TextsByLanguage:
    """Return the text that the vocabulary is learned from, by language."""
    wanted = recipe.vocab.corpora
    groups = [group for name, group in recipe.corpora.items() if not wanted or name in wanted]
    by_language: dict[str, list[CorpusText]] = {}
    for language in recipe.languages:
        corpora = list(texts.in_language(language, groups))
        if corpora:
            by_language[language] = corpora
    return by_language


def _key_of(texts: TextsByLanguage) -> dict[str, list[Any]]:
    keys: dict[str, list[Any]] = {}
    for language, corpora in texts.items():
        keys[language] = [text.key for text in corpora]
    return keys


def _lines_of(texts: TextsByLanguage) -> dict[str, Iterator[str]]:
    return {language: _lines(corpora, language) for language, corpora in texts.items()}


def _lines(corpora: Sequence[CorpusText], language: str) -> Iterator[str]:
    for text in corpora:
        yield from text.lines(language)
