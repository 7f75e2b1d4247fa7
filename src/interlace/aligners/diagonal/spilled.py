"""The type pairs of `diagonal` on disk, when they exceed the memory limit.

Each part of the text has a run: its type pairs, sorted, with their probabilities and counts. A pass over a part needs
only its run; new probabilities need all counts of a pair, which are merged range by range. Counts are integers and
probabilities are computed from their sums, so that results equal those of one table in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interlace.aligners.diagonal.cooccurrence import (
    EMPTY,
    PROBABILITIES,
    Cooccurrence,
    Fields,
    fill_rows,
    row_starts,
    table_of,
)
from interlace.alignment.spill import SpilledColumn, cut_runs


@dataclass
class SpilledPairs:
    """Runs of sorted type pairs, one after the other.

    types: number of source and of target types. fields: the counts and probabilities of a slot. rows: pairs that are
    merged at a time. chunks: the number of chunks of each part.
    """

    types: tuple[int, int]
    fields: Fields
    rows: int

    def __post_init__(self) -> None:
        self._keys, self._columns = SpilledColumn(np.int64), {name: SpilledColumn(kind) for name, kind in self.fields}
        self._counts = [name for name, _ in self.fields if name not in dict(PROBABILITIES)]
        self._probabilities = [name for name, _ in PROBABILITIES]
        self._starts, self.chunks = [0], list[int]()

    def add(self, sets: list[NDArray[np.int64]], chunks: int, probability: float) -> None:
        """Add the run of the next part of the text, with equal probabilities."""
        keys = np.sort(np.concatenate([keys[keys != EMPTY] for keys in sets]))
        self._keys.append(keys)
        for name, column in self._columns.items():
            column.append(np.full(len(keys), 0 if name in self._counts else probability))
        self._starts.append(self._starts[-1] + len(keys))
        self.chunks.append(chunks)

    def run(self, part: int) -> Cooccurrence:
        """Return the table of a part, with probabilities and without counts."""
        rows = slice(self._starts[part], self._starts[part + 1])
        table = table_of(_entries(self._keys.read(rows)), self.types[0], self.fields)
        self._load(table, rows, self._probabilities)
        return table

    def store(self, part: int, table: Cooccurrence) -> None:
        """Store the counts of a part."""
        self._store(table, slice(self._starts[part], self._starts[part + 1]), self._counts)

    def degrees(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of types that each source type and each target type co-occurs with."""
        found = (np.zeros(self.types[0], np.int64), np.zeros(self.types[1], np.int64))
        for _, keys in self._ranges():
            for side, types in enumerate(_entries(keys).T):
                found[side][:] += np.bincount(types, minlength=self.types[side])
        return found

    def maximize(self, update: Callable[[Cooccurrence], None]) -> None:
        """Set the probabilities of all pairs by a function that does so for a table with counts."""
        for cuts, keys in self._ranges():
            table = table_of(_entries(keys), self.types[0], self.fields)
            for rows in cuts:
                self._load(table, rows, self._counts)
            update(table)
            for rows in cuts:
                self._store(table, rows, self._probabilities)

    def whole(self, degrees: NDArray[np.int64]) -> Cooccurrence:
        """Return the table of all pairs without counts, mapped from a temporary file."""
        starts = row_starts(degrees)
        slots = SpilledColumn(np.dtype([("target", np.int32), *PROBABILITIES]), rows=int(starts[-1])).mapped()
        table = Cooccurrence(starts, slots)
        for first in range(0, len(slots), self.rows):
            table.targets[first : first + self.rows] = EMPTY
        for cuts, keys in self._ranges():
            fill_rows(keys, starts, table.targets)
            for rows in cuts:
                self._load(table, rows, self._probabilities)
        return table

    def _ranges(self) -> Iterator[tuple[list[slice], NDArray[np.int64]]]:
        """Yield ranges of pairs: their rows in each run, and the distinct pairs, sorted."""
        for cuts in cut_runs(self._keys, self._starts, self.rows):
            yield cuts, np.unique(np.concatenate([self._keys.read(rows) for rows in cuts]))

    def _load(self, table: Cooccurrence, rows: slice, names: list[str]) -> None:
        """Set fields of a table; counts are added."""
        slots = table.find(_entries(self._keys.read(rows)))
        for name in names:
            before = table.slots[name][slots] if name in self._counts else 0
            table.slots[name][slots] = before + self._columns[name].read(rows)

    def _store(self, table: Cooccurrence, rows: slice, names: list[str]) -> None:
        slots = table.find(_entries(self._keys.read(rows)))
        for name in names:
            self._columns[name].write(rows.start, table.slots[name][slots])


def _entries(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """(m, 2) source and target type of each key."""
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)
