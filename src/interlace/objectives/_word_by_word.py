"""Words exchanged for translations of a dictionary, each by itself: what a first, poor translation looks like.

Legend: W words in all of a dictionary's; w of them in one language; U words and T subwords of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.objectives._noise import Units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.randomness import Generator
    from interlace.objectives._lexicons import Dictionaries

_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, so that it stirs all 64 bits: the golden ratio, as Knuth has it


@dataclass(frozen=True)
class WordTable:
    """The translations of one language's words.

    words: W rows of int32 subwords.
    own: (w,) int64 words that have a translation, each once. others: w rows of the words that translate it.
    """

    words: Ragged
    own: NDArray[np.int64]
    others: Ragged

    @cached_property
    def _keys(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """(w,) keys of the words in ascending order, and which of `own` each is."""
        rows = self.words.take(self.own)
        keys = _keys(rows.flat, rows.offsets[:-1] - rows.offsets[0], rows.lengths)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def find(self, ids: NDArray[np.int32], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """(U,) which of `own` each word of a text is, -1 where it is none.

        ids: (T,) subwords of the text. starts, lengths: (U,) where its words begin, and how many subwords they have.
        """
        keys, order = self._keys
        wanted = _keys(ids, starts, lengths)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = np.where(keys[at] == wanted, order[at], -1)
        same = found >= 0
        theirs = self.words.take(self.own[found[same]])
        same[same] = theirs.lengths == lengths[same]
        return np.where(same, found, -1)


def tables(dictionaries: Dictionaries) -> dict[str, WordTable]:
    """By language, from the entries that are learnt from, read in both directions."""
    return {language: _table(words, dictionaries.words) for language, words in dictionaries.learnt().items()}


def _table(pairs: NDArray[np.int64], words: Ragged) -> WordTable:
    distinct = np.unique(pairs, axis=1)
    own, counts = np.unique(distinct[0], return_counts=True)
    return WordTable(words, own, Ragged.from_lengths(distinct[1], counts))


def word_by_word(sentences: Sentences, table: WordTable, share: float, rng: Generator, room: int) -> Sentences:
    """The sentences with a share of their words shown as a translation, where the table has one.

    Of several translations each is as likely. Words keep their order and their numbers. A word is known as it is
    spelled inside a line; where a vocabulary spells it otherwise at a line's start, it stays there.

    room: most subwords of a row; where one is full, the words behind are read as they are, so that none is cut off.
    """
    ids, units = sentences.ids.flat, Units.of(sentences, "word")
    if not len(ids):
        return sentences
    starts, lengths = units.starts, units.lengths
    known = table.find(ids, starts, lengths)
    known[rng.random(len(known)) >= share] = -1
    chosen = np.flatnonzero(known >= 0)
    nth = (rng.random(len(chosen)) * table.others.lengths[known[chosen]]).astype(np.int64)
    put = table.others.flat[table.others.offsets[known[chosen]] + nth]
    growth = np.zeros(len(starts), np.int64)
    growth[chosen] = table.words.lengths[put] - lengths[chosen]
    fits = _fits(growth, units.rows, room - sentences.lengths)[chosen]
    chosen, put = chosen[fits], put[fits]
    # All words, their own first and then what is put in for some, and of these the one that each comes to be.
    both = Ragged.concatenate([Ragged.from_lengths(ids, lengths), table.words.take(put)])
    which = np.arange(len(starts))
    which[chosen] = len(starts) + np.arange(len(chosen))
    words = both.take(which)
    per_row = np.bincount(units.rows, words.lengths, minlength=len(sentences)).astype(np.int64)
    owners = np.repeat(sentences.words.flat[starts], words.lengths)
    return Sentences(Ragged.from_lengths(words.flat, per_row), Ragged.from_lengths(owners, per_row), sentences.language)


def _fits(growth: NDArray[np.int64], rows: NDArray[np.int64], free: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(U,) up to which words their rows have not grown by more than is `free` in each.

    Words behind these may be taken in all the same, once others have made room: a run of words that is left out would
    have made its row longer.
    """
    grown = np.cumsum(growth)
    before = np.append(0, grown)[np.searchsorted(rows, np.arange(len(free)))]  # of the rows above
    return np.asarray(grown - before[rows] <= free[rows])


def _keys(ids: NDArray[np.int32], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """(U,) one number for each row of subwords: the value of a polynomial whose coefficients they are."""
    place = np.arange(len(ids)) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(int(lengths.max(initial=1)), _STEP, np.uint64))
    stirred = (ids.astype(np.uint64) + np.uint64(1)) * powers[place]
    stirred ^= stirred >> np.uint64(29)
    return np.add.reduceat(stirred, starts) if len(starts) else np.zeros(0, np.uint64)
