"""A growing trie that numbers sequences of integers exactly, without strings; and phrase counting with tries.

Node 0 is the empty sequence; any other node is (node of all but the last symbol, last symbol). Tries number phrases
(symbols are word types), inner links (symbols are cells of a grid), phrase pairs (source node, target node) and phrase
pairs with their inner links (pair, links).

    slots  int32, size a power of two: a hash table of nodes, 0 where empty
    keys   int64, half as many: parent << 32 | symbol of each node
    used   number of nodes, the empty one included
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from interlace.core.ragged import Ragged

Numbers = NDArray[np.int32]
Offsets = NDArray[np.int64]
Table = tuple[NDArray[np.int32], NDArray[np.int64]]  # slots, keys

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio (Knuth, The Art of Computer Programming, 6.4)
_MIN_SIZE = 1 << 12


class Trie:
    """Numbers sequences of symbols (0 to 2**31 - 1) and all their prefixes; 0 is the empty sequence.

    A node takes 16 to 32 bytes.
    """

    def __init__(self) -> None:
        self.slots = np.zeros(2 * _MIN_SIZE, np.int32)
        self.keys = np.full(_MIN_SIZE, -1, np.int64)  # parent << 32 | symbol of each node
        self.used = 1

    def number(self, words: Ragged, spans: Ragged, first: int = 0) -> NDArray[np.int32]:
        """(total,) the node of each span; new nodes are added.

        words: n rows of symbols. spans: n rows of spans with start and stop in the columns `first` and `first + 1`.
        """
        nodes, columns = np.empty(len(spans.flat), np.int32), _columns(spans, first, 2)
        longest = int(np.diff(columns[0]).max(initial=1))
        known = np.empty((int(words.lengths.max(initial=1)), longest), np.int32)
        (self.slots, self.keys), self.used = _number_spans(
            (self.slots, self.keys), self.used, *_columns(words), *columns, known, nodes
        )
        return nodes

    def number_links(self, links: Ragged, spans: Ragged, grid: int) -> NDArray[np.int32]:
        """(total,) the node of the links inside each phrase pair (a, b, c, d); symbols are source * grid + target."""
        nodes = np.empty(len(spans.flat), np.int32)
        (self.slots, self.keys), self.used = _number_links(
            (self.slots, self.keys), self.used, *_columns(links, 0, 2), *_columns(spans, 0, 4), grid, nodes
        )
        return nodes

    def find(self, words: Ragged, spans: Ragged, first: int = 0) -> NDArray[np.int32]:
        """(total,) the node of each span, 0 if it is not in the trie; negative symbols are never found."""
        nodes = np.empty(len(spans.flat), np.int32)
        _find_spans((self.slots, self.keys), *_columns(words), *_columns(spans, first, 2), nodes)
        return nodes

    def spell(self, nodes: NDArray[np.int32]) -> Ragged:
        """Return the sequence of symbols of each node."""
        lengths = np.empty(len(nodes), np.int64)
        _depths(self.keys, nodes, lengths)
        sequences = Ragged.from_lengths(np.empty(int(lengths.sum()), np.int32), lengths)
        _spell(self.keys, nodes, sequences.offsets, sequences.values)
        return sequences


def _columns(rows: Ragged, first: int = 0, width: int = 0) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return values and offsets in the memory layout of the kernels."""
    flat = rows.flat[:, first : first + width] if width else rows.flat
    return np.array(flat, np.int32, order="C"), rows.offsets - rows.offsets[0]


# ---- kernels ----


@njit(cache=True, nogil=True)
def _slot(trie: Table, key: np.int64) -> np.int64:
    """Return the slot of a key, or the empty slot for it."""
    slots, keys = trie
    mixed = (np.uint64(key) ^ (np.uint64(key) >> np.uint64(29))) * _ODD
    at = np.int64(mixed >> np.uint64(32)) & (len(slots) - 1)
    while slots[at] != 0 and keys[slots[at]] != key:
        at = (at + 1) & (len(slots) - 1)
    return at


@njit(cache=True, nogil=True)
def _enter(trie: Table, used: int, parent: int, symbol: int) -> int:
    """Return the node of a sequence, `used` if it is new; the trie must have capacity for it."""
    slots, keys = trie
    key = (np.int64(parent) << 32) | np.int64(symbol)
    at = _slot(trie, key)
    if slots[at] == 0:
        slots[at], keys[used] = used, key
    return int(slots[at])


@njit(cache=True, nogil=True)
def _with_capacity(trie: Table, used: int, more: int) -> Table:
    """Return the trie, or a larger copy if it lacks capacity for `more` nodes."""
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
def _number_spans(
    trie: Table,
    used: int,
    words: Numbers,
    offsets: Offsets,
    spans: Numbers,
    span_offsets: Offsets,
    known: Numbers,
    nodes: Numbers,
) -> tuple[Table, int]:
    """Number the phrase of each span (start, stop); new ones are added. Words are not negative.

    known: buffer for the nodes of a row by start and length.
    """
    for row in range(len(offsets) - 1):
        start = offsets[row]
        known[: offsets[row + 1] - start] = 0
        for span in range(span_offsets[row], span_offsets[row + 1]):
            first, length = spans[span, 0], spans[span, 1] - spans[span, 0]
            node = known[first, length - 1]
            if node == 0:
                trie = _with_capacity(trie, used, length)
                for word in range(length):
                    parent, node = node, known[first, word]
                    if node == 0:
                        node = _enter(trie, used, parent, words[start + first + word])
                        used += node == used
                        known[first, word] = node
            nodes[span] = node
    return trie, used


@njit(cache=True, nogil=True)
def _find_spans(
    trie: Table, words: Numbers, offsets: Offsets, spans: Numbers, span_offsets: Offsets, nodes: Numbers
) -> None:
    """Find the node of the phrase of each span, 0 if it is not in the trie. Negative words are unknown."""
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
def _number_links(
    trie: Table,
    used: int,
    links: Numbers,
    offsets: Offsets,
    spans: Numbers,
    span_offsets: Offsets,
    grid: int,
    nodes: Numbers,
) -> tuple[Table, int]:
    """Number the links inside each phrase pair; a link is source * grid + target, relative to the phrases.

    The links of a row are sorted by source, its spans by their start.
    """
    for row in range(len(span_offsets) - 1):
        first = offsets[row]
        for span in range(span_offsets[row], span_offsets[row + 1]):
            a, b, c = spans[span, 0], spans[span, 1], spans[span, 2]
            while links[first, 0] < a:
                first += 1
            link, node = first, 0
            while link < offsets[row + 1] and links[link, 0] < b:
                trie = _with_capacity(trie, used, 1)
                node = _enter(trie, used, node, (links[link, 0] - a) * grid + links[link, 1] - c)
                used += node == used
                link += 1
            nodes[span] = node
    return trie, used


@njit(cache=True, nogil=True)
def count_pairs(
    pairs: Table, pairs_used: int, seen: Table, seen_used: int, counts: Numbers, occurrences: NDArray[np.int32]
) -> tuple[Table, int, Table, int, Numbers]:
    """Count each (source phrase, target phrase, inner links), shape (n, 3); counts by node of `seen`."""
    for row in range(len(occurrences)):
        pairs = _with_capacity(pairs, pairs_used, 1)
        pair = _enter(pairs, pairs_used, occurrences[row, 0], occurrences[row, 1])
        pairs_used += pair == pairs_used
        seen = _with_capacity(seen, seen_used, 1)
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
    """Fill in the count of each pair and its most frequent inner links; ties go to those seen first."""
    most = np.zeros(len(totals), np.int32)
    for node in range(1, used):
        pair = keys[node] >> 32
        totals[pair] += counts[node]
        if counts[node] > most[pair]:
            most[pair] = counts[node]
            frequent[pair] = keys[node] & 0xFFFFFFFF


@njit(cache=True, nogil=True)
def _spell(keys: NDArray[np.int64], nodes: Numbers, offsets: Offsets, symbols: Numbers) -> None:
    """Fill in the symbols of each sequence, as rows at the offsets."""
    for row in range(len(nodes)):
        node = np.int64(nodes[row])
        for at in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            symbols[at] = keys[node] & 0xFFFFFFFF
            node = keys[node] >> 32


@njit(cache=True, nogil=True)
def _depths(keys: NDArray[np.int64], nodes: Numbers, lengths: NDArray[np.int64]) -> None:
    for row in range(len(nodes)):
        node = np.int64(nodes[row])
        lengths[row] = 0
        while node != 0:
            lengths[row] += 1
            node = keys[node] >> 32
