"""Words of a dictionary as rows of subwords, and which entries an objective can use.

Legend: w words of one side; m entries; W distinct rows of subwords over all dictionaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab


class Fate(IntEnum):
    """Whether an entry is used, or why not."""

    USED = 0
    UNKNOWN = 1  # a word with a subword that is special or unknown, or without any
    SEVERAL = 2  # a word of more subwords than count
    ALIKE = 3  # both words are the same subwords, so there is nothing to learn


@dataclass(frozen=True)
class Word:
    """The words of one side.

    number: (w,) int64 the row of each among all distinct rows.
    pieces: (w,) int64 subwords of each; 0 where the vocabulary cannot spell it.
    """

    number: NDArray[np.int64]
    pieces: NDArray[np.int64]

    @staticmethod
    def rows(numbers: Mapping[bytes, int]) -> Ragged:
        """W rows of int32 subwords from their numbering."""
        lengths = [len(row) // 4 for row in numbers]
        return Ragged.from_lengths(np.frombuffer(b"".join(numbers), np.int32).copy(), lengths)


def forms(vocab: Vocab, words: Sequence[str], *, best: bool) -> Ragged:
    """A row a word of its subwords inside a sentence.

    best: a word of several subwords is also tried with a capital: dictionaries are often in lower case throughout, and
        a German noun is then no word of any text. The form of fewer subwords counts, and as written where they tie.
    """
    rows = vocab.encode_words(words)
    values = rows.flat.astype(np.int32)
    rows = Ragged.from_lengths(values, rows.lengths)
    at = np.flatnonzero(rows.lengths > 1) if best else np.zeros(0, np.int64)
    if not len(at):
        return rows
    other = vocab.encode_words([words[word][:1].upper() + words[word][1:] for word in at.tolist()])
    fewer = (other.lengths < rows.lengths[at]) & (_strange(other, vocab) == 0)  # one unknown subword is no spelling
    both = Ragged.concatenate([rows, Ragged.from_lengths(other.flat.astype(np.int32), other.lengths)])
    source = np.arange(len(rows))
    source[at[fewer]] = len(rows) + np.flatnonzero(fewer)
    return both.take(source)


def numbered(rows: Ragged, vocab: Vocab, numbers: dict[bytes, int]) -> Word:
    """Number the rows among all distinct ones; `numbers` grows."""
    number = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], np.int64)
    return Word(number, np.where(_strange(rows, vocab) == 0, rows.lengths, 0))


def _strange(rows: Ragged, vocab: Vocab) -> NDArray[np.int64]:
    """(w,) subwords of each row that no text is made of, such as the unknown one."""
    return np.bincount(rows.rows()[~np.isin(rows.flat, vocab.regular_ids)], minlength=len(rows))


def fates(source: Word, target: Word, entries: NDArray[np.int32], *, most: int) -> NDArray[np.uint8]:
    """(m,) what becomes of each entry; words of more than `most` subwords are not used."""
    first, second = source.pieces[entries[:, 0]], target.pieces[entries[:, 1]]
    alike = source.number[entries[:, 0]] == target.number[entries[:, 1]]
    found = np.where(alike, Fate.ALIKE, Fate.USED)
    found = np.where(np.maximum(first, second) > most, Fate.SEVERAL, found)
    return np.where(np.minimum(first, second) == 0, Fate.UNKNOWN, found).astype(np.uint8)
