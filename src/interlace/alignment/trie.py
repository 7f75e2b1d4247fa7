"""A growing trie that numbers sequences of integers exactly, without strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MIN_SIZE = 1 << 12


class Trie:
    """Numbers sequences of symbols (0 to 2**31 - 1) and all their prefixes; 0 is the empty sequence.

    A node takes 16 to 32 bytes. Arrays are described in `interlace.alignment._trie_kernels`.
    """

    def __init__(self) -> None:
        self.slots = np.zeros(2 * _MIN_SIZE, np.int32)
        self.keys = np.full(_MIN_SIZE, -1, np.int64)  # parent << 32 | symbol of each node
        self.used = 1

    def number(self, words: Ragged, spans: Ragged, first: int = 0) -> NDArray[np.int32]:
        """(total,) the node of each span; new nodes are added.

        words: n rows of symbols. spans: n rows of spans with start and stop in the columns `first` and `first + 1`.
        """
        from interlace.alignment._trie_kernels import number_spans

        nodes = np.empty(len(spans.flat), np.int32)
        (self.slots, self.keys), self.used = number_spans(
            (self.slots, self.keys), self.used, *_columns(words), *_columns(spans, first, 2), nodes
        )
        return nodes

    def number_links(self, links: Ragged, spans: Ragged, grid: int) -> NDArray[np.int32]:
        """(total,) the node of the links inside each phrase pair (a, b, c, d); symbols are source * grid + target."""
        from interlace.alignment._trie_kernels import number_links

        nodes = np.empty(len(spans.flat), np.int32)
        (self.slots, self.keys), self.used = number_links(
            (self.slots, self.keys), self.used, *_columns(links, 0, 2), *_columns(spans, 0, 4), grid, nodes
        )
        return nodes

    def find(self, words: Ragged, spans: Ragged, first: int = 0) -> NDArray[np.int32]:
        """(total,) the node of each span, 0 if it is not in the trie; negative symbols are never found."""
        from interlace.alignment._trie_kernels import find_spans

        nodes = np.empty(len(spans.flat), np.int32)
        find_spans((self.slots, self.keys), *_columns(words), *_columns(spans, first, 2), nodes)
        return nodes

    def spell(self, nodes: NDArray[np.int32]) -> Ragged:
        """Return the sequence of symbols of each node."""
        from interlace.alignment._trie_kernels import depths, spell

        lengths = np.empty(len(nodes), np.int64)
        depths(self.keys, nodes, lengths)
        sequences = Ragged.from_lengths(np.empty(int(lengths.sum()), np.int32), lengths)
        spell(self.keys, nodes, sequences.offsets, sequences.values)
        return sequences


def _columns(rows: Ragged, first: int = 0, width: int = 0) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return values and offsets in the memory layout of the kernels."""
    flat = rows.flat[:, first : first + width] if width else rows.flat
    return np.array(flat, np.int32, order="C"), rows.offsets - rows.offsets[0]
