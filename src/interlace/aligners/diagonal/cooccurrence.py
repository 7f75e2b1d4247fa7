"""A table of the pairs of word types that co-occur in sentence pairs; its size depends on the vocabulary, not the text.

Each source type has a row of slots, a small hash table of the target types it co-occurs with. A slot is a record of the
target type and of the numbers kept for the pair, adjacent in memory, because fetching slots from memory takes most of
the time. There are 1.5 slots per pair, which keeps searches short.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from interlace.alignment.spill import SpilledColumn, cut_runs
from interlace.core.ragged import Ragged

Types = NDArray[np.int32]
Slots = NDArray[np.int64]

Fields = list[tuple[str, type[np.generic]]]
Sides = tuple[Ragged, Ragged]  # rows of source and target types, int32, numbered as in the table

PROBABILITIES: Fields = [("forward", np.float32), ("backward", np.float32)]  # of a slot
PARTS = 16  # sets of pairs, by the low bits of the source type, that are collected in parallel
EMPTY = -1
_MAX_LOAD = 0.6  # of a set, before it grows
_SMALLEST, _WORDS = 1 << 12, 1 << 10  # slots of a new set; target words added before it may grow, so never full
_BLOCK = 1 << 20  # slots of rows that are counted at a time


@dataclass(frozen=True)
class Cooccurrence:
    """Pairs of types in rows by source type.

    starts: (source types + 1,) int64, the first slot of each row; every row has an empty slot, which ends searches.
    slots: (slots,) records; the field `target` is the target type, -1 in an empty slot.
    """

    starts: NDArray[np.int64]
    slots: NDArray[np.void]

    @property
    def targets(self) -> NDArray[np.int32]:
        """(slots,) the target types, as a view."""
        targets: NDArray[np.int32] = self.slots["target"]
        return targets

    def degrees(self, target_types: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of types that each source type and each target type co-occurs with."""
        of_sources, of_targets = np.zeros(len(self.starts) - 1, np.int64), np.zeros(target_types, np.int64)
        blocks = np.searchsorted(self.starts, np.arange(0, len(self.slots) + _BLOCK, _BLOCK))
        for first, last in pairwise(np.unique(blocks.clip(max=len(of_sources))).tolist()):
            targets, starts = self.targets[self.starts[first] : self.starts[last]], self.starts[first:last]
            of_sources[first:last] = np.add.reduceat(targets >= 0, starts - starts[0], dtype=np.int64)
            of_targets += np.bincount(targets[targets >= 0], minlength=target_types)
        return of_sources, of_targets

    def find(self, entries: NDArray[np.int32]) -> NDArray[np.int64]:
        """(m,) the slot of each (source type, target type); all must be in the table."""
        slots = np.empty(len(entries), np.int64)
        _find(self.starts, self.targets, np.ascontiguousarray(entries, np.int32), slots)
        return slots


def entries_of(starts: NDArray[np.int64], targets: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return (m, 2) all pairs of a table, sorted, and (m,) their slots."""
    slots = np.flatnonzero(targets >= 0)
    sources = (np.searchsorted(starts, slots, side="right") - 1).astype(np.int32)
    order = np.lexsort((targets[slots], sources))
    slots = slots[order]
    return np.stack([sources[order], targets[slots]], axis=1), slots


def collect(
    chunks: Iterable[Sides], extra: NDArray[np.int32], pool: ThreadPoolExecutor, limit: int
) -> Iterator[tuple[int, list[NDArray[np.int64]], bool]]:
    """Collect all type pairs of a text that comes in chunks, in parts of at most `limit` pairs or a chunk.

    chunks: rows of both sides whose values begin at offset 0.
    extra: (m, 2) int32 pairs of types to add to the first part.

    Yields:
        The number of chunks of a part, its pairs, in sets that share no source type, and whether it is the last part.
    """
    columns = [Ragged(np.ascontiguousarray(column, np.int32), np.arange(len(extra) + 1)) for column in extra.T]

    def nothing() -> list[tuple[Slots, int]]:
        return [(np.full(_SMALLEST, EMPTY, np.int64), 0) for _ in range(PARTS)]

    sets, done = nothing(), -1
    for source, target in chain([(columns[0], columns[1])], chunks):  # added pairs as sentence pairs of one word each
        if done and sum(used for _, used in sets) > limit:
            yield done, [keys for keys, _ in sets], False
            sets, done = nothing(), 0
        sides = (source.values, source.offsets, target.values, target.offsets)
        jobs = [pool.submit(_collect, *sides, part, *sets[part]) for part in range(PARTS)]
        sets, done = [job.result() for job in jobs], done + 1
    yield done, [keys for keys, _ in sets], True


def table_of(entries: NDArray[np.int32], source_types: int, fields: Fields) -> Cooccurrence:
    """Build the table of known pairs: (m, 2) source and target type, without duplicates."""
    keys = (entries[:, 0].astype(np.int64) << 32) | entries[:, 1]
    with ThreadPoolExecutor(1) as pool:
        return in_rows([keys], source_types, fields, pool)


def in_rows(sets: list[NDArray[np.int64]], source_types: int, fields: Fields, pool: ThreadPoolExecutor) -> Cooccurrence:
    """Build a table of sets that share no source type; see `slot_type`."""
    degrees = np.zeros(source_types, np.int64)
    list(pool.map(lambda keys: _count_rows(keys, degrees), sets))
    starts = row_starts(degrees)
    table = Cooccurrence(starts, np.zeros(starts[-1], slot_type(fields)))
    table.targets[:] = EMPTY
    list(pool.map(lambda keys: fill_rows(keys, starts, table.targets), sets))
    return table


def slot_type(fields: Fields) -> np.dtype[np.void]:
    """Return the type of a slot; fields: besides the target type, the widest first."""
    return np.dtype([*fields, ("target", np.int32)], align=True)


def row_starts(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first slot of each row for rows of so many pairs, and the number of slots."""
    starts = np.zeros(len(degrees) + 1, np.int64)
    np.cumsum(degrees + degrees // 2 + 1, out=starts[1:])
    return starts


def _add_atomically(_typing: Any, array: Any, place: Any, value: Any) -> Any:  # noqa: ARG001 - types of the arguments
    """Do array[place] += value atomically; array: (n,) int64.

    Integer sums do not depend on their order, so results are the same for any number of threads.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        where = cast("Any", make_array)(kind)(context, builder, arguments[0])
        pointer = cast("Any", cgutils).get_item_pointer(context, builder, kind, where, [arguments[1]], wraparound=False)
        builder.atomic_rmw("add", pointer, arguments[2], "monotonic")
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


add_atomically: Any = intrinsic(_add_atomically)


@njit(cache=True, nogil=True)
def _position(keys: Slots, key: int) -> int:
    """Return the position of a key in an open-addressing set whose size is a power of two, or of its empty slot."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    place = int(np.int64((mixed >> np.uint64(32)) & np.uint64(len(keys) - 1)))
    while keys[place] != EMPTY and keys[place] != key:
        place = (place + 1) & (len(keys) - 1)
    return place


@njit(cache=True, nogil=True)
def _collect(
    source: Types, source_offsets: Slots, target: Types, target_offsets: Slots, part: int, keys: Slots, used: int
) -> tuple[Slots, int]:
    """Add the type pairs (source << 32 | target) of one part to its set; return the set and its size."""
    for row in range(len(source_offsets) - 1):
        for first in range(target_offsets[row], target_offsets[row + 1], _WORDS):
            last = min(first + _WORDS, target_offsets[row + 1])
            for i in range(source_offsets[row], source_offsets[row + 1]):
                if source[i] & (PARTS - 1) != part:
                    continue
                high = np.int64(source[i]) << 32
                for j in range(first, last):
                    place = _position(keys, high | target[j])
                    if keys[place] == EMPTY:
                        keys[place] = high | target[j]
                        used += 1
                if used > _MAX_LOAD * len(keys):
                    wider = np.full(2 * len(keys), EMPTY, np.int64)
                    for key in keys:
                        if key != EMPTY:
                            wider[_position(wider, key)] = key
                    keys = wider
    return keys, used


@njit(cache=True, nogil=True)
def _count_rows(keys: Slots, degrees: Slots) -> None:
    """Add the number of target types of each source type of a set to `degrees`; parts have different rows."""
    for key in keys:
        if key != EMPTY:
            degrees[key >> 32] += 1


@njit(cache=True, nogil=True)
def first_slot(low: int, high: int, target: int) -> int:
    """Return the slot where the search for a target type begins in the row of slots low to high.

    Each row is an open-addressing table; the high half of a product distributes types over any number of slots without
    a division.
    """
    mixed = (np.uint64(target) * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)
    return low + int(np.int64((mixed * np.uint64(high - low)) >> np.uint64(32)))


@njit(cache=True, nogil=True)
def slot_from(slot: int, low: int, high: int, targets: Types, target: int) -> int:
    """Return the slot of a target type in a row, or the empty slot for it, searching from `slot` on."""
    while targets[slot] != target and targets[slot] != EMPTY:
        slot += 1
        if slot == high:
            slot = low
    return slot


@njit(cache=True, nogil=True)
def place_in_row(starts: Slots, targets: Types, source: int, target: int) -> int:
    """Return the slot of a type pair, or the empty slot for it."""
    low, high = starts[source], starts[source + 1]
    return slot_from(first_slot(low, high, target), low, high, targets, target)


@njit(cache=True, nogil=True)
def fill_rows(keys: Slots, starts: Slots, targets: Types) -> None:
    """Insert the pairs of a set into their rows; parts have different rows."""
    for key in keys:
        if key != EMPTY:
            target = int(key & 0xFFFFFFFF)
            targets[place_in_row(starts, targets, key >> 32, target)] = target


@njit(cache=True, nogil=True)
def _find(starts: Slots, targets: Types, entries: Types, slots: Slots) -> None:
    """Fill in the slot of each (source type, target type); all are in the table."""
    for entry in range(len(entries)):
        slots[entry] = place_in_row(starts, targets, entries[entry, 0], entries[entry, 1])


@dataclass
class SpilledPairs:
    """The type pairs of each part of a text, sorted, in temporary files, for tables that exceed the memory limit.

    A pass over a part of the text works on a table in memory of that part's pairs: its probabilities come from the
    table of all pairs, which is mapped from a file, and its counts are added to it. Both are in the order of source
    types, so that the file is read from its beginning to its end. Counts are integers, so results equal those of one
    table in memory.

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
        counts = [name for name, _ in self.fields if name not in dict(PROBABILITIES)]
        self._copy(self._entries(part), table, whole, counts)

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
