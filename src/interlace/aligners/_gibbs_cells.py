"""Compiled loops over the cells of pairs: numbering pairs of word types, turning cells round, posteriors to links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Posteriors(NamedTuple):
    """How likely each cell of a text is: by what target words draw, and by what source words draw.

    source_starts, target_starts: (n + 1,) the first word of each pair; cell_starts: its first cell.
    by_target: (cells,) rows by target word; by_source: (cells,) rows by source word.
    """

    source_starts: NDArray[np.int64]
    target_starts: NDArray[np.int64]
    cell_starts: NDArray[np.int64]
    by_target: NDArray[np.float32]
    by_source: NDArray[np.float32]


@njit(cache=True, nogil=True)
def _mean(posteriors: Any, first: int, sizes: tuple[int, int], i: int, j: int) -> np.float32:
    """The mean of both posteriors of a cell; sizes: source and target words of the pair."""
    by_target = posteriors.by_target[first + j * sizes[0] + i]
    mean: np.float32 = np.float32(0.5) * (by_target + posteriors.by_source[first + i * sizes[1] + j])
    return mean


@njit(cache=True, nogil=True)
def _sizes(posteriors: Any, row: int) -> tuple[int, int]:
    sources = posteriors.source_starts[row + 1] - posteriors.source_starts[row]
    return sources, posteriors.target_starts[row + 1] - posteriors.target_starts[row]


@njit(cache=True, nogil=True)
def key_of(by: int, to: int) -> np.uint64:
    """A pair of types as one number that is never 0, which marks an empty slot."""
    return ((np.uint64(by) << np.uint64(32)) | np.uint64(to)) + np.uint64(1)


@njit(cache=True, nogil=True)
def slot_of(keys: NDArray[np.uint64], key: np.uint64) -> np.uint64:
    """Where a key stands in an open-addressing table whose size is a power of two, or where it would go."""
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    most = np.uint64(len(keys) - 1)
    slot = mixed & most
    while keys[slot] != np.uint64(0) and keys[slot] != key:
        slot = (slot + np.uint64(1)) & most
    return slot


@njit(cache=True, nogil=True)
def widened(keys: NDArray[np.uint64], numbers: NDArray[np.uint32]) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """The same table in twice the size."""
    wider, moved = np.zeros(2 * len(keys), np.uint64), np.zeros(2 * len(keys), np.uint32)
    for old in range(len(keys)):
        if keys[old] != np.uint64(0):
            slot = slot_of(wider, keys[old])
            wider[slot], moved[slot] = keys[old], numbers[old]
    return wider, moved


@njit(cache=True, nogil=True)
def number_pairs(
    by: NDArray[np.int32],
    by_starts: NDArray[np.int64],
    to: NDArray[np.int32],
    to_starts: NDArray[np.int64],
    cells: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    numbers: NDArray[np.uint32],
    known: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], int]:
    """Number the type pairs of all cells in the order in which they are met, which keeps neighbours near in memory.

    known: how many are numbered already. Returns the table, grown where it had to be, and how many there are now.
    """
    cell = 0
    for row in range(len(by_starts) - 1):
        for j in range(to_starts[row], to_starts[row + 1]):
            while 2 * (known + by_starts[row + 1] - by_starts[row]) > len(keys):
                keys, numbers = widened(keys, numbers)
            for i in range(by_starts[row], by_starts[row + 1]):
                key = key_of(by[i], to[j])
                slot = slot_of(keys, key)
                if keys[slot] == np.uint64(0):
                    keys[slot], numbers[slot] = key, known
                    known += 1
                cells[cell] = numbers[slot]
                cell += 1
    return keys, numbers, known


@njit(cache=True, nogil=True)
def twins(types: NDArray[np.int32], starts: NDArray[np.int64], many: int) -> NDArray[np.int32]:
    """(words,) the place in its row of the next word of the same type, of the first after the last; many: types."""
    following = np.empty(len(types), np.int32)
    latest = np.full(many, -1, np.int64)
    for row in range(len(starts) - 1):
        for word in range(starts[row], starts[row + 1]):
            before = latest[types[word]]
            following[word] = word - starts[row]
            if before >= starts[row]:
                following[word], following[before] = following[before], following[word]
            latest[types[word]] = word
    return following


@njit(cache=True, nogil=True)
def turned(
    by_starts: NDArray[np.int64],
    to_starts: NDArray[np.int64],
    cell_starts: NDArray[np.int64],
    cells: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Cells in rows by word of `to` as cells in rows by word of `by`."""
    for row in range(len(by_starts) - 1):
        many, rows = by_starts[row + 1] - by_starts[row], to_starts[row + 1] - to_starts[row]
        first = cell_starts[row]
        for j in range(rows):
            for i in range(many):
                out[first + i * rows + j] = cells[first + j * many + i]


@njit(cache=True, nogil=True)
def likely(
    posteriors: Any, least: float, links: NDArray[np.int32], confidence: NDArray[np.float32], counts: NDArray[np.int64]
) -> int:
    """Write the cells whose mean posterior reaches `least`, sorted, and how many a pair has; returns how many in all.

    links, confidence: room for as many as there are, or of length 0 to only count.
    """
    written = 0
    for row in range(len(posteriors.source_starts) - 1):
        sizes, first, before = _sizes(posteriors, row), posteriors.cell_starts[row], written
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                mean = _mean(posteriors, first, sizes, i, j)
                if mean >= np.float32(least):
                    if len(links):
                        links[written, 0], links[written, 1] = i, j
                        confidence[written] = min(mean, np.float32(1))
                    written += 1
        counts[row] = written - before
    return written


@njit(cache=True, nogil=True)
def likeliest(
    by_starts: NDArray[np.int64],
    to_starts: NDArray[np.int64],
    cell_starts: NDArray[np.int64],
    posterior: NDArray[np.float32],
    chosen: NDArray[np.int32],
) -> None:
    """By word of `to`, the candidate with the highest posterior, -1 where none at all is likelier."""
    for row in range(len(by_starts) - 1):
        many = by_starts[row + 1] - by_starts[row]
        cell = cell_starts[row]
        for word in range(to_starts[row], to_starts[row + 1]):
            best, none = -1, np.float32(1)
            for i in range(many):
                none -= posterior[cell + i]
                if best < 0 or posterior[cell + i] > posterior[cell + best]:
                    best = i
            chosen[word] = best if best >= 0 and posterior[cell + best] > none else -1
            cell += many


@njit(cache=True, nogil=True)
def mean_at(posteriors: Any, offsets: NDArray[np.int64], links: NDArray[np.int32], out: NDArray[np.float32]) -> None:
    """The mean posterior of given links, at least 1e-6 so that a link never counts for nothing."""
    for row in range(len(offsets) - 1):
        sizes, first = _sizes(posteriors, row), posteriors.cell_starts[row]
        for k in range(offsets[row], offsets[row + 1]):
            mean = _mean(posteriors, first, sizes, links[k, 0], links[k, 1])
            out[k] = min(max(mean, np.float32(1e-6)), np.float32(1))
