"""A growing trie that numbers phrases, sequences of word types, exactly and without strings.

Node 0 is the empty sequence; any other node is the number of the pair (node of all but the last type, last type) in a
`PairTable`. Example: after the phrases 7 8 and 7 9

    node    1       2       3
    pair    (0, 7)  (1, 8)  (1, 9)        7, 7 8 and 7 9
"""

import numpy as np

from interlace.alignment.pair_numbers import PairTable, add, number_of, with_room
from interlace.core.kernels import compiled
from interlace.core.ragged import Int32Array, IntArray, IntegerArray, Ragged

Numbers = Int32Array
Offsets = IntArray


class Trie:
    """Numbers sequences of word types (0 to 2**31 - 1) and all their prefixes; 0 is the empty sequence."""

    def __init__(self) -> None:
        self._table = PairTable.empty()

    @property
    def used(self) -> int:
        """The number of nodes, the empty one included."""
        return int(self._table.used[0])

    def number(self, words: Ragged, spans: Ragged, first: int = 0) -> Int32Array:
        """(total,) the node of each span; new nodes are added.

        words: n rows of word types. spans: n rows of spans with start and stop in the columns `first` and `first + 1`.
        """
        nodes = np.empty(len(spans.flat), np.int32)
        table = _number_spans(self._table, *_arrays(words, spans, first), nodes)
        self._table = PairTable(*table)
        return nodes

    def find(self, words: Ragged, spans: Ragged, first: int = 0) -> Int32Array:
        """(total,) the node of each span, 0 if it is not in the trie; negative word types are never found."""
        nodes = np.empty(len(spans.flat), np.int32)
        _find_spans(self._table, *_arrays(words, spans, first), nodes)
        return nodes

    def spell(self, nodes: IntegerArray) -> Ragged:
        """Return the word types of each node."""
        # from the last word; -1 before the first
        columns = [np.zeros((len(nodes), 0), np.int32)]
        while nodes.any():
            exists = nodes > 0
            pairs = self._table.keys[nodes]
            last_words = np.where(exists, pairs & 0xFFFFFFFF, -1)
            columns.insert(0, last_words.astype(np.int32)[:, None])
            nodes = np.where(exists, pairs >> 32, 0)
        words = np.concatenate(columns, axis=1)
        is_word = words >= 0
        return Ragged.from_lengths(words[is_word], is_word.sum(axis=1))


def _arrays(
    words: Ragged, spans: Ragged, first: int
) -> tuple[Numbers, Offsets, Numbers, Offsets]:
    """Return word types and spans, with the offsets of their rows, in the memory layout of the kernels."""
    columns = spans.flat[:, first : first + 2]
    return (
        np.array(words.flat, np.int32),
        words.offsets - words.offsets[0],
        np.array(columns, np.int32, order="C"),
        spans.offsets - spans.offsets[0],
    )


# ---- kernels ----


@compiled
def _number_spans(
    table: PairTable,
    words: Numbers,
    offsets: Offsets,
    spans: Numbers,
    span_offsets: Offsets,
    nodes: Numbers,
) -> PairTable:
    """Number the phrase of each span (start, stop); new ones are added. Words are not negative."""
    for row in range(len(offsets) - 1):
        length = 0
        for span in range(span_offsets[row], span_offsets[row + 1]):
            length += spans[span, 1] - spans[span, 0]
        table = with_room(table, length)
        slots, keys, used = table
        for span in range(span_offsets[row], span_offsets[row + 1]):
            node = 0
            for word in range(offsets[row] + spans[span, 0], offsets[row] + spans[span, 1]):
                node = add(slots, keys, used, node, words[word])
            nodes[span] = node
    return table


@compiled
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
