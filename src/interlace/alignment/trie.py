"""A growing trie that numbers sequences of integers exactly, without strings; and phrase counting with tries.

Node 0 is the empty sequence; any other node is the number of the pair (node of all but the last symbol, last symbol) in
a `PairTable`. Tries number phrases (symbols are word types), inner links (symbols are cells of a grid), phrase pairs
(source node, target node) and phrase pairs with their inner links (pair, links). Example: after the phrases 7 8 and 7 9

    node    1       2       3
    pair    (0, 7)  (1, 8)  (1, 9)        7, 7 8 and 7 9
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from interlace.alignment.pair_numbers import PairTable, add, number_of, with_room
from interlace.core.ragged import Ragged

Numbers = NDArray[np.int32]
Offsets = NDArray[np.int64]

_BLOCK = 1_000  # occurrences that are counted before a table may grow


class Trie:
    """Numbers sequences of symbols (0 to 2**31 - 1) and all their prefixes; 0 is the empty sequence."""

    def __init__(self) -> None:
        self.table = PairTable.empty()

    @property
    def used(self) -> int:
        """The number of nodes, the empty one included."""
        return int(self.table.used[0])

    def number(self, words: Ragged, spans: Ragged, first: int = 0) -> NDArray[np.int32]:
        """(total,) the node of each span; new nodes are added.

        words: n rows of symbols. spans: n rows of spans with start and stop in the columns `first` and `first + 1`.
        """
        nodes = np.empty(len(spans.flat), np.int32)
        span_values, span_offsets = _columns(spans, first, 2)
        longest = int(np.diff(span_values).max(initial=1))
        known = np.empty((int(words.lengths.max(initial=1)), longest), np.int32)
        table = _number_spans(self.table, *_columns(words), span_values, span_offsets, known, nodes)
        self.table = PairTable(*table)
        return nodes

    def number_links(self, links: Ragged, spans: Ragged, grid: int) -> NDArray[np.int32]:
        """(total,) the node of the links inside each phrase pair (a, b, c, d); symbols are source * grid + target."""
        nodes = np.empty(len(spans.flat), np.int32)
        self.table = PairTable(
            *_number_links(self.table, *_columns(links, 0, 2), *_columns(spans, 0, 4), grid, nodes)
        )
        return nodes

    def find(self, words: Ragged, spans: Ragged, first: int = 0) -> NDArray[np.int32]:
        """(total,) the node of each span, 0 if it is not in the trie; negative symbols are never found."""
        nodes = np.empty(len(spans.flat), np.int32)
        _find_spans(self.table, *_columns(words), *_columns(spans, first, 2), nodes)
        return nodes

    def spell(self, nodes: NDArray[np.int32]) -> Ragged:
        """Return the sequence of symbols of each node."""
        lengths = np.empty(len(nodes), np.int64)
        _depths(self.table.keys, nodes, lengths)
        sequences = Ragged.from_lengths(np.empty(int(lengths.sum()), np.int32), lengths)
        _spell(self.table.keys, nodes, sequences.offsets, sequences.values)
        return sequences


def _columns(
    rows: Ragged, first: int = 0, width: int = 0
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return values and offsets in the memory layout of the kernels."""
    flat = rows.flat[:, first : first + width] if width else rows.flat
    return np.array(flat, np.int32, order="C"), rows.offsets - rows.offsets[0]


def most_frequent_links(
    linked_pairs: PairTable, counts: Numbers, pair_count: int
) -> tuple[Numbers, NDArray[np.int64]]:
    """(pairs,) the most frequent inner links of each phrase pair, and its count; ties go to those seen first.

    linked_pairs, counts: as of `count_pairs`.
    """
    totals = np.zeros(pair_count + 1, np.int64)
    links = np.zeros(pair_count + 1, np.int32)
    _sum_up(linked_pairs.keys, int(linked_pairs.used[0]), counts, totals, links)
    return links[1:], totals[1:]


# ---- kernels ----


@njit(cache=True, nogil=True)
def _number_spans(
    table: PairTable,
    words: Numbers,
    offsets: Offsets,
    spans: Numbers,
    span_offsets: Offsets,
    known: Numbers,
    nodes: Numbers,
) -> PairTable:
    """Number the phrase of each span (start, stop); new ones are added. Words are not negative.

    known: buffer for the nodes of a row by start and length.
    """
    for row in range(len(offsets) - 1):
        start = offsets[row]
        known[: offsets[row + 1] - start] = 0
        for span in range(span_offsets[row], span_offsets[row + 1]):
            first = spans[span, 0]
            length = spans[span, 1] - first
            node = known[first, length - 1]
            if node == 0:
                table = with_room(table, length)
                slots, keys, used = table
                for word in range(length):
                    parent = node
                    node = known[first, word]
                    if node == 0:
                        node = add(slots, keys, used, parent, words[start + first + word])
                        known[first, word] = node
            nodes[span] = node
    return table


@njit(cache=True, nogil=True)
def _find_spans(
    table: PairTable,
    words: Numbers,
    offsets: Offsets,
    spans: Numbers,
    span_offsets: Offsets,
    nodes: Numbers,
) -> None:
    """Find the node of the phrase of each span, 0 if it is not in the trie. Negative words are unknown."""
    slots, keys, _ = table
    for row in range(len(offsets) - 1):
        for span in range(span_offsets[row], span_offsets[row + 1]):
            node = 0
            for word in range(offsets[row] + spans[span, 0], offsets[row] + spans[span, 1]):
                node = 0 if words[word] < 0 else number_of(slots, keys, node, words[word])
                if node == 0:
                    break
            nodes[span] = node


@njit(cache=True, nogil=True)
def _number_links(
    table: PairTable,
    links: Numbers,
    offsets: Offsets,
    spans: Numbers,
    span_offsets: Offsets,
    grid: int,
    nodes: Numbers,
) -> PairTable:
    """Number the links inside each phrase pair; a link is source * grid + target, relative to the phrases.

    The links of a row are sorted by source, its spans by their start.
    """
    for row in range(len(span_offsets) - 1):
        links_inside = min(offsets[row + 1] - offsets[row], grid * grid)
        table = with_room(table, links_inside * (span_offsets[row + 1] - span_offsets[row]))
        slots, keys, used = table
        first = offsets[row]
        for span in range(span_offsets[row], span_offsets[row + 1]):
            a, b, c = spans[span, 0], spans[span, 1], spans[span, 2]
            while links[first, 0] < a:
                first += 1
            node = 0
            link = first
            while link < offsets[row + 1] and links[link, 0] < b:
                node = add(
                    slots, keys, used, node, (links[link, 0] - a) * grid + links[link, 1] - c
                )
                link += 1
            nodes[span] = node
    return table


@njit(cache=True, nogil=True)
def count_pairs(
    pairs: PairTable, linked_pairs: PairTable, counts: Numbers, occurrences: NDArray[np.int32]
) -> tuple[PairTable, PairTable, Numbers]:
    """Count each (source phrase, target phrase, inner links), shape (n, 3); counts by number of the linked pair."""
    for start in range(0, len(occurrences), _BLOCK):
        stop = min(start + _BLOCK, len(occurrences))
        pairs = with_room(pairs, _BLOCK)
        linked_pairs = with_room(linked_pairs, _BLOCK)
        if len(counts) < len(linked_pairs.keys):
            larger = np.zeros(len(linked_pairs.keys), np.int32)
            for number in range(linked_pairs.used[0]):
                larger[number] = counts[number]
            counts = larger
        pair_slots, pair_keys, pairs_used = pairs
        linked_slots, linked_keys, linked_used = linked_pairs
        for row in range(start, stop):
            pair = add(pair_slots, pair_keys, pairs_used, occurrences[row, 0], occurrences[row, 1])
            linked_pair = add(linked_slots, linked_keys, linked_used, pair, occurrences[row, 2])
            counts[linked_pair] += 1
    return pairs, linked_pairs, counts


@njit(cache=True, nogil=True)
def _sum_up(
    keys: NDArray[np.int64], used: int, counts: Numbers, totals: NDArray[np.int64], links: Numbers
) -> None:
    """Fill in the count of each pair and its most frequent inner links."""
    most = np.zeros(len(totals), np.int32)
    for number in range(1, used):
        pair = keys[number] >> 32
        totals[pair] += counts[number]
        if counts[number] > most[pair]:
            most[pair] = counts[number]
            links[pair] = keys[number] & 0xFFFFFFFF


@njit(cache=True, nogil=True)
def _spell(keys: NDArray[np.int64], nodes: Numbers, offsets: Offsets, symbols: Numbers) -> None:
    """Fill in the symbols of each sequence, as rows at the offsets."""
    for row in range(len(nodes)):
        node = np.int64(nodes[row])
        for position in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            symbols[position] = keys[node] & 0xFFFFFFFF
            node = keys[node] >> 32


@njit(cache=True, nogil=True)
def _depths(keys: NDArray[np.int64], nodes: Numbers, lengths: NDArray[np.int64]) -> None:
    """Fill in the length of each sequence."""
    for row in range(len(nodes)):
        node = np.int64(nodes[row])
        lengths[row] = 0
        while node != 0:
            lengths[row] += 1
            node = keys[node] >> 32
