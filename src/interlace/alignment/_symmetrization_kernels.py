"""Numba kernels of `symmetrization`.

Legend: f forward and b backward links of a chunk of pairs, sorted by (source, target). `union` holds the links of both
of one pair, words counted from 1 so that each has neighbors; `marks` holds their origin. `scan` is the union with its
marks in Moses' order, by (target, source). `open_` and `kept` are bit matrices, a row per target word, 32 source words
per integer: links that may still be added, and links in the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

Links = NDArray[np.int32]  # (total, 2)
Numbers = NDArray[np.int64]
Flags = NDArray[np.uint8]

if TYPE_CHECKING:
    Pair = tuple[Links, Flags, Flags, Numbers, Numbers]  # union, marks, linked, open_, kept

FORWARD, BACKWARD, BOTH, KEPT, SEEN = 1, 2, 3, 4, 8  # bits of a mark; BOTH is FORWARD | BACKWARD
INTERSECTION, UNION, GROW, FINAL, FINAL_AND = range(5)  # heuristics

_NEIGHBORS = np.array(
    [1, 3, 7, 5, 0, 2, 6, 8]
)  # 3 x (target + 1) + source + 1, in symal's order: horizontal and vertical first


@njit(cache=True, nogil=True)
def combine(f: Links, f_offsets: Numbers, b: Links, b_offsets: Numbers, how: int) -> tuple[Links, Numbers]:
    """Return the links of the result and (pairs,) their number per pair."""
    links, found = np.empty((len(f) + len(b), 2), np.int32), np.zeros(len(f_offsets) - 1, np.int64)
    longest, words, cells = _extent(f, f_offsets, b, b_offsets)
    union, marks, scan = np.empty((longest, 2), np.int32), np.empty(longest, np.uint8), np.empty((longest, 3), np.int32)
    linked = np.zeros((2, words + 2), np.uint8)  # source, then target words with a link in the result
    open_, kept, starts = np.zeros(cells, np.int64), np.zeros(cells, np.int64), np.zeros(words + 3, np.int64)
    pair = (union, marks, linked, open_, kept)
    used = 0
    for row in range(len(found)):
        size, targets = _merge(f, f_offsets[row : row + 2], b, b_offsets[row : row + 2], pair)
        width = _width(union[size - 1, 0]) if size else 0  # the union is sorted by source
        if how >= GROW and _lay_out(pair, size, width):
            _sort_by_target(pair, size, targets, scan, starts)
            _grow(scan, size, pair, width)
            if how != GROW:
                _finish(scan, size, pair, width, how == FINAL)
        before = used
        for u in range(size):
            source, target = union[u, 0], union[u, 1]
            linked[0, source] = linked[1, target] = 0
            taken = how == UNION or marks[u] == BOTH
            if how >= GROW:
                at, bit = _at(source, target, width), _bit(source)
                taken |= kept[at] & bit != 0
                open_[at] &= ~bit
                kept[at] &= ~bit
            if taken:
                links[used, 0], links[used, 1] = source - 1, target - 1
                used += 1
        found[row] = used - before
    return links[:used].copy(), found


@njit(cache=True, nogil=True)
def _extent(f: Links, f_offsets: Numbers, b: Links, b_offsets: Numbers) -> tuple[int, int, int]:
    """Return maxima over pairs: links of both directions, words of a side, integers of a bit matrix."""
    links, words, cells = 0, 1, 1
    for row in range(len(f_offsets) - 1):
        sources, targets = 0, 0
        for at in range(f_offsets[row], f_offsets[row + 1]):
            sources, targets = max(sources, f[at, 0] + 1), max(targets, f[at, 1] + 1)
        for at in range(b_offsets[row], b_offsets[row + 1]):
            sources, targets = max(sources, b[at, 0] + 1), max(targets, b[at, 1] + 1)
        links = max(links, f_offsets[row + 1] - f_offsets[row] + b_offsets[row + 1] - b_offsets[row])
        words, cells = max(words, sources, targets), max(cells, (targets + 2) * _width(sources))
    return links, words, cells


@njit(cache=True, nogil=True)
def _width(sources: int) -> int:
    """Return the integers per row of a bit matrix; the last one is padding."""
    return (sources + 1) // 32 + 2


@njit(cache=True, nogil=True)
def _merge(f: Links, f_span: Numbers, b: Links, b_span: Numbers, pair: Pair) -> tuple[int, int]:
    """Fill the union, sorted, and its marks, and link the intersection; return the size and the last target word."""
    union, marks, linked, _, _ = pair
    i, j, size, targets = f_span[0], b_span[0], 0, 0
    behind_all = np.int64(1) << 62
    while i < f_span[1] or j < b_span[1]:
        ahead = (np.int64(f[i, 0]) << 31) + f[i, 1] if i < f_span[1] else behind_all
        back = (np.int64(b[j, 0]) << 31) + b[j, 1] if j < b_span[1] else behind_all
        link = min(ahead, back)
        source, target = (link >> 31) + 1, (link & 0x7FFFFFFF) + 1
        union[size, 0], union[size, 1] = source, target
        marks[size] = FORWARD * (ahead == link) + BACKWARD * (back == link)
        if ahead == back:
            linked[0, source] = linked[1, target] = 1
        targets = max(targets, int(target))
        i += ahead == link
        j += back == link
        size += 1
    return size, targets


@njit(cache=True, nogil=True)
def _at(source: int, target: int, width: int) -> int:
    return target * width + (source >> 5)


@njit(cache=True, nogil=True)
def _bit(source: int) -> np.int64:
    return np.int64(1) << (source & 31)


@njit(cache=True, nogil=True)
def _lay_out(pair: Pair, size: int, width: int) -> bool:
    """Set the bits of the intersection and of links that align an unaligned word; return whether there are any."""
    union, marks, linked, open_, kept = pair
    left = False
    for u in range(size):
        source, target = union[u, 0], union[u, 1]
        if marks[u] == BOTH:
            kept[_at(source, target, width)] |= _bit(source)
        elif not linked[0, source] & linked[1, target]:
            open_[_at(source, target, width)] |= _bit(source)
            left = True
    return left


@njit(cache=True, nogil=True)
def _sort_by_target(pair: Pair, size: int, targets: int, scan: Links, starts: Numbers) -> None:
    """Fill `scan` with source, target and mark, sorted by target, then source, by a stable counting sort.

    starts: zeros, on return too.
    """
    union, marks, _, _, _ = pair
    for u in range(size):
        starts[union[u, 1] + 1] += 1
    for target in range(targets):
        starts[target + 1] += starts[target]
    for u in range(size):
        target = union[u, 1]
        place = starts[target]
        starts[target] += 1
        scan[place, 0], scan[place, 1], scan[place, 2] = union[u, 0], target, marks[u]
    for target in range(targets + 2):
        starts[target] = 0


@njit(cache=True, nogil=True)
def _grow(scan: Links, size: int, pair: Pair, width: int) -> None:
    """Add neighbors that align an unaligned word until there are none.

    symal visits the neighbors of every link in every scan. Words stay aligned, so visiting each link once gives the
    same result.
    """
    _, _, linked, open_, kept = pair
    added = True
    while added:
        added = False
        for place in range(size):
            source, target = scan[place, 0], scan[place, 1]
            if scan[place, 2] & SEEN or not kept[_at(source, target, width)] & _bit(source):
                continue
            scan[place, 2] |= SEEN
            near = _near(open_, source, target, width)
            for step in range(8 if near else 0):
                down, right = _NEIGHBORS[step] // 3 - 1, _NEIGHBORS[step] % 3 - 1
                if near >> _NEIGHBORS[step] & 1 and not linked[0, source + right] & linked[1, target + down]:
                    _keep(pair, source + right, target + down, width)
                    added = True


@njit(cache=True, nogil=True)
def _near(plane: Numbers, source: int, target: int, width: int) -> int:
    """Return the 3 x 3 bits around a cell, a row per target word."""
    near, at = 0, _at(source - 1, target - 1, width)
    for row in range(3):
        bits = plane[at] | plane[at + 1] << 32
        near |= (bits >> ((source - 1) & 31) & 7) << 3 * row
        at += width
    return near


@njit(cache=True, nogil=True)
def _keep(pair: Pair, source: int, target: int, width: int) -> None:
    _, _, linked, open_, kept = pair
    at, bit = _at(source, target, width), _bit(source)
    open_[at] ^= bit
    kept[at] |= bit
    linked[0, source] = linked[1, target] = 1


@njit(cache=True, nogil=True)
def _finish(scan: Links, size: int, pair: Pair, width: int, one_is_enough: bool) -> None:
    """Add remaining links of unaligned words: of the forward direction, then of the backward one."""
    _, _, linked, open_, _ = pair
    for mark in (FORWARD, BACKWARD):
        for place in range(size):
            source, target = scan[place, 0], scan[place, 1]
            if scan[place, 2] == mark and open_[_at(source, target, width)] & _bit(source):
                both = linked[0, source] + linked[1, target]
                if both == 0 or (both == 1 and one_is_enough):
                    _keep(pair, source, target, width)
