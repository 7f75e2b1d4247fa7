"""Which phrases of linked pairs stand in a phrase table: the columns of a phrase store, chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.data._shards import narrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.alignment import WordPairs
    from interlace.alignment.phrase_table import PhraseTable, TableRules
    from interlace.data.aligned import Links


class Finder:
    """Looks phrases up; the table's indexes are made once."""

    def __init__(self, table: PhraseTable, rules: TableRules) -> None:
        self._table = table
        self._rules = rules
        self._indexes = (table.index("source"), table.index("target"))

    def columns(self, words: WordPairs, found: Links) -> dict[str, Ragged]:
        """`spans`, four numbers a phrase pair that stands in the table, and `entries`, its row there."""
        lengths = (words.source.lengths, words.target.lengths)
        spans = phrase_pairs(*lengths, found.links, self._rules, confidence=found.confidence.flat)
        source, target = (
            index.find(side, spans, first)
            for index, side, first in zip(self._indexes, (words.source, words.target), (0, 2), strict=True)
        )
        rows = self._table.rows_of(source, target)
        held = only(spans, rows >= 0)
        return {
            "spans": Ragged(narrow(held.flat.reshape(-1)), 4 * held.offsets),
            "entries": Ragged(rows[rows >= 0].astype(np.int32), held.offsets),
        }


def all_spans(words: Ragged, longest: int) -> Ragged:
    """All half-open spans of at most so many words in each row, sorted."""
    rest = np.repeat(words.lengths, words.lengths) - words.columns()
    places, more = np.nonzero(np.arange(longest) < rest[:, None])
    starts = words.columns()[places]
    spans = np.stack([starts, starts + more + 1], axis=1).astype(np.int32)
    return Ragged.from_lengths(spans, np.bincount(words.rows()[places], minlength=len(words)))


def only(spans: Ragged, held: NDArray[np.bool_]) -> Ragged:
    """The marked spans of each row."""
    return Ragged.from_lengths(spans.flat[held], np.bincount(spans.rows()[held], minlength=len(spans)))
