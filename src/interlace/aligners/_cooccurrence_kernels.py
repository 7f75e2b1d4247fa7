"""Compiled loops over word types that stand in the same pair: collecting them, placing them, finding them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

PARTS = 16  # sets of pairs, by the low bits of the source type, that are collected side by side
EMPTY = -1
_FULL = 0.6  # of a set, before it grows


def _add_atomically(_typing: Any, array: Any, place: Any, value: Any) -> Any:  # noqa: ARG001 - their types are given below
    """array[place] += value as one step that threads cannot tear; array: (n,) int64.

    Whole numbers may be added in any order, so sums are the same for any number of threads.
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
def _place_in_set(keys: NDArray[np.int64], key: int) -> int:
    """Where a key stands in an open-addressing set whose size is a power of two, or where it would go."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    place = int(np.int64((mixed >> np.uint64(32)) & np.uint64(len(keys) - 1)))
    while keys[place] != EMPTY and keys[place] != key:
        place = (place + 1) & (len(keys) - 1)
    return place


@njit(cache=True, nogil=True)
def _grown(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    wider = np.full(2 * len(keys), EMPTY, np.int64)
    for key in keys:
        if key != EMPTY:
            wider[_place_in_set(wider, key)] = key
    return wider


@njit(cache=True, nogil=True)
def collect(
    source: NDArray[np.int32],
    source_offsets: NDArray[np.int64],
    target: NDArray[np.int32],
    target_offsets: NDArray[np.int64],
    part: int,
    keys: NDArray[np.int64],
    used: int,
) -> tuple[NDArray[np.int64], int]:
    """Add the type pairs (source << 32 | target) of one part to its set; the set, perhaps grown, and its size."""
    for row in range(len(source_offsets) - 1):
        for i in range(source_offsets[row], source_offsets[row + 1]):
            if source[i] & (PARTS - 1) != part:
                continue
            high = np.int64(source[i]) << 32
            for j in range(target_offsets[row], target_offsets[row + 1]):
                place = _place_in_set(keys, high | target[j])
                if keys[place] == EMPTY:
                    keys[place] = high | target[j]
                    used += 1
            if used > _FULL * len(keys):
                keys = _grown(keys)
    return keys, used


@njit(cache=True, nogil=True)
def count_rows(keys: NDArray[np.int64], degrees: NDArray[np.int64]) -> None:
    """Add to degrees how many target types each source type of a set has; parts touch different rows."""
    for key in keys:
        if key != EMPTY:
            degrees[key >> 32] += 1


@njit(cache=True, nogil=True)
def first_slot(low: int, high: int, target: int) -> int:
    """Where the search for a target type begins in the row of slots low to high.

    A row is an open-addressing table of its own; the high half of a product spreads types over any number of slots
    without a division.
    """
    mixed = (np.uint64(target) * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)
    return low + int(np.int64((mixed * np.uint64(high - low)) >> np.uint64(32)))


@njit(cache=True, nogil=True)
def slot_from(slot: int, low: int, high: int, targets: NDArray[np.int32], target: int) -> int:
    """The slot of a target type in a row, or the empty slot where it would go, searched for from a slot on."""
    while targets[slot] != target and targets[slot] != EMPTY:
        slot += 1
        if slot == high:
            slot = low
    return slot


@njit(cache=True, nogil=True)
def place_in_row(starts: NDArray[np.int64], targets: NDArray[np.int32], source: int, target: int) -> int:
    """The slot of a type pair, or the empty slot where it would go."""
    low, high = starts[source], starts[source + 1]
    return slot_from(first_slot(low, high, target), low, high, targets, target)


@njit(cache=True, nogil=True)
def fill_rows(keys: NDArray[np.int64], starts: NDArray[np.int64], targets: NDArray[np.int32]) -> None:
    """Put the pairs of a set into their rows; parts touch different rows."""
    for key in keys:
        if key != EMPTY:
            target = int(key & 0xFFFFFFFF)
            targets[place_in_row(starts, targets, key >> 32, target)] = target


@njit(cache=True, nogil=True)
def find(
    starts: NDArray[np.int64],
    targets: NDArray[np.int32],
    entries: NDArray[np.int32],
    slots: NDArray[np.int64],
) -> None:
    """The slot of each (source type, target type); all are there."""
    for entry in range(len(entries)):
        slots[entry] = place_in_row(starts, targets, entries[entry, 0], entries[entry, 1])
