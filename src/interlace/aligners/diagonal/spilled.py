"""The type pairs of `diagonal` in temporary files, when they exceed the memory limit.

A pass over a part of the text works on a table in memory of that part's pairs: its probabilities come from the table of
all pairs, which is mapped from a file, and its counts are added to it. Both are in the order of source types, so that
the file is read from its beginning to its end. Counts are integers, so results equal those of one table in memory.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interlace.aligners.diagonal.cooccurrence import (
    EMPTY,
    PROBABILITIES,
    Cooccurrence,
    Fields,
    fill_rows,
    row_starts,
    slot_type,
    table_of,
)
from interlace.alignment.spill import SpilledColumn, cut_runs


@dataclass
class SpilledPairs:
    """The type pairs of each part of a text, sorted.

    types: number of source types. fields: the counts and probabilities of a slot. rows: pairs that are merged at a
    time. chunks: the number of chunks of each part.
    """

    types: int
    fields: Fields
    rows: int
    chunks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._keys, self._starts = SpilledColumn(np.int64), [0]

    def add(self, sets: list[NDArray[np.int64]], chunks: int) -> None:
        """Add the pairs of the next part of the text."""
        keys = np.sort(np.concatenate([keys[keys != EMPTY] for keys in sets]))
        self._keys.append(keys)
        self._starts.append(self._starts[-1] + len(keys))
        self.chunks.append(chunks)

    def table(self) -> Cooccurrence:
        """Return a table of all pairs, mapped from a temporary file."""
        degrees = np.zeros(self.types, np.int64)
        for cuts in cut_runs(self._keys, self._starts, self.rows):
            keys = np.unique(np.concatenate([self._keys.read(rows) for rows in cuts]))
            degrees += np.bincount(keys >> 32, minlength=self.types)
        starts = row_starts(degrees)
        table = Cooccurrence(starts, SpilledColumn(slot_type(self.fields), rows=int(starts[-1])).mapped())
        table.targets[:] = EMPTY
        for part in range(len(self.chunks)):
            fill_rows(self._run(part), starts, table.targets)
        return table

    def load(self, part: int, whole: Cooccurrence) -> Cooccurrence:
        """Return the table of a part, with the probabilities of the table of all pairs and without counts."""
        entries = self._entries(part)
        table = table_of(entries, self.types, self.fields)
        self._copy(entries, whole, table, [name for name, _ in PROBABILITIES])
        return table

    def add_counts(self, part: int, table: Cooccurrence, whole: Cooccurrence) -> None:
        """Add the counts of a part to those of the table of all pairs."""
        self._copy(
            self._entries(part), table, whole, [name for name, _ in self.fields if name not in dict(PROBABILITIES)]
        )

    def _copy(self, entries: NDArray[np.int32], source: Cooccurrence, target: Cooccurrence, names: list[str]) -> None:
        """Add fields of some pairs of one table to those of another, which are 0 in a new one."""
        slots, others = source.find(entries), target.find(entries)
        for name in names:
            target.slots[name][others] += source.slots[name][slots]

    def _run(self, part: int) -> NDArray[np.int64]:
        return self._keys.read(slice(self._starts[part], self._starts[part + 1]))

    def _entries(self, part: int) -> NDArray[np.int32]:
        """(m, 2) source and target types of the pairs of a part."""
        keys = self._run(part)
        return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)
