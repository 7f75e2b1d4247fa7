"""A growing hash table that numbers pairs of integers exactly, in compiled code: word types, or nodes of a trie.

A table has room for `len(keys)` numbers; 0 stands for no pair. `slots` is open addressing with twice as many slots.
Kernels take the arrays of a table one by one: taking one out of a tuple counts a reference, which costs more than a
search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from interlace.core.kernels import compiled, inner
from interlace.core.ragged import Int32Array, IntArray

# 2**64 / golden ratio (Knuth, The Art of Computer Programming, 6.4)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIN_SIZE = 1 << 12


class PairTable(NamedTuple):
    """Numbers of pairs, in the order in which they were added, from 1. A pair takes 16 to 32 bytes.

    slots: (2 * size,) int32 the number in each slot, 0 in an empty one; the size is a power of two.
    keys: (size,) int64 the pair of each number, first << 32 | second.
    used: (1,) int64 the next number.
    """

    slots: Int32Array
    keys: IntArray
    used: IntArray

    @classmethod
    def empty(cls) -> PairTable:
        """Return a table without pairs."""
        keys = np.full(_MIN_SIZE, -1, np.int64)
        return cls(np.zeros(2 * _MIN_SIZE, np.int32), keys, np.ones(1, np.int64))

    @classmethod
    def of(cls, pairs: Int32Array) -> PairTable:
        """Number distinct pairs, shape (n, 2), in their order."""
        if not len(pairs):
            return cls.empty()  # without compiling the loop
        columns = np.ascontiguousarray(pairs.T, np.int32)
        return _add_all(cls.empty(), columns[0], columns[1])

    def pairs(self) -> Int32Array:
        """(n, 2) the pairs in the order of their numbers, from that of number 1."""
        keys = self.keys[1 : self.used[0]]
        return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


@inner
def key_of(first: int, second: int) -> np.int64:
    """Return a pair as one integer."""
    return (np.int64(first) << 32) | np.int64(second)


@inner
def _slot(slots: Int32Array, keys: IntArray, key: np.int64) -> np.int64:
    """Return the slot of a key, or the empty slot for it."""
    mixed = np.uint64(key) * _ODD
    slot = np.int64(mixed >> np.uint64(32)) & (len(slots) - 1)
    while slots[slot] != 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@inner
def number_of(slots: Int32Array, keys: IntArray, first: int, second: int) -> int:
    """Return the number of a pair, 0 if the table lacks it."""
    return int(slots[_slot(slots, keys, key_of(first, second))])


@inner
def add(
    slots: Int32Array,
    keys: IntArray,
    used: IntArray,
    first: int,
    second: int,
) -> int:
    """Return the number of a pair, a new one if needed; the table must have room for it."""
    key = key_of(first, second)
    slot = _slot(slots, keys, key)
    if slots[slot] == 0:
        slots[slot] = used[0]
        keys[used[0]] = key
        used[0] += 1
    return int(slots[slot])


@inner
def with_room(table: PairTable, pairs: int) -> PairTable:
    """Return the table, or a larger copy if it lacks room for so many new pairs."""
    size = len(table.keys)
    used = table.used[0]
    if used + pairs <= size:
        return table
    while used + pairs > size:
        size *= 2
    slots = np.zeros(2 * size, np.int32)
    keys = np.empty(size, np.int64)
    keys[0] = -1
    for number in range(1, used):
        key = table.keys[number]
        keys[number] = key
        slots[_slot(slots, keys, key)] = number
    return PairTable(slots, keys, table.used)


@compiled
def _add_all(table: PairTable, first: Int32Array, second: Int32Array) -> PairTable:
    table = with_room(table, len(first))
    for row in range(len(first)):
        add(table.slots, table.keys, table.used, first[row], second[row])
    return table
