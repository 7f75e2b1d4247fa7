"""What all samplers learnt together, and how it links pairs that none of them saw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.aligners import _gibbs_infer_kernels as kernels
from interlace.aligners._arrays import checked
from interlace.aligners._gibbs_cells import Posteriors, number_pairs
from interlace.aligners._gibbs_chain import FERTILITIES, WIDEST, Learnt, tables_of
from interlace.aligners._gibbs_kernels import Words
from interlace.aligners._gibbs_views import Cut, cell_starts
from interlace.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged

_ROWS = 100  # pairs a thread works on at a time


@dataclass(frozen=True)
class Direction:
    """One sampler's knowledge, with the type pairs it is about.

    entries: (m, 2) int32 drawn and drawing type of the pairs that were ever linked or believed in. unseen: links that
    the prior gives any other pair.
    """

    entries: NDArray[np.int32]
    learnt: Learnt
    unseen: float

    @classmethod
    def of(cls, entries: NDArray[np.int32], learnt: Learnt, unseen: float) -> Direction:
        """Without the pairs that were never linked, which is most of them."""
        linked = learnt.pairs > 1.5 * unseen
        return cls(np.ascontiguousarray(entries[linked]), replace(learnt, pairs=learnt.pairs[linked]), unseen)

    @cached_property
    def known(self) -> kernels.Known:
        """As the compiled loops need it; made once, because text to link comes in many chunks."""
        size = 1 << max(4, int(2 * len(self.entries)).bit_length())
        one_each = np.arange(len(self.entries) + 1, dtype=np.int64)
        columns = np.ascontiguousarray(self.entries.T)
        keys, numbers, _ = number_pairs(
            columns[0], one_each, columns[1], one_each, np.empty(len(self.entries), np.uint32),
            np.zeros(size, np.uint64), np.zeros(size, np.uint32), 0,
        )  # fmt: skip
        links = np.zeros(len(keys), np.float32)
        links[keys != 0] = self.learnt.pairs[numbers[keys != 0]]
        alone = self.learnt.alone + np.float32(self.unseen)
        total = float(alone.sum(dtype=np.float64)) + self.unseen
        single = 1.0  # a word that was never seen: as one that was linked once, to something else
        return kernels.Known(
            keys, links, self.learnt.words, alone / np.float32(total), self.unseen, single, self.unseen / total
        )


@dataclass(frozen=True)
class Model:
    """All samplers: by view, how words are cut and what both directions learnt. null: probability of no partner."""

    cuts: list[tuple[Cut, Cut]]
    directions: list[tuple[Direction, Direction]]
    null: float
    seed: int

    def posteriors(self, source: Ragged, target: Ragged, pool: ThreadPoolExecutor) -> Posteriors:
        """How likely each link of a text is.

        Rows begin at offset 0; their types are those of the vocabularies that were cut, -1 for unknown ones.
        """
        starts = cell_starts(source, target)
        out = (np.zeros(starts[-1], np.float32), np.zeros(starts[-1], np.float32))
        samplers = [
            sampler
            for cuts, directions in zip(self.cuts, self.directions, strict=True)
            for sampler in self._samplers(source, target, starts, cuts, directions)
        ]

        def link(first: int) -> None:
            rows = (first, min(first + _ROWS, len(source)))
            for number, (words, known, tables) in enumerate(samplers):
                seed = np.uint64((2 * self.seed + 1) * 0x9E3779B97F4A7C15 + number & 0xFFFFFFFFFFFFFFFF)
                kernels.link(words, rows, known, tables, seed, out[number % 2], 1 / len(self.cuts))

        list(pool.map(link, range(0, len(source), _ROWS)))
        return Posteriors(source.offsets, target.offsets, starts, *out)

    def _samplers(
        self,
        source: Ragged,
        target: Ragged,
        starts: NDArray[np.int64],
        cuts: tuple[Cut, Cut],
        directions: tuple[Direction, Direction],
    ) -> list[tuple[Words, kernels.Known, Any]]:
        by, to = cuts[0](source.values), cuts[1](target.values)
        none = (np.empty(0, np.uint32), np.empty(0, np.int32))  # what only sampling needs
        texts = (
            Words(by, source.offsets, to, target.offsets, none[0], starts, none[1]),
            Words(to, target.offsets, by, source.offsets, none[0], starts, none[1]),
        )
        middle = int(max(source.lengths.max(initial=0), target.lengths.max(initial=0))) + 2
        return [
            (words, own.known, tables_of(own.learnt.jumps, own.learnt.fertility, middle, self.null))
            for words, own in zip(texts, directions, strict=True)
        ]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that `restored` needs beside the cuts, which follow from the word types."""
        return {
            f"{view}.{way}.{name}": array
            for view, directions in enumerate(self.directions)
            for way, own in zip(("forward", "backward"), directions, strict=True)
            for name, array in {"entries": own.entries, **vars(own.learnt)}.items()
        }


def restored(
    arrays: Mapping[str, NDArray[Any]], cuts: list[tuple[Cut, Cut]], unseen: float, where: str
) -> list[tuple[Direction, Direction]]:
    """The directions that `Model.arrays` wrote.

    Raises:
        DataError: an array is missing, or does not fit the others and the words.
    """
    return [
        (
            _restored(arrays, f"{view}.forward", (source, target), unseen, where),
            _restored(arrays, f"{view}.backward", (target, source), unseen, where),
        )
        for view, (source, target) in enumerate(cuts)
    ]


def _restored(
    arrays: Mapping[str, NDArray[Any]], prefix: str, cuts: tuple[Cut, Cut], unseen: float, where: str
) -> Direction:
    """One direction; cuts: of what is drawn and of what draws. The compiled loops look nothing over again."""
    by, to = cuts[0].size, cuts[1].size
    many = len(arrays.get(f"{prefix}.entries", ()))
    shapes = {
        "pairs": (many,), "words": (by,), "alone": (to,), "jumps": (2 * WIDEST + 1,), "fertility": (by, FERTILITIES),
    }  # fmt: skip
    entries = checked(arrays, f"{prefix}.entries", np.int32, (many, 2), where)
    found = {name: checked(arrays, f"{prefix}.{name}", np.float32, shape, where) for name, shape in shapes.items()}
    if ((entries < 0) | (entries >= (by, to))).any():
        raise DataError(f"{where}: damaged model: '{prefix}.entries' names words beyond the {by} and {to} there are")
    for name, array in found.items():
        least = 0 if name == "alone" else np.finfo(np.float32).tiny  # what is divided by, or multiplied, is positive
        if not (np.isfinite(array).all() and (array >= least).all()):
            raise DataError(f"{where}: damaged model: '{prefix}.{name}' holds what is no count or probability")
    return Direction(entries, Learnt(**found), unseen)
