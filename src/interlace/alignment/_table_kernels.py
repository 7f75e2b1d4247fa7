"""Compiled tries: sequences as numbers, exactly and without strings, and what a phrase table counts with them.

A trie numbers sequences: node 0 is the empty one, and a longer one is (node of all but its last symbol, last symbol).
The same trie numbers phrases (symbols are word types), inner links (symbols are places in a grid), pairs of phrases
(source node, target node) and pairs with their inner links (pair, links).

    slots  int32, a power of two: a hash table of nodes, 0 where empty
    keys   int64, half as many: parent << 32 | symbol of each node
    used   nodes there are, the empty one included
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int32]
    Offsets = NDArray[np.int64]
    Trie = tuple[NDArray[np.int32], NDArray[np.int64]]  # slots, keys

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio (Knuth, The Art of Computer Programming, 6.4)


@njit(cache=True, nogil=True)
def _slot(trie: Trie, key: np.int64) -> np.int64:
    """Where a key stands, or the empty slot where it would."""
    slots, keys = trie
    mixed = (np.uint64(key) ^ (np.uint64(key) >> np.uint64(29))) * _ODD
    at = np.int64(mixed >> np.uint64(32)) & (len(slots) - 1)
    while slots[at] != 0 and keys[slots[at]] != key:
        at = (at + 1) & (len(slots) - 1)
    return at


@njit(cache=True, nogil=True)
def _enter(trie: Trie, used: int, parent: int, symbol: int) -> int:
    """The node of a sequence, `used` where it is new; there must be room for it."""
    slots, keys = trie
    key = (np.int64(parent) << 32) | np.int64(symbol)
    at = _slot(trie, key)
    if slots[at] == 0:
        slots[at], keys[used] = used, key
    return int(slots[at])


@njit(cache=True, nogil=True)
def _with_room(trie: Trie, used: int, more: int) -> Trie:
    """The trie, or a larger copy where it has no room for so many more nodes."""
    if used + more <= len(trie[1]):
        return trie
    size = len(trie[1])
    while used + more > size:
        size *= 2
    slots, keys = np.zeros(2 * size, np.int32), np.empty(size, np.int64)
    keys[0] = -1
    for node in range(1, used):
        key = trie[1][node]
        slots[_slot((slots, keys), key)] = node
        keys[node] = key
    return slots, keys


@njit(cache=True, nogil=True)
def number_spans(
    trie: Trie, used: int, words: Numbers, offsets: Offsets, spans: Numbers, span_offsets: Offsets, nodes: Numbers
) -> tuple[Trie, int]:
    """Number the phrase of each span (start, stop); new ones are entered. Words are not negative."""
    longest = _longest(spans)
    known = np.empty(longest * _longest_row(offsets), np.int32)  # nodes by start and length
    for row in range(len(offsets) - 1):
        start = offsets[row]
        for place in range((offsets[row + 1] - start) * longest):
            known[place] = 0
        for span in range(span_offsets[row], span_offsets[row + 1]):
            first, length = spans[span, 0], spans[span, 1] - spans[span, 0]
            node = known[first * longest + length - 1]
            if node == 0:
                trie = _with_room(trie, used, length)
                for word in range(length):
                    parent, node = node, known[first * longest + word]
                    if node == 0:
                        node = _enter(trie, used, parent, words[start + first + word])
                        used += node == used
                        known[first * longest + word] = node
            nodes[span] = node
    return trie, used


@njit(cache=True, nogil=True)
def find_spans(
    trie: Trie, words: Numbers, offsets: Offsets, spans: Numbers, span_offsets: Offsets, nodes: Numbers
) -> None:
    """The node of the phrase of each span, 0 where it is not in the trie. Negative words are unknown."""
    slots = trie[0]
    for row in range(len(offsets) - 1):
        for span in range(span_offsets[row], span_offsets[row + 1]):
            node = 0
            for word in range(offsets[row] + spans[span, 0], offsets[row] + spans[span, 1]):
                key = (np.int64(node) << 32) | np.int64(words[word])
                node = 0 if words[word] < 0 else slots[_slot(trie, key)]
                if node == 0:
                    break
            nodes[span] = node


@njit(cache=True, nogil=True)
def number_links(
    trie: Trie,
    used: int,
    links: Numbers,
    offsets: Offsets,
    spans: Numbers,
    span_offsets: Offsets,
    grid: int,
    nodes: Numbers,
) -> tuple[Trie, int]:
    """Number the links inside each phrase pair; a link is source x grid + target, counted inside the phrases.

    The links of a row are sorted by source, its spans by where they start.
    """
    for row in range(len(span_offsets) - 1):
        first = offsets[row]
        for span in range(span_offsets[row], span_offsets[row + 1]):
            a, b, c = spans[span, 0], spans[span, 1], spans[span, 2]
            while links[first, 0] < a:
                first += 1
            link, node = first, 0
            while link < offsets[row + 1] and links[link, 0] < b:
                trie = _with_room(trie, used, 1)
                node = _enter(trie, used, node, (links[link, 0] - a) * grid + links[link, 1] - c)
                used += node == used
                link += 1
            nodes[span] = node
    return trie, used


@njit(cache=True, nogil=True)
def count_pairs(
    pairs: Trie,
    pairs_used: int,
    seen: Trie,
    seen_used: int,
    counts: Numbers,
    occurrences: NDArray[np.int32],
) -> tuple[Trie, int, Trie, int, Numbers]:
    """Count each (source phrase, target phrase, inner links), shape (n, 3); counts by node of `seen`."""
    for row in range(len(occurrences)):
        pairs = _with_room(pairs, pairs_used, 1)
        pair = _enter(pairs, pairs_used, occurrences[row, 0], occurrences[row, 1])
        pairs_used += pair == pairs_used
        seen = _with_room(seen, seen_used, 1)
        if len(counts) < len(seen[1]):
            larger = np.zeros(len(seen[1]), np.int32)
            for node in range(seen_used):
                larger[node] = counts[node]
            counts = larger
        node = _enter(seen, seen_used, pair, occurrences[row, 2])
        seen_used += node == seen_used
        counts[node] += 1
    return pairs, pairs_used, seen, seen_used, counts


@njit(cache=True, nogil=True)
def sum_up(keys: NDArray[np.int64], used: int, counts: Numbers, totals: NDArray[np.int64], frequent: Numbers) -> None:
    """How often each pair was seen, and its most frequent inner links: of equals, those seen first."""
    most = np.zeros(len(totals), np.int32)
    for node in range(1, used):
        pair = keys[node] >> 32
        totals[pair] += counts[node]
        if counts[node] > most[pair]:
            most[pair] = counts[node]
            frequent[pair] = keys[node] & 0xFFFFFFFF


@njit(cache=True, nogil=True)
def spell(keys: NDArray[np.int64], nodes: Numbers, offsets: Offsets, symbols: Numbers) -> None:
    """The symbols of each sequence, as rows at the offsets."""
    for row in range(len(nodes)):
        node = np.int64(nodes[row])
        for at in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            symbols[at] = keys[node] & 0xFFFFFFFF
            node = keys[node] >> 32


@njit(cache=True, nogil=True)
def depths(keys: NDArray[np.int64], nodes: Numbers, lengths: NDArray[np.int64]) -> None:
    """The length of each sequence."""
    for row in range(len(nodes)):
        node = np.int64(nodes[row])
        lengths[row] = 0
        while node != 0:
            lengths[row] += 1
            node = keys[node] >> 32


@njit(cache=True, nogil=True)
def _longest(spans: Numbers) -> int:
    longest = 1
    for span in range(len(spans)):
        longest = max(longest, spans[span, 1] - spans[span, 0])
    return longest


@njit(cache=True, nogil=True)
def _longest_row(offsets: Offsets) -> int:
    longest = 1
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    return longest
