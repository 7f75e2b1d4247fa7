"""A table of the pairs of word types that co-occur in sentence pairs; its size depends on the vocabulary, not the text.

Each source type has a row of slots, a small hash table of the target types it co-occurs with. A slot is a record of the
target type and of the numbers kept for the pair, adjacent in memory, because fetching slots from memory takes most of
the time. There are 1.5 slots per pair, which keeps searches short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from interlace.alignment.spill import SortedRuns, SpilledColumn
from interlace.core.ragged import Ragged

Types = NDArray[np.int32]
Slots = NDArray[np.int64]
Sides = tuple[Ragged, Ragged]  # rows of source and target types, int32, numbered as in the table

EMPTY = -1
MODEL_SLOT = np.dtype([("target", np.int32), ("forward", np.float32), ("backward", np.float32)])
TRAINING_SLOT = np.dtype(
    [("count", np.int64), ("forward", np.float32), ("backward", np.float32), ("target", np.int32)],
    align=True,
)
_KEY = np.dtype([("key", np.int64)])  # source type << 32 | target type
_SETS = 16  # sets of pairs, by the low bits of the source type, that are collected in parallel
_MIN_SIZE = 1 << 12  # slots of a new set
_MAX_LOAD = 0.6  # of a set, before it grows
_WORDS = 1 << 10  # target words added before a set may grow, so that it is never full
_BLOCK = 1 << 20  # slots of rows that are counted at a time


@dataclass(frozen=True)
class Cooccurrence:
    """Pairs of types in rows by source type.

    starts: (source types + 1,) int64, the first slot of each row; every row has an empty slot, which ends searches.
    slots: (slots,) records; the field `target` is the target type, -1 in an empty slot.
    """

    starts: NDArray[np.int64]
    slots: NDArray[np.void]

    @classmethod
    def of(
        cls, sets: Sequence[Slots], source_types: int, slot: np.dtype[Any], pool: ThreadPoolExecutor
    ) -> Cooccurrence:
        """Build a table of sets of keys that share no source type."""
        degrees = np.sum([_count_sources(keys, source_types) for keys in sets], axis=0)
        starts = _row_starts(degrees)
        table = cls(starts, np.zeros(starts[-1], slot))
        table.targets[:] = EMPTY
        list(pool.map(table.fill, sets))
        return table

    @classmethod
    def of_entries(cls, entries: Types, source_types: int, slot: np.dtype[Any]) -> Cooccurrence:
        """Build a table of known pairs: (m, 2) source and target type, without duplicates."""
        keys = (entries[:, 0].astype(np.int64) << 32) | entries[:, 1]
        with ThreadPoolExecutor(1) as pool:
            return cls.of([keys], source_types, slot, pool)

    @property
    def targets(self) -> NDArray[np.int32]:
        """(slots,) the target types, as a view."""
        targets: NDArray[np.int32] = self.slots["target"]
        return targets

    def fill(self, keys: Slots) -> None:
        """Insert pairs into their rows."""
        _fill_rows(keys, self.starts, self.targets)

    def degrees(self, target_types: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of types that each source type and each target type co-occurs with."""
        of_sources = np.zeros(len(self.starts) - 1, np.int64)
        of_targets = np.zeros(target_types, np.int64)
        rows = np.searchsorted(self.starts, np.arange(0, len(self.slots) + _BLOCK, _BLOCK))
        for first, last in pairwise(np.unique(rows.clip(max=len(of_sources))).tolist()):
            starts = self.starts[first:last]
            targets = self.targets[starts[0] : self.starts[last]]
            of_sources[first:last] = np.add.reduceat(
                targets >= 0, starts - starts[0], dtype=np.int64
            )
            of_targets += np.bincount(targets[targets >= 0], minlength=target_types)
        return of_sources, of_targets

    def find(self, entries: Types) -> NDArray[np.int64]:
        """(m,) the slot of each (source type, target type); all must be in the table."""
        slots = np.empty(len(entries), np.int64)
        _find(self.starts, self.targets, np.ascontiguousarray(entries, np.int32), slots)
        return slots

    def without_counts(self, *, on_disk: bool) -> Cooccurrence:
        """Return the table with the slots of a trained model, in memory or mapped from a temporary file."""
        size = len(self.slots)
        slots = (
            SpilledColumn(MODEL_SLOT, rows=size).mapped() if on_disk else np.empty(size, MODEL_SLOT)
        )
        for name in MODEL_SLOT.names or ():
            slots[name] = self.slots[name]
        return Cooccurrence(self.starts, slots)


def entries_of(starts: NDArray[np.int64], targets: Types) -> tuple[Types, NDArray[np.int64]]:
    """Return (m, 2) all pairs of a table, sorted, and (m,) their slots."""
    slots = np.flatnonzero(targets >= 0)
    sources = (np.searchsorted(starts, slots, side="right") - 1).astype(np.int32)
    order = np.lexsort((targets[slots], sources))
    slots = slots[order]
    return np.stack([sources[order], targets[slots]], axis=1), slots


# ---- collecting the pairs of a text ----


@dataclass
class CollectedPairs:
    """The type pairs of a text for training: in one table in memory or, if there are too many, also in parts on disk.

    A pass over a part of the text then works on a table in memory of that part's pairs: its probabilities come from the
    table of all pairs, which is mapped from a file, and its counts are added to it. Both are in the order of source
    types, so that the file is read from its beginning to its end. Counts are integers, so results equal those of one
    table in memory.

    table: all pairs. chunks: the number of chunks of the text in each part.
    runs: the pairs of each part; None: in memory.
    """

    table: Cooccurrence
    chunks: list[int]
    runs: SortedRuns | None = None

    @classmethod
    def collect(
        cls,
        chunks: Iterable[Sides],
        prior: Types,
        source_types: int,
        limit: int,
        pool: ThreadPoolExecutor,
    ) -> CollectedPairs:
        """Collect the pairs of a text, in parts of at most `limit` pairs or a chunk.

        chunks: rows of both sides whose values begin at offset 0. prior: (m, 2) int32 further pairs.
        """
        runs = SortedRuns(_KEY)
        sizes = []
        sets: list[Slots] = []
        for sets, size, is_last in _collect_parts(chunks, prior, limit, pool):
            sizes.append(size)
            if is_last and len(sizes) == 1:
                return cls(Cooccurrence.of(sets, source_types, TRAINING_SLOT, pool), sizes)
            runs.add(np.sort(np.concatenate(sets)).view(_KEY))
        return cls(_table_on_disk(runs, source_types, limit // 2 + 1), sizes, runs)

    @property
    def on_disk(self) -> bool:
        """Whether the pairs exceeded the limit."""
        return self.runs is not None

    def parts(self) -> Iterator[tuple[Cooccurrence, int]]:
        """Yield the table of each part without counts, and its number of chunks; the counts set are kept."""
        if self.runs is None:
            yield self.table, self.chunks[0]
            return
        for number, size in enumerate(self.chunks):
            keys = self.runs.read(number)["key"]
            entries = np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)
            part = Cooccurrence.of_entries(entries, len(self.table.starts) - 1, TRAINING_SLOT)
            whole_slots = self.table.find(entries)
            part_slots = part.find(entries)
            for name in ("forward", "backward"):
                part.slots[name][part_slots] = self.table.slots[name][whole_slots]
            yield part, size
            self.table.slots["count"][whole_slots] += part.slots["count"][part_slots]


def _collect_parts(
    chunks: Iterable[Sides], prior: Types, limit: int, pool: ThreadPoolExecutor
) -> Iterator[tuple[list[Slots], int, bool]]:
    """Yield the keys of a part in sets that share no source type, its number of chunks, and whether it is the last."""
    sets = _empty_sets()

    def add_pairs(source: Ragged, target: Ragged) -> None:
        sides = (source.values, source.offsets, target.values, target.offsets)
        jobs = [pool.submit(_collect, *sides, number, keys) for number, keys in enumerate(sets)]
        sets[:] = [job.result() for job in jobs]

    one_word_each = np.arange(len(prior) + 1)
    source_types, target_types = np.ascontiguousarray(prior.T, np.int32)
    add_pairs(Ragged(source_types, one_word_each), Ragged(target_types, one_word_each))
    size = 0
    for source, target in chunks:
        if size and sum(np.count_nonzero(keys != EMPTY) for keys in sets) > limit:
            yield [keys[keys != EMPTY] for keys in sets], size, False
            sets[:] = _empty_sets()
            size = 0
        add_pairs(source, target)
        size += 1
    yield [keys[keys != EMPTY] for keys in sets], size, True


def _empty_sets() -> list[Slots]:
    return [np.full(_MIN_SIZE, EMPTY, np.int64) for _ in range(_SETS)]


def _table_on_disk(runs: SortedRuns, source_types: int, rows: int) -> Cooccurrence:
    """Return a table of all pairs of all parts, mapped from a temporary file. rows: pairs that are merged at a time."""
    degrees = np.zeros(source_types, np.int64)
    for records in runs.merged(rows):
        degrees += _count_sources(np.unique(records["key"]), source_types)
    starts = _row_starts(degrees)
    table = Cooccurrence(starts, SpilledColumn(TRAINING_SLOT, rows=int(starts[-1])).mapped())
    table.targets[:] = EMPTY
    for number in range(len(runs)):
        table.fill(runs.read(number)["key"])
    return table


def _count_sources(keys: Slots, source_types: int) -> NDArray[np.int64]:
    """(source types,) the number of keys of each source type."""
    return np.bincount(keys >> 32, minlength=source_types)


def _row_starts(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first slot of each row for rows of so many pairs, and the number of slots."""
    starts = np.zeros(len(degrees) + 1, np.int64)
    np.cumsum(degrees + degrees // 2 + 1, out=starts[1:])
    return starts


# ---- kernels ----


def _add_atomically(_typing: Any, array: Any, place: Any, value: Any) -> Any:  # noqa: ARG001 - types of the arguments
    """Do array[place] += value atomically; array: (n,) int64.

    Integer sums do not depend on their order, so results are the same for any number of threads.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        struct = cast("Any", make_array)(kind)(context, builder, arguments[0])
        pointer = cast("Any", cgutils).get_item_pointer(
            context, builder, kind, struct, [arguments[1]], wraparound=False
        )
        builder.atomic_rmw("add", pointer, arguments[2], "monotonic")
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


add_atomically: Any = intrinsic(_add_atomically)


@njit(cache=True, nogil=True)
def _position(keys: Slots, key: int) -> int:
    """Return the position of a key in a set, whose size is a power of two, or of the empty slot for it."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    position = int(np.int64((mixed >> np.uint64(32)) & np.uint64(len(keys) - 1)))
    while keys[position] != EMPTY and keys[position] != key:
        position = (position + 1) & (len(keys) - 1)
    return position


@njit(cache=True, nogil=True)
def _collect(
    source: Types,
    source_offsets: Slots,
    target: Types,
    target_offsets: Slots,
    number: int,
    keys: Slots,
) -> Slots:
    """Add the type pairs of one set to its keys; return them, enlarged if needed."""
    used = np.count_nonzero(keys != EMPTY)
    for row in range(len(source_offsets) - 1):
        for first in range(target_offsets[row], target_offsets[row + 1], _WORDS):
            last = min(first + _WORDS, target_offsets[row + 1])
            for i in range(source_offsets[row], source_offsets[row + 1]):
                if source[i] & (_SETS - 1) != number:
                    continue
                high = np.int64(source[i]) << 32
                for j in range(first, last):
                    position = _position(keys, high | target[j])
                    if keys[position] == EMPTY:
                        keys[position] = high | target[j]
                        used += 1
                if used > _MAX_LOAD * len(keys):
                    keys = _enlarged(keys)
    return keys


@njit(cache=True, nogil=True)
def _enlarged(keys: Slots) -> Slots:
    larger = np.full(2 * len(keys), EMPTY, np.int64)
    for key in keys:
        if key != EMPTY:
            larger[_position(larger, key)] = key
    return larger


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
def _fill_rows(keys: Slots, starts: Slots, targets: Types) -> None:
    """Insert the pairs of a set into their rows; sets have different rows."""
    for key in keys:
        target = int(key & 0xFFFFFFFF)
        targets[place_in_row(starts, targets, key >> 32, target)] = target


@njit(cache=True, nogil=True)
def _find(starts: Slots, targets: Types, entries: Types, slots: Slots) -> None:
    """Fill in the slot of each (source type, target type); all are in the table."""
    for entry in range(len(entries)):
        slots[entry] = place_in_row(starts, targets, entries[entry, 0], entries[entry, 1])
