"""From dictionaries to look-up tables: for each subword of a language, the subwords that translate it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.errors import DataError
from interlace.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.objectives._lexicons import Dictionaries


def translations(dictionaries: Dictionaries, size: int, what: str) -> dict[str, Ragged]:
    """By language a row for each of the `size` subwords; entries are read in both directions.

    Of a translation of several subwords the first stands in the row; a word of several has none.

    Raises:
        DataError: every word that is drawn has several subwords.
    """
    learnt = dictionaries.learnt()
    tables = {language: _table(_subwords(dictionaries.words, *words), size) for language, words in learnt.items()}
    tables = {language: table for language, table in tables.items() if len(table.values)}
    if not tables:
        raise DataError(f"{what}: no word of its dictionary is one subword: {'; '.join(dictionaries.notes)}")
    return tables


def _subwords(words: Ragged, own: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """(2, ...) the subword of each word that is one, and the first of its translation, where those differ."""
    one = words.lengths[own] == 1
    pair = np.stack([words.values[words.offsets[own[one]]], words.values[words.offsets[other[one]]]]).astype(np.int64)
    return pair[:, pair[0] != pair[1]]


def _table(pairs: NDArray[np.int64], size: int) -> Ragged:
    distinct = np.unique(pairs, axis=1)
    return Ragged.from_lengths(distinct[1], np.bincount(distinct[0], minlength=size))
