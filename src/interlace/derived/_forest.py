"""Dependency trees of a text as flat arrays, ready to be put in another order.

Legend: L lines, W words of all lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.derived._numbers import numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged

_MARK = "punct"


@dataclass(frozen=True)
class Forest:
    """Trees without crossing arcs.

    offsets: (L + 1,) the words of each line. heads: (W,) places in the line, -1 for a root.
    relations: (W,) universal relations, without their subtypes. tags: (W,) universal parts of speech.
    final: (W,) which words are marks that end a tree, and stay there.
    """

    offsets: NDArray[np.int64]
    heads: NDArray[np.int64]
    relations: list[str]
    tags: list[str]
    final: NDArray[np.bool_]

    @classmethod
    def of(cls, heads: Ragged, relations: Sequence[str], tags: Sequence[str]) -> Forest:
        """From a row a line of heads, and what stands at each word.

        Crossing arcs are lifted (Nivre and Nilsson 2005): each word and all below it make one run of words.

        Raises:
            DataError: heads are no trees; names the line, from 1.
        """
        from interlace.derived._trees_kernels import straighten

        own = heads.flat.astype(np.int64)
        offsets = heads.offsets - heads.offsets[0]
        _must_be_trees(own, offsets)
        codes, names = numbered(relations, len(own))
        names = [name.partition(":")[0] for name in names]
        final = np.zeros(len(own), np.bool_)
        straighten(own, offsets, np.array([name == _MARK for name in names], np.bool_)[codes], final)
        return cls(offsets, own, np.array(names, object)[codes].tolist(), list(tags), final)


def _must_be_trees(heads: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
    """Whether the way up ends everywhere: following it in doubled steps, it has left the line in the end."""
    lengths = np.diff(offsets)
    base = np.repeat(offsets[:-1], lengths)
    wrong = (heads < -1) | (heads >= np.repeat(lengths, lengths))
    nowhere = len(heads)
    up = np.append(np.where((heads < 0) | wrong, nowhere, heads + base), nowhere)
    for _ in range(int(lengths.max(initial=1)).bit_length()):
        up = up[up]
    wrong |= up[:-1] != nowhere
    if wrong.any():
        line = int(np.searchsorted(offsets, np.flatnonzero(wrong)[0], "right"))
        raise DataError(f"line {line}: its heads are no tree: one lies outside of the line, or words form a ring")
