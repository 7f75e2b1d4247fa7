"""What a search keeps between two subwords: keys and values of what was read and of what is written so far.

Keys and values of the source are made once and stand once a source, however many rows read it: the rows of a beam ask
it together. What the rows wrote themselves is copied when rows are reordered.

Legend: S sources, R rows (`per` of them a source), A heads, L subwords of the longest source, C positions there is room
for, D size of a head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad, scaled_dot_product_attention

if TYPE_CHECKING:
    from torch import Tensor

ROOM = 16  # positions that are made ready at once


@dataclass
class Memory:
    """The state of a search in all layers; `select` gives that of other rows.

    sources: by layer, keys and values (S, A, L, D) of the source.
    mask: (S, 1, 1, L) true where a source has a subword, or None where all are equally long.
    written: by layer, keys and values (R, 2A, C, D) of the rows; empty before the first step.
    length: positions written.
    per: rows a source, one beside the other.
    """

    sources: list[tuple[Tensor, Tensor]]
    mask: Tensor | None
    written: list[Tensor]
    length: int = 0
    per: int = 1

    @property
    def rows(self) -> int:
        """R."""
        return len(self.sources[0][0]) * self.per

    def select(self, index: Tensor) -> Memory:
        """The memory of the rows (R',) `index`, in that order: some left out, moved or repeated; this one stays whole.

        Rows of one source that stand beside each other, equally many of each source, go on sharing its keys and values.
        """
        owners, counts = torch.unique_consecutive(index // self.per, return_counts=True)
        per = int(counts[0]) if len(counts) else 1
        if not bool((counts == per).all()):
            owners, per = index // self.per, 1
        same = len(owners) == len(self.sources[0][0]) and bool((owners[1:] > owners[:-1]).all())
        return Memory(
            self.sources if same else [(key[owners], value[owners]) for key, value in self.sources],
            self.mask if same or self.mask is None else self.mask[owners],
            [layer.index_select(0, index) for layer in self.written],
            self.length,
            per,
        )

    def push(self, layer: int, key: Tensor, value: Tensor, window: int | None) -> tuple[Tensor, Tensor]:
        """Write the next position of one layer, (R, A, 1, D) each; returns the keys and values that it may see.

        These are all that are written, its own among them, or the last `window`.
        """
        if layer == len(self.written):
            rows, heads, _, size = key.shape
            self.written.append(key.new_empty((rows, 2 * heads, ROOM, size)))
        if self.length == self.written[layer].shape[2]:
            self.written[layer] = pad(self.written[layer], (0, 0, 0, max(ROOM, self.length // 2)))
        buffer, end = self.written[layer], self.length + 1
        heads, first = key.shape[1], 0 if window is None else max(0, end - window)
        buffer[:, :heads, self.length] = key[:, :, 0]
        buffer[:, heads:, self.length] = value[:, :, 0]
        seen = buffer[:, :, first:end]
        return seen[:, :heads], seen[:, heads:]

    def ask(self, layer: int, query: Tensor) -> Tensor:
        """(R, A, 1, D) what the rows find in their sources, from queries of that shape."""
        key, value = self.sources[layer]
        if self.per == 1:
            return scaled_dot_product_attention(query, key, value, self.mask)
        rows, heads, _, size = query.shape
        together = query.view(-1, self.per, heads, size).transpose(1, 2)  # (S, A, per, D)
        found = scaled_dot_product_attention(together, key, value, self.mask)
        return found.transpose(1, 2).reshape(rows, heads, 1, size)
