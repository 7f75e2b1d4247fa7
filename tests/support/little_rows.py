"""Rows of subwords, with the words that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.vocab import Frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlace.data.vocab import Vocab


@dataclass
class Rows:
    """Batch k is the k-th slice of some rows."""

    rows: Sentences | Pairs
    size: int

    def examples(self, index: int) -> Sentences | Pairs:
        """The rows of a batch."""
        start = index * self.size % len(self.rows)
        return self.rows.take(np.arange(start, start + self.size))


def framed(begin: int, end: int) -> Callable[[str], Frame]:
    """The `frame` of a vocabulary whose rows are alike in all languages."""
    return lambda _: Frame((begin,), (end,))


def sentences_of(ids: Ragged, language: str = "en", word: int = 1) -> Sentences:
    """Rows of ids; every word has `word` subwords."""
    words = (ids.columns() // word).astype(np.int32)
    return Sentences(ids, Ragged(words, ids.offsets), language)


def random_ids(rng: np.random.Generator, vocab: Vocab, lengths: np.ndarray) -> Ragged:
    """Rows of regular subwords, drawn with the same chance each."""
    ids = rng.choice(vocab.regular_ids, size=lengths.sum()).astype(np.int32)
    return Ragged.from_lengths(ids, lengths)
