"""Bilingual dictionaries: which entries are trained on, which are held out, and how words are spelled as tokens.

An entry is held out if neither of its words nor any of their embedding rows (tokens) occurs in a training entry. All
casings of a source word are in the same part.

Objectives with `needs = {"lexicon"}` have a field `dictionary: Dictionary`. A recipe reads or counts the lexicons and
passes them in `Resources.lexicons`; `Dictionary.prepare` splits them and tokenizes the entries. Which are trained on
depends only on the lexicon's words, the share and a seed, not on the vocabulary (ALIGN-MLM's code redrew it in every
script).

Legend: m entries of a dictionary; n usable entries of all dictionaries; W distinct words, each a row of token ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from interlace.core.errors import DataError
from interlace.core.ragged import (
    BoolArray,
    ByteArray,
    IntArray,
    IntegerArray,
    Ragged,
    distinct_rows,
)
from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.readers.common.files import check_pattern
from interlace.text import LanguagePair

if TYPE_CHECKING:
    from interlace.alignment.lexicon import Lexicon
    from interlace.data.vocab import Vocab


class DictionaryPart(IntEnum):
    """What an entry is used for."""

    TRAIN = 0
    HELD_OUT = 1  # only scored
    OVERLAP = 2  # unused: not trained on, but training entries contain its target word or one of its embedding rows


class EntryStatus(IntEnum):
    """Whether an entry is used, or why not."""

    USED = 0
    UNSPELLABLE = 1  # a word with an unknown or special token, or without any
    TOO_LONG = 2  # a word of too many tokens
    IDENTICAL = 3  # both words have the same tokens


_Pattern = Annotated[
    str | None, AfterValidator(lambda text: text and check_pattern(text, ("source", "target")))
]


class Dictionary(Settings):
    """Which dictionaries an objective learns from. A plain string is read as `files`."""

    files: _Pattern = Field(
        None,
        description="Dictionary files under the data root, a pattern with {source} and {target}: MUSE's format, or "
        "tab-separated source, target and count; none: count entries from the word alignments of the recipe's parallel "
        "corpora.",
    )
    vectors: str | None = Field(
        None,
        description="Instead of files: a run with word vectors (`[embeddings]`) or a folder of them; entries are words "
        "that are each other's nearest neighbor by CSLS. The methods `identical` and `muse` need no parallel text.",
    )
    max_words: int = Field(
        15_000,
        ge=2,
        description="With vectors: number of most frequent words per language to match (MUSE: 15,000). Rare words of a "
        "small corpus mostly match wrong translations.",
    )
    share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of source words to train on; the others are held out (ALIGN-MLM: 0.25).",
    )
    seed: int | None = Field(None, ge=0, description="Seed of that split; none: the recipe's.")
    min_count: float = Field(
        3, ge=1, description="Minimum number of links of an entry counted from alignments."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_pattern(cls, data: Any) -> Any:
        return {"files": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _check_origin(self) -> Dictionary:
        if self.files is not None and self.vectors is not None:
            raise ValueError(
                "files and vectors are both set; a dictionary comes from one of them"
            )
        return self

    def prepare(
        self,
        lexicons: Mapping[LanguagePair, Lexicon],
        vocab: Vocab,
        name: str,
        *,
        seed: int,
        max_tokens: int | None = None,
    ) -> Dictionaries:
        """Split the lexicons and tokenize the usable entries; raise a DataError if no training entry is left.

        name: of the objective, for errors and notes. seed: of the split, unless the setting `seed` gives one.
        max_tokens: entries with a word of more tokens are not used; None: no limit.
        """
        if not lexicons:
            raise DataError(
                f"{name}: there is no dictionary; set {name}.dictionary, or add a parallel corpus"
            )
        if self.seed is not None:
            seed = self.seed
        splits = []
        for languages, lexicon in sorted(lexicons.items()):
            splits.append(split_dictionary(lexicon, languages, self.share, seed))
        words, entries = _word_numbers(splits, vocab)
        lengths = np.where(_irregular(words, vocab) == 0, words.lengths, 0)
        for split, word_numbers in zip(splits, entries, strict=True):
            split.statuses[:] = _statuses(word_numbers, lengths, max_tokens)
        dictionaries = Dictionaries(tuple(splits), words, tuple(entries))
        dictionaries.hold_out()
        if not dictionaries.trained().size:
            notes = "; ".join(split.note() for split in splits)
            raise DataError(f"{name}: no entry of its dictionary is usable: {notes}")
        return dictionaries


@dataclass(frozen=True)
class DictionarySplit:
    """A dictionary with the part of each of its entries.

    languages: of the source and target words.
    parts: (m,) uint8 of `DictionaryPart`.
    statuses: (m,) uint8 of `EntryStatus`; all are used before they are tokenized.
    """

    languages: LanguagePair
    lexicon: Lexicon
    parts: ByteArray
    statuses: ByteArray

    @property
    def name(self) -> str:
        """The language pair."""
        return "-".join(self.languages)

    @property
    def is_trained(self) -> BoolArray:
        """(m,) whether an entry is trained on."""
        is_usable = self.statuses == EntryStatus.USED
        return is_usable & (self.parts == DictionaryPart.TRAIN)

    def note(self) -> str:
        """Return the number of usable entries of each part, and of unusable ones."""
        statuses = self.statuses
        usable = self.parts[statuses == EntryStatus.USED]
        train, held_out, overlap = np.bincount(usable, minlength=len(DictionaryPart)).tolist()
        unusable = np.bincount(statuses, minlength=len(EntryStatus))
        return (
            f"{self.name}: {len(self.lexicon):,} entries: {train:,} for training, {held_out:,} held out, {overlap:,} "
            "neither (with a word or an embedding row of training entries); unusable: "
            f"{unusable[EntryStatus.UNSPELLABLE]:,} not in the vocabulary, {unusable[EntryStatus.TOO_LONG]:,} with too "
            f"many tokens (a larger vocabulary has more whole words), {unusable[EntryStatus.IDENTICAL]:,} identical in "
            "both languages"
        )


@dataclass(frozen=True)
class Dictionaries:
    """All dictionaries of an objective, as token ids.

    splits: each dictionary with the part and the status of its entries.
    words: W distinct rows of int32 token ids.
    entries: of each dictionary (2, m) int64, the numbers of the source and target words.
    """

    splits: tuple[DictionarySplit, ...]
    words: Ragged
    entries: tuple[IntArray, ...]

    def trained(self) -> IntArray:
        """(2, n) the source and target words of the training entries of all dictionaries."""
        return np.concatenate([words for _, words in self.trained_by_languages()], axis=1)

    def trained_by_languages(self) -> Iterator[tuple[LanguagePair, IntArray]]:
        """Yield for each dictionary its languages, and the (2, ...) words of its training entries."""
        for split, word_numbers in zip(self.splits, self.entries, strict=True):
            yield split.languages, word_numbers[:, split.is_trained]

    def hold_out(self) -> None:
        """Hold out no entry that has an embedding row of a trained one, of any dictionary."""
        trained_ids = self.words.take(np.unique(self.trained())).flat
        shares = shares_rows(self.words, trained_ids)
        for split, word_numbers in zip(self.splits, self.entries, strict=True):
            is_held_out = split.parts == DictionaryPart.HELD_OUT
            overlaps = is_held_out & shares[word_numbers].any(axis=0)
            split.parts[overlaps] = DictionaryPart.OVERLAP


def _word_numbers(
    splits: Sequence[DictionarySplit], vocab: Vocab
) -> tuple[Ragged, list[IntArray]]:
    """Return the distinct words as rows of token ids, and (2, m) the words of the entries of each dictionary."""
    spelled: list[Ragged] = []
    for split in splits:
        spelled.append(spellings(vocab, split.lexicon.source_types))
        spelled.append(spellings(vocab, split.lexicon.target_types))
    rows = Ragged.concatenate(spelled)
    numbers, first_rows = distinct_rows(rows)
    numbers_of_types = Ragged.from_lengths(numbers, [len(types) for types in spelled])
    entries = []
    for index, split in enumerate(splits):
        source_types, target_types = split.lexicon.entries.T
        source = numbers_of_types[2 * index][source_types]
        target = numbers_of_types[2 * index + 1][target_types]
        entries.append(np.stack([source, target]))
    return rows.take(first_rows), entries


def _statuses(words: IntArray, lengths: IntArray, max_tokens: int | None) -> ByteArray:
    """(m,) the `EntryStatus` of entries of (2, m) words; lengths: (W,) tokens, 0 for words that cannot be spelled."""
    statuses = np.full(words.shape[1], EntryStatus.USED, np.uint8)
    statuses[words[0] == words[1]] = EntryStatus.IDENTICAL
    entry_lengths = lengths[words]
    if max_tokens is not None:
        statuses[entry_lengths.max(axis=0) > max_tokens] = EntryStatus.TOO_LONG
    statuses[entry_lengths.min(axis=0) == 0] = EntryStatus.UNSPELLABLE
    return statuses


def split_dictionary(
    lexicon: Lexicon, languages: LanguagePair, share: float, seed: int
) -> DictionarySplit:
    """Draw a share of source words, ignoring case, for training; smaller shares are subsets of larger ones."""
    source_types, target_types = lexicon.entries.T
    source = _folded(lexicon.source_types)[source_types]
    target = _folded(lexicon.target_types)[target_types]
    words = np.unique(source)
    digest = blake2b("-".join(languages).encode(), digest_size=4).digest()
    rng = generator(Purpose.DICTIONARY, seed, int.from_bytes(digest, "big"))
    order = rng.permutation(len(words))
    count = max(1, round(share * len(words)))
    is_trained = np.isin(source, words[order[:count]])
    parts = np.full(len(source), DictionaryPart.HELD_OUT, np.uint8)
    parts[np.isin(target, target[is_trained])] = DictionaryPart.OVERLAP
    parts[is_trained] = DictionaryPart.TRAIN
    statuses = np.full(len(source), EntryStatus.USED, np.uint8)
    return DictionarySplit(languages, lexicon, parts, statuses)


def _folded(words: Sequence[str]) -> IntArray:
    """Return a number for each word; those that differ in case share that of the first in sorted order."""
    numbers: dict[str, int] = {}
    for number, word in enumerate(sorted(words)):
        numbers.setdefault(word.casefold(), number)
    return np.array([numbers[word.casefold()] for word in words], np.int64)


def shares_rows(words: Ragged, trained: IntegerArray) -> BoolArray:
    """(W,) whether any token id of each word is among those that were trained on."""
    is_trained = np.isin(words.flat, trained)
    return np.bincount(words.rows()[is_trained], minlength=len(words)) > 0


def spellings(vocab: Vocab, words: Sequence[str]) -> Ragged:
    """Return the tokens of each word as they are inside a sentence, as rows of int32.

    Words of several tokens are also tried with a capital letter, and kept so if that takes fewer tokens: dictionaries
    are often lowercased, and a lowercased German noun occurs in no text.
    """
    rows = vocab.encode_words(words)
    long_words = np.flatnonzero(rows.lengths > 1)
    capitals = [words[word][:1].upper() + words[word][1:] for word in long_words.tolist()]
    capitalized = vocab.encode_words(capitals)
    is_shorter = capitalized.lengths < rows.lengths[long_words]
    is_shorter &= _irregular(capitalized, vocab) == 0
    numbers = np.arange(len(rows))
    numbers[long_words[is_shorter]] = len(rows) + np.flatnonzero(is_shorter)
    best = Ragged.concatenate([rows, capitalized]).take(numbers)
    return Ragged(best.flat.astype(np.int32), best.offsets)


def _irregular(rows: Ragged, vocab: Vocab) -> IntArray:
    """Return the number of special or unknown tokens of each row."""
    is_irregular = ~np.isin(rows.flat, vocab.regular_ids)
    return np.bincount(rows.rows()[is_irregular], minlength=len(rows))
