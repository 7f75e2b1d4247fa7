"""The trained model of `gibbs`: the parameters of all samplers, posteriors of new pairs, and links from posteriors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.aligners import Alignments, checked_array
from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import Known, Posteriors, Tables, Words
from interlace.alignment.links import reverse_links
from interlace.alignment.symmetrization import symmetrize
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

Cuts = list[tuple["Cut", "Cut"]]  # by view, of source and target
Directions = list[tuple["SamplerDirection", "SamplerDirection"]]  # by view: forward and backward

MAX_JUMP = 100  # longer jumps are counted as this one
FERTILITIES = 10  # number of links from which the fertility ratio is constant
_ROWS = 100  # pairs per task of a thread


@dataclass(frozen=True)
class Cut:
    """A map from the types of a vocabulary to those of a view. numbers: (types,) int32. size: types of the view."""

    numbers: NDArray[np.int32]
    size: int

    @classmethod
    def of(cls, spellings: Sequence[str], letters: int) -> Cut:
        """Map each spelling to its first `letters` letters; 0: the whole spelling."""
        seen: dict[str, int] = {}
        cut = (spelling[:letters] if letters else spelling for spelling in spellings)
        numbers = np.fromiter((seen.setdefault(word, len(seen)) for word in cut), np.int32, len(spellings))
        return cls(numbers, len(seen))

    def __call__(self, types: NDArray[np.int32]) -> NDArray[np.int32]:
        """(n,) types of the view; unknown types remain -1."""
        if not self.size:
            return np.full(len(types), -1, np.int32)
        return np.where(types < 0, np.int32(-1), self.numbers[types])


@dataclass(frozen=True)
class SamplerDirection:
    """What one sampler learned, averaged over its last sweeps; counts are in links and include the prior.

    unseen: links that the Dirichlet prior gives a type pair that is not in `entries`.
    entries: (m, 2) int32 drawn and drawing type of the pairs that were ever linked or are in the prior.
    pairs: (m,) by entry. words: (types,) by drawn type. alone: (types,) words without partner.
    jumps: (2 * MAX_JUMP + 1,) probabilities. fertility: (types, FERTILITIES) as `Tables.fertility`.
    """

    unseen: float
    entries: NDArray[np.int32]
    pairs: NDArray[np.float32]
    words: NDArray[np.float32]
    alone: NDArray[np.float32]
    jumps: NDArray[np.float32]
    fertility: NDArray[np.float32]

    @classmethod
    def restore(
        cls, arrays: Mapping[str, NDArray[Any]], prefix: str, cuts: tuple[Cut, Cut], unseen: float, where: str
    ) -> SamplerDirection:
        """Rebuild a direction from `GibbsModel.arrays`, or raise a DataError. cuts: of drawn and drawing side."""
        by, to = cuts[0].size, cuts[1].size
        many = np.size(arrays.get(f"{prefix}.entries", ())) // 2
        entries = checked_array(arrays, f"{prefix}.entries", np.int32, (many, 2), where)
        if ((entries < 0) | (entries >= (by, to))).any():
            raise DataError(f"{where}: damaged model: '{prefix}.entries' has an index beyond the {by} and {to} words")
        sizes = {"pairs": (many,), "words": (by,), "alone": (to,), "jumps": (2 * MAX_JUMP + 1,)}
        found = {}
        for name, shape in {**sizes, "fertility": (by, FERTILITIES)}.items():
            array = found[name] = checked_array(arrays, f"{prefix}.{name}", np.float32, shape, where)
            minimum = 0 if name == "alone" else np.finfo(np.float32).tiny  # divisors and factors are positive
            if not (np.isfinite(array).all() and (array >= minimum).all()):
                raise DataError(f"{where}: damaged model: '{prefix}.{name}' holds an invalid count or probability")
        return cls(unseen, entries, **found)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields but `unseen`."""
        names = ("entries", "pairs", "words", "alone", "jumps", "fertility")
        return {name: getattr(self, name) for name in names}

    @cached_property
    def known(self) -> Known:
        """The parameters in the form of the kernels."""
        size = 1 << max(4, int(2 * len(self.entries)).bit_length())
        keys, numbers, _ = number_entries(self.entries, size)
        links = np.zeros(len(keys), np.float32)
        links[keys != 0] = self.pairs[numbers[keys != 0]]
        alone = self.alone + np.float32(self.unseen)
        total = float(alone.sum(dtype=np.float64)) + self.unseen
        unknown_links = 1.0  # an unknown word is treated like one that was linked once, to another word
        probabilities = alone / np.float32(total)
        return Known(keys, links, self.words, probabilities, self.unseen, unknown_links, self.unseen / total)


@dataclass(frozen=True)
class GibbsModel:
    """All samplers: by view, the cuts of words and both directions. null: probability of no partner."""

    cuts: Cuts
    directions: Directions
    null: float
    seed: int

    def posteriors(self, source: Ragged, target: Ragged, pool: ThreadPoolExecutor) -> Posteriors:
        """Return the posterior probability of each link of a text.

        Rows begin at offset 0; their types are those of the vocabularies, -1 for unknown words.
        """
        starts = cell_starts(source, target)
        out = (np.zeros(starts[-1], np.float32), np.zeros(starts[-1], np.float32))
        middle = int(max(source.lengths.max(initial=0), target.lengths.max(initial=0))) + 2
        cells, twins = np.empty(0, np.uint32), np.empty(0, np.int32)  # for training only
        samplers = []
        for cuts, directions in zip(self.cuts, self.directions, strict=True):
            sides = (cuts[0](source.values), source.offsets), (cuts[1](target.values), target.offsets)
            for (by, to), own in zip((sides, sides[::-1]), directions, strict=True):
                tables = tables_of(own.jumps, own.fertility, middle, self.null)
                samplers.append((Words(*by, *to, cells, starts, twins), own.known, tables))

        def align(first: int) -> None:
            rows = (first, min(first + _ROWS, len(source)))
            for number, (words, known, tables) in enumerate(samplers):
                seed = np.uint64((2 * self.seed + 1) * 0x9E3779B97F4A7C15 + number & 0xFFFFFFFFFFFFFFFF)
                kernels.add_posteriors(words, rows, known, tables, seed, out[number % 2], 1 / len(self.cuts))

        list(pool.map(align, range(0, len(source), _ROWS)))
        return Posteriors(source.offsets, target.offsets, starts, *out)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that `restore_directions` needs besides the cuts, which follow from the word types."""
        return {
            f"{view}.{way}.{name}": array
            for view, directions in enumerate(self.directions)
            for way, own in zip(("forward", "backward"), directions, strict=True)
            for name, array in own.arrays().items()
        }


def restore_directions(arrays: Mapping[str, NDArray[Any]], cuts: Cuts, unseen: float, where: str) -> Directions:
    """Rebuild the directions of each view from what `GibbsModel.arrays` returned; errors as its `restore`."""
    return [
        (
            SamplerDirection.restore(arrays, f"{view}.forward", sides, unseen, where),
            SamplerDirection.restore(arrays, f"{view}.backward", sides[::-1], unseen, where),
        )
        for view, sides in enumerate(cuts)
    ]


def cell_starts(source: Ragged, target: Ragged) -> NDArray[np.int64]:
    """(n + 1,) the first cell of each pair."""
    starts = np.zeros(len(source) + 1, np.int64)
    np.cumsum(source.lengths * target.lengths, out=starts[1:])
    return starts


def number_entries(entries: NDArray[np.int32], slots: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32], int]:
    """Number distinct type pairs, shape (m, 2), in a new table; return keys, numbers, and m."""
    offsets = np.arange(len(entries) + 1, dtype=np.int64)
    columns = np.ascontiguousarray(entries.T)
    keys, numbers, cells = np.zeros(slots, np.uint64), np.zeros(slots, np.uint32), np.empty(len(entries), np.uint32)
    table: tuple[NDArray[np.uint64], NDArray[np.uint32], int] = kernels.number_pairs(
        columns[0], offsets, columns[1], offsets, cells, keys, numbers, 0
    )
    return table


def tables_of(jumps: NDArray[np.float32], fertility: NDArray[np.float32], middle: int, null: float) -> Tables:
    """Return tables for pairs of fewer than `middle` words."""
    ahead = jumps[np.clip(np.arange(-middle, middle + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP]
    return Tables(ahead, ahead[::-1].copy(), middle, fertility, null / (1 - null), kernels.FERTILITY)


def links_of(posteriors: Posteriors, symmetrization: str, threshold: float, threads: int = 0) -> Alignments:
    """Return the links whose mean posterior of both directions reaches the threshold (`symmetrization`: "posterior").

    With a heuristic: the most probable partner of each word, if more probable than none, of both directions.
    threads: of the heuristic; 0: one per processor.
    """
    sources, targets, cells, by_target, by_source = posteriors
    if symmetrization == "posterior":
        lengths = np.zeros(len(cells) - 1, np.int64)
        many = kernels.above(posteriors, threshold, np.empty((0, 2), np.int32), np.empty(0, np.float32), lengths)
        found, confidence = np.empty((many, 2), np.int32), np.empty(many, np.float32)
        kernels.above(posteriors, threshold, found, confidence, lengths)
        return Alignments(Ragged.from_lengths(found, lengths), confidence)
    forward = reverse_links(_most_probable(sources, targets, cells, by_target))
    links = symmetrize(forward, _most_probable(targets, sources, cells, by_source), symmetrization, threads or None)
    rows, (i, j) = links.rows(), links.flat.T
    first = cells[:-1][rows]
    forward_cells, backward_cells = first + j * np.diff(sources)[rows] + i, first + i * np.diff(targets)[rows] + j
    mean = np.float32(0.5) * (by_target[forward_cells] + by_source[backward_cells])
    return Alignments(links, np.clip(mean, np.float32(1e-6), np.float32(1)))


def _most_probable(
    by: NDArray[np.int64], to: NDArray[np.int64], starts: NDArray[np.int64], posterior: NDArray[np.float32]
) -> Ragged:
    """Return rows of (drawing word, drawn word), sorted; `by` and `to` are the first words of each pair."""
    chosen = np.full(to[-1], -1, np.int32)
    kernels.most_probable(by, to, starts, posterior, chosen)
    words = Ragged(chosen, to)
    aligned = chosen >= 0
    pairs = np.stack([words.columns()[aligned].astype(np.int32), chosen[aligned]], axis=1)
    return Ragged.from_lengths(pairs, np.bincount(words.rows()[aligned], minlength=len(words)))
