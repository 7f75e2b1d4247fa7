"""The type pairs of `diagonal` on disk, when they exceed the memory limit.

Each part of the text has a run: its type pairs, sorted, with their probabilities and counts. A pass over a part needs
only its run; new probabilities need all counts of a pair, which are merged range by range. Counts are integers and
probabilities are computed from their sums, so that results equal those of one table in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    table_of,
)
from interlace.alignment.spill import Column, cut_runs

_PROBABILITIES = dict(PROBABILITIES)


@dataclass
class SpilledPairs:
    """Runs of sorted type pairs, one after the other.

    types: number of source and of target types. fields: the counts and probabilities of a slot. rows: pairs that are
    merged at a time. starts: the first row of each run, and the number of rows. chunks: the chunks of each part.
    """

    types: tuple[int, int]
    fields: Fields
    rows: int
    starts: list[int] = field(default_factory=lambda: [0])
    chunks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._keys = Column(np.int64)
        self._columns = {name: Column(kind) for name, kind in self.fields}

    def add(self, sets: list[NDArray[np.int64]], chunks: int, probability: float) -> None:
        """Add the run of the next part of the text, with equal probabilities."""
        keys = np.sort(np.concatenate([keys[keys != EMPTY] for keys in sets]))
        self._keys.append(keys)
        for name, column in self._columns.items():
            column.append(np.full(len(keys), probability if name in _PROBABILITIES else 0))
        self.starts.append(self.starts[-1] + len(keys))
        self.chunks.append(chunks)

    def run(self, part: int) -> Cooccurrence:
        """Return the table of a part, with probabilities and without counts."""
        rows = slice(self.starts[part], self.starts[part + 1])
        entries = _entries(self._keys.read(rows))
        table = table_of(entries, self.types[0], self.fields)
        slots = table.find(entries)
        for name, _ in PROBABILITIES:
            table.slots[name][slots] = self._columns[name].read(rows)
        return table

    def store(self, part: int, table: Cooccurrence) -> None:
        """Store the counts of a part."""
        rows = slice(self.starts[part], self.starts[part + 1])
        self._copy(table, table.find(_entries(self._keys.read(rows))), rows, counts=True)

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
            slots = [table.find(_entries(self._keys.read(rows))) for rows in cuts]
            for places, rows in zip(slots, cuts, strict=True):
                for name, column in self._columns.items():
                    if name not in _PROBABILITIES:
                        table.slots[name][places] += column.read(rows)
            update(table)
            for places, rows in zip(slots, cuts, strict=True):
                self._copy(table, places, rows, counts=False)

    def whole(self, degrees: NDArray[np.int64]) -> Cooccurrence:
        """Return the table of all pairs without counts, mapped from a temporary file."""
        starts = row_starts(degrees)
        slots = Column(np.dtype([("target", np.int32), *PROBABILITIES]), rows=int(starts[-1])).mapped()
        table = Cooccurrence(starts, slots)
        for first in range(0, len(slots), self.rows):
            table.targets[first : first + self.rows] = EMPTY
        for cuts, keys in self._ranges():
            fill_rows(keys, starts, table.targets)
            for rows in cuts:
                places = table.find(_entries(self._keys.read(rows)))
                for name, _ in PROBABILITIES:
                    slots[name][places] = self._columns[name].read(rows)
        return table

    def _ranges(self) -> Iterator[tuple[list[slice], NDArray[np.int64]]]:
        """Yield ranges of pairs: their rows in each run, and the distinct pairs, sorted."""
        for cuts in cut_runs(self._keys, self.starts, self.rows):
            yield cuts, np.unique(np.concatenate([self._keys.read(rows) for rows in cuts]))

    def _copy(self, table: Cooccurrence, slots: NDArray[np.int64], rows: slice, *, counts: bool) -> None:
        """Store counts or probabilities of a table as those of rows."""
        for name, column in self._columns.items():
            if counts is (name not in _PROBABILITIES):
                column.write(rows.start, table.slots[name][slots])


def _entries(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """(m, 2) source and target type of each key."""
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)
