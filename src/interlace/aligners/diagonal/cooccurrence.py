"""A table of the pairs of word types that co-occur in sentence pairs; its size depends on the vocabulary, not the text.

Each source type has a row of slots, a small hash table of the target types it co-occurs with. A slot is a record of the
target type and of the numbers kept for the pair, adjacent in memory, because fetching slots from memory takes most of
the time. There are 1.5 slots per pair, which keeps searches short.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from interlace.core.kernels import compiled, inner
from interlace.core.ragged import Int32Array, IntArray, Ragged

Types = Int32Array
Slots = IntArray
# rows of source and target types, int32, numbered as in the table
Sides = tuple[Ragged, Ragged]

EMPTY = -1
SLOT = np.dtype(
    [
        ("count", np.int64),
        ("forward", np.float32),
        ("backward", np.float32),
        ("target", np.int32),
    ],
    align=True,
)
_SETS = 16  # sets of pairs, by the low bits of the source type, that are collected in parallel
_MIN_SIZE = 1 << 12  # slots of a new set
_MAX_LOAD = 0.6  # of a set, before it grows


@dataclass(frozen=True)
class Cooccurrence:
    """Pairs of types in rows by source type.

    starts: (source types + 1,) int64, the first slot of each row; every row has an empty slot, which ends searches.
    slots: (slots,) records; the field `target` is the target type, -1 in an empty slot.
    """

    starts: IntArray
    slots: NDArray[np.void]

    @classmethod
    def of(cls, sets: Sequence[Types], source_types: int) -> Cooccurrence:
        """Build a table of sets of (source type, target type), shape (n, 2) each, all distinct."""
        degrees = np.zeros(source_types, np.int64)
        for pairs in sets:
            degrees += np.bincount(pairs[:, 0], minlength=source_types)
        starts = np.zeros(source_types + 1, np.int64)
        np.cumsum(degrees + degrees // 2 + 1, out=starts[1:])
        table = cls(starts, np.zeros(starts[-1], SLOT))
        table.targets[:] = EMPTY
        for pairs in sets:
            table.find(pairs)
        return table

    @classmethod
    def collect(
        cls, chunks: Iterable[Sides], prior: Types, source_types: int, pool: ThreadPoolExecutor
    ) -> Cooccurrence:
        """Build a table of the type pairs of a text.

        chunks: rows of both sides whose values begin at offset 0. prior: (m, 2) int32 further pairs.
        """
        sets = [np.full(_MIN_SIZE, EMPTY, np.int64) for _ in range(_SETS)]
        one_word_each = np.arange(len(prior) + 1)
        source_prior, target_prior = np.ascontiguousarray(prior.T, np.int32)
        sides = (Ragged(source_prior, one_word_each), Ragged(target_prior, one_word_each))
        for source, target in chain([sides], chunks):
            rows = (source.values, source.offsets, target.values, target.offsets)
            jobs = [
                pool.submit(_collect, *rows, number, keys) for number, keys in enumerate(sets)
            ]
            sets = [job.result() for job in jobs]
        pairs = []
        for keys in sets:
            used = keys[keys != EMPTY]
            pairs.append(np.stack([used >> 32, used & 0xFFFFFFFF], axis=1).astype(np.int32))
        return cls.of(pairs, source_types)

    @property
    def targets(self) -> Int32Array:
        """(slots,) the target types, as a view."""
        return self.slots["target"]

    def degrees(self, target_types: int) -> tuple[IntArray, IntArray]:
        """Return the number of types that each source type and each target type co-occurs with."""
        is_used = self.targets >= 0  # (slots,)
        of_targets = np.bincount(self.targets[is_used], minlength=target_types)
        used_before = np.concatenate([[0], np.cumsum(is_used)])
        return np.diff(used_before[self.starts]), of_targets

    def find(self, pairs: Types) -> IntArray:
        """(m,) the slot of each (source type, target type); a new pair takes an empty one."""
        slots = np.empty(len(pairs), np.int64)
        _find(self.starts, self.targets, np.ascontiguousarray(pairs, np.int32), slots)
        return slots


def entries_of(starts: IntArray, targets: Types) -> tuple[Types, IntArray]:
    """Return (m, 2) all pairs of a table, sorted, and (m,) their slots."""
    slots = np.flatnonzero(targets >= 0)
    sources = np.searchsorted(starts, slots, side="right") - 1
    entries = np.stack([sources.astype(np.int32), targets[slots]], axis=1)
    order = np.lexsort((entries[:, 1], entries[:, 0]))
    return entries[order], slots[order]


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


@inner
def _position(keys: Slots, key: int) -> int:
    """Return the position of a key in a set, whose size is a power of two, or of the empty slot for it."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    position = int(np.int64((mixed >> np.uint64(32)) & np.uint64(len(keys) - 1)))
    while keys[position] != EMPTY and keys[position] != key:
        position = (position + 1) & (len(keys) - 1)
    return position


@compiled
def _collect(
    source: Types,
    source_offsets: Slots,
    target: Types,
    target_offsets: Slots,
    number: int,
    keys: Slots,
) -> Slots:
    """Add the type pairs of one set to its keys, source << 32 | target; return them, enlarged if needed."""
    used = 0
    for key in keys:
        if key != EMPTY:
            used += 1
    for row in range(len(source_offsets) - 1):
        target_words = target_offsets[row + 1] - target_offsets[row]
        for i in range(source_offsets[row], source_offsets[row + 1]):
            source_type = source[i]
            if source_type & (_SETS - 1) != number:
                continue
            while used + target_words > _MAX_LOAD * len(keys):
                keys = _enlarged(keys)
            high = np.int64(source_type) << 32
            for j in range(target_offsets[row], target_offsets[row + 1]):
                key = high | target[j]
                position = _position(keys, key)
                if keys[position] == EMPTY:
                    keys[position] = key
                    used += 1
    return keys


@inner
def _enlarged(keys: Slots) -> Slots:
    larger = np.full(2 * len(keys), EMPTY, np.int64)
    for key in keys:
        if key != EMPTY:
            position = _position(larger, key)
            larger[position] = key
    return larger


@inner
def first_slot(low: int, high: int, target: int) -> int:
    """Return the slot where the search for a target type begins in the row of slots low to high.

    Each row is an open-addressing table; the high half of a product distributes types over any number of slots without
    a division.
    """
    mixed = (np.uint64(target) * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)
    return low + int(np.int64((mixed * np.uint64(high - low)) >> np.uint64(32)))


@inner
def slot_from(slot: int, low: int, high: int, targets: Types, target: int) -> int:
    """Return the slot of a target type in a row, or the empty slot for it, searching from `slot` on."""
    while targets[slot] != target and targets[slot] != EMPTY:
        slot += 1
        if slot == high:
            slot = low
    return slot


@inner
def place_in_row(starts: Slots, targets: Types, source: int, target: int) -> int:
    """Return the slot of a type pair, or the empty slot for it."""
    low = starts[source]
    high = starts[source + 1]
    slot = first_slot(low, high, target)
    return slot_from(slot, low, high, targets, target)


@compiled
def _find(starts: Slots, targets: Types, pairs: Types, slots: Slots) -> None:
    """Fill in the slot of each (source type, target type), which it occupies from now on."""
    for number in range(len(pairs)):
        source = pairs[number, 0]
        target = pairs[number, 1]
        slot = place_in_row(starts, targets, source, target)
        targets[slot] = target
        slots[number] = slot
