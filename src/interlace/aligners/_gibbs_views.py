"""A text as one sampler sees it: words whole or cut to their first letters, pairs of types that meet numbered.

Cut words gather the forms of a word, whole ones tell them apart; samplers of both kinds err in different places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners import _gibbs_cells as kernels
from interlace.aligners._gibbs_kernels import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged

_SLOTS = 1 << 12  # of a new table of pairs


@dataclass(frozen=True)
class Cut:
    """Which type of a view each type of a vocabulary is. numbers: (types,) int32. size: types of the view."""

    numbers: NDArray[np.int32]
    size: int

    @classmethod
    def of(cls, spellings: Sequence[str], letters: int) -> Cut:
        """The first `letters` letters of each spelling, or all where it is 0."""
        seen: dict[str, int] = {}
        cut = (spelling[:letters] if letters else spelling for spelling in spellings)
        numbers = np.fromiter((seen.setdefault(word, len(seen)) for word in cut), np.int32, len(spellings))
        return cls(numbers, len(seen))

    def __call__(self, types: NDArray[np.int32]) -> NDArray[np.int32]:
        """(n,) types of the view; unknown ones (-1) stay so."""
        if not self.size:
            return np.full(len(types), -1, np.int32)
        return np.where(types < 0, np.int32(-1), self.numbers[types])


@dataclass(frozen=True)
class View:
    """A text, and the pairs of types of its cells.

    entries: (m, 2) int32 source and target type of each numbered pair.
    forward: each target word draws a source word; backward: each source word draws a target word.
    """

    sizes: tuple[int, int]
    entries: NDArray[np.int32]
    forward: Words
    backward: Words

    @classmethod
    def of(cls, source: Ragged, target: Ragged, cuts: tuple[Cut, Cut], extra: NDArray[np.int32]) -> View:
        """Number all pairs of a text whose rows begin at offset 0.

        extra: (p, 2) int32 types of the view, each pair once; they are the first entries, whether they meet or not.
        """
        by, to = cuts[0](source.values), cuts[1](target.values)
        starts = cell_starts(source, target)
        cells = np.empty(starts[-1], np.uint32)
        keys, numbers = np.zeros(_SLOTS, np.uint64), np.zeros(_SLOTS, np.uint32)
        one_each = np.arange(len(extra) + 1, dtype=np.int64)
        columns = np.ascontiguousarray(extra.T)
        rows = (columns[0], one_each, columns[1], one_each)
        keys, numbers, known = kernels.number_pairs(*rows, np.empty(len(extra), np.uint32), keys, numbers, 0)
        rows = (by, source.offsets, to, target.offsets)
        keys, numbers, known = kernels.number_pairs(*rows, cells, keys, numbers, known)
        back = np.empty_like(cells)
        kernels.turned(source.offsets, target.offsets, starts, cells, back)
        return cls(
            (cuts[0].size, cuts[1].size),
            _entries(keys, numbers, known),
            Words(
                by, source.offsets, to, target.offsets, cells, starts, kernels.twins(by, source.offsets, cuts[0].size)
            ),
            Words(
                to, target.offsets, by, source.offsets, back, starts, kernels.twins(to, target.offsets, cuts[1].size)
            ),
        )


def cell_starts(source: Ragged, target: Ragged) -> NDArray[np.int64]:
    """(n + 1,) the first cell of each pair."""
    starts = np.zeros(len(source) + 1, np.int64)
    np.cumsum(source.lengths * target.lengths, out=starts[1:])
    return starts


def _entries(keys: NDArray[np.uint64], numbers: NDArray[np.uint32], known: int) -> NDArray[np.int32]:
    """(known, 2) the types of each numbered pair."""
    slots = np.flatnonzero(keys)
    unpacked = keys[slots] - np.uint64(1)
    entries = np.empty((known, 2), np.int32)
    entries[numbers[slots], 0] = (unpacked >> np.uint64(32)).astype(np.int32)
    entries[numbers[slots], 1] = (unpacked & np.uint64(0xFFFFFFFF)).astype(np.int32)
    return entries
