"""From dictionaries to look-up tables: for each subword of a language, the subwords that translate it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlace.objectives._lexicons import Dictionaries


def translations(dictionaries: Dictionaries, size: int, what: str, numbers: Mapping[str, int]) -> dict[str, Ragged]:
    """By language a row of (translation, number of its language) for each of the `size` subwords.

    Entries are read in both directions. Of a translation of several subwords the first stands in the row; a word of
    several has none. What translates a word in two languages is of the one whose dictionary comes first.

    numbers: of all languages that the dictionaries are of.

    Raises:
        DataError: every word that is drawn has several subwords.
    """
    found: dict[str, list[NDArray[np.int64]]] = {}
    for language, other, words in dictionaries.learnt_apart():
        found.setdefault(language, []).append(_subwords(dictionaries.words, words[0], words[1], numbers[other]))
    tables = {language: _table(np.concatenate(some, axis=1), size) for language, some in found.items()}
    tables = {language: table for language, table in tables.items() if len(table.values)}
    if not tables:
        raise DataError(f"{what}: no word of its dictionary is one subword: {'; '.join(dictionaries.notes)}")
    return tables


def _subwords(words: Ragged, own: NDArray[np.int64], other: NDArray[np.int64], language: int) -> NDArray[np.int64]:
    """(3, ...) the subword of each word that is one, the first of its translation where those differ, its language."""
    one = words.lengths[own] == 1
    pair = np.stack([words.values[words.offsets[own[one]]], words.values[words.offsets[other[one]]]]).astype(np.int64)
    pair = pair[:, pair[0] != pair[1]]
    return np.concatenate([pair, np.full((1, pair.shape[1]), language)])


def _table(found: NDArray[np.int64], size: int) -> Ragged:
    distinct, first = np.unique(found[:2], axis=1, return_index=True)
    return Ragged.from_lengths(found[1:, first].T, np.bincount(distinct[0], minlength=size))
