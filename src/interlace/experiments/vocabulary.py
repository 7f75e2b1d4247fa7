"""The vocabulary of a recipe: an existing tokenizer, one that is trimmed or extended, or one that is learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from interlace.core.display import listed
from interlace.core.errors import SettingsError
from interlace.core.json_files import JsonObject
from interlace.data.artifacts import Artifact
from interlace.data.corpus_text import CorpusText
from interlace.experiments.recipe import Recipe, max_source_lengths, tokenizer_of
from interlace.experiments.sections import VocabSettings
from interlace.experiments.texts import RecipeTexts
from interlace.models.token_embeddings import check_vectors

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

TextsByLanguage = Mapping[str, Sequence[CorpusText]]


@dataclass(frozen=True, eq=False)
class RecipeVocab(Artifact["Vocab"]):
    """A vocabulary that is learned from the training text of several languages.

    base: a vocabulary to which tokens are added, whose ids stay; None: all are learned.
    """

    kind = "vocab"

    settings: VocabSettings
    texts: TextsByLanguage
    base: Vocab | None

    def __str__(self) -> str:
        if self.base is None:
            return f"a vocabulary of {self.settings.size:,} tokens"
        return f"{self.settings.extend:,} new tokens for {self.base.name}"

    @cached_property
    def key(self) -> JsonObject:
        """The settings, the text, and the vocabulary that is extended."""
        # of what is learned from the same text
        key: JsonObject = {
            "alpha": self.settings.alpha,
            "version": 3,
        }
        for language, corpora in self.texts.items():
            key[f"text in {language}"] = [text.key for text in corpora]
        if self.base is None:
            return {**key, "size": self.settings.size, "kind": self.settings.kind}
        return {**key, "extend": self.settings.extend, "base": self.base.fingerprint}

    def build(self, folder: Path) -> None:
        """Learn the vocabulary, or its new tokens."""
        from interlace.data.extension import extend_vocab
        from interlace.data.vocab import Vocab

        settings = self.settings
        lines = {
            language: _lines(corpora, language) for language, corpora in self.texts.items()
        }
        if self.base is not None:
            vocab = extend_vocab(self.base, lines, settings.extend, alpha=settings.alpha)
        else:
            vocab = Vocab.learn(lines, settings.size, alpha=settings.alpha, kind=settings.kind)
        vocab.save(folder)
        vocab.origin.save(folder)

    def open(self, folder: Path) -> Vocab:
        """Load the vocabulary."""
        from interlace.data.vocab import Origin, Vocab

        vocab = Vocab.load(folder)
        if self.base is None:
            return vocab
        return self.base.with_new_tokens(vocab.tokenizer, Origin.open(folder).pieces.to_lists())


@dataclass(frozen=True, eq=False)
class TrimmedVocab(Artifact["Vocab"]):
    """The tokens of an existing vocabulary that text needs.

    keep: as in `trim_vocab`. texts: by language, training and held-out text.
    """

    kind = "vocab"

    keep: Literal["text", "characters"]
    texts: TextsByLanguage
    base: Vocab

    def __str__(self) -> str:
        return f"the tokens of {self.base.name} that the text needs"

    @cached_property
    def key(self) -> JsonObject:
        """The text, and the vocabulary that is trimmed."""
        texts = {}
        for language, corpora in self.texts.items():
            texts[language] = [text.key for text in corpora]
        return {
            "trim": self.keep,
            "text": texts,
            "base": self.base.fingerprint,
            "version": 1,
        }

    def build(self, folder: Path) -> None:
        """Trim the vocabulary."""
        from interlace.data.trimming import trim_vocab

        sides = [_lines(corpora, language) for language, corpora in self.texts.items()]
        vocab = trim_vocab(self.base, chain.from_iterable(sides), self.keep)
        vocab.save(folder)
        vocab.origin.save(folder)

    def open(self, folder: Path) -> Vocab:
        """Load the vocabulary."""
        from interlace.data.vocab import Origin, Vocab

        return self.base.with_tokenizer(Vocab.load(folder).tokenizer, Origin.open(folder))


def vocabulary_of(recipe: Recipe, texts: RecipeTexts) -> Vocab:
    """Return the vocabulary of a recipe, with its normalization; for translation with its target languages."""
    vocab = _vocabulary(recipe, texts).with_normalization(recipe.normalization)
    if recipe.seq2seq:
        vocab = vocab.with_target_languages(recipe.languages)
        _check_directions(recipe, vocab)
    return vocab


def _check_directions(recipe: Recipe, vocab: Vocab) -> None:
    """Raise a SettingsError if a model without tokens for languages is to translate into several."""
    directions = list(max_source_lengths(recipe))
    targets = {direction.partition("-")[2] for direction in directions}
    if vocab.layout.code is None and len(targets) > 1:
        raise SettingsError(
            f"{vocab.name}: its tokenizer has no tokens for languages, so a model cannot know which of "
            f"{listed(sorted(targets))} to write; train one direction, as with "
            "objectives.translation.directions = 'forward', or start from a model with language codes, such as NLLB"
        )


def _vocabulary(recipe: Recipe, texts: RecipeTexts) -> Vocab:
    from interlace.data.vocab import Vocab

    start = tokenizer_of(recipe)
    base = None
    if start is not None:
        if start == recipe.model.vectors:
            # its errors are clearer than that of a missing tokenizer
            check_vectors(recipe.model)
        base = Vocab.load(start)
        if recipe.vocab.trim != "none":
            base = TrimmedVocab(recipe.vocab.trim, _all_texts(recipe, texts), base).get()
        if not recipe.vocab.extend:
            return base
    return RecipeVocab(recipe.vocab, _texts_to_learn(recipe, texts), base).get()


def _all_texts(recipe: Recipe, texts: RecipeTexts) -> TextsByLanguage:
    """Return all text of the corpora, held-out text too, by language."""
    by_language: dict[str, list[CorpusText]] = {}
    for split in ("train", "dev"):
        for group, corpus in recipe.corpora_in(split).values():
            text = texts.of(recipe.corpora[group], corpus, split)
            for language in text.languages:
                by_language.setdefault(language, []).append(text)
    return by_language


def _texts_to_learn(recipe: Recipe, texts: RecipeTexts) -> TextsByLanguage:
    """Return the text that the vocabulary is learned from, by language."""
    wanted = recipe.vocab.corpora
    groups = [group for name, group in recipe.corpora.items() if not wanted or name in wanted]
    by_language: dict[str, list[CorpusText]] = {}
    for language in recipe.languages:
        corpora = list(texts.in_language(language, groups))
        if corpora:
            by_language[language] = corpora
    return by_language


def _lines(corpora: Sequence[CorpusText], language: str) -> Iterator[str]:
    for text in corpora:
        yield from text.lines(language)
