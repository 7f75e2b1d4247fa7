"""The trained model of `gibbs`: the parameters of all samplers, posteriors of new pairs, and links from posteriors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.aligners import Alignments, checked_array
from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import ALPHA, FERTILITY, Known, Tables, Words
from interlace.alignment.links import reverse_links
from interlace.alignment.pair_numbers import PairTable
from interlace.alignment.symmetrization import symmetrize
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

MAX_JUMP = 100  # longer jumps are counted as this one
FERTILITIES = 10  # number of links from which the fertility ratio is constant
NULL = 0.2  # probability of an unaligned word (Östling and Tiedemann 2016)
UNKNOWN_LINKS = 1.0  # an unknown word is treated like one that was linked once, to another word
_ROWS = 100  # pairs per task of a thread
_SEED = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Cut:
    """A map from the types of a vocabulary to those of a view. numbers: (types,) int32. size: types of the view."""

    numbers: NDArray[np.int32]
    size: int

    @classmethod
    def of(cls, spellings: Sequence[str], letters: int) -> Cut:
        """Map each spelling to its first `letters` letters; 0: the whole spelling."""
        numbers = np.empty(len(spellings), np.int32)
        seen: dict[str, int] = {}
        for number, spelling in enumerate(spellings):
            word = spelling[:letters] if letters else spelling
            numbers[number] = seen.setdefault(word, len(seen))
        return cls(numbers, len(seen))

    def __call__(self, types: NDArray[np.int32]) -> NDArray[np.int32]:
        """(n,) types of the view; unknown types remain -1."""
        if not self.size:
            return np.full(len(types), -1, np.int32)
        return np.where(types < 0, np.int32(-1), self.numbers[types])


Cuts = tuple[Cut, Cut]  # of source and target


@dataclass(frozen=True)
class SamplerDirection:
    """What one sampler learned, averaged over its last sweeps; counts are in links and include the prior.

    entries: (m, 2) int32 drawn and drawing type of the pairs that were ever linked or are in the prior.
    pairs: (m,) by entry. words: (types,) by drawn type. alone: (types,) words without partner.
    jumps: (2 * MAX_JUMP + 1,) probabilities. fertility: (types, FERTILITIES) as `Tables.fertility`.
    """

    entries: NDArray[np.int32]
    pairs: NDArray[np.float32]
    words: NDArray[np.float32]
    alone: NDArray[np.float32]
    jumps: NDArray[np.float32]
    fertility: NDArray[np.float32]

    @classmethod
    def restore(
        cls, arrays: Mapping[str, NDArray[Any]], prefix: str, cuts: Cuts, where: str
    ) -> SamplerDirection:
        """Rebuild a direction from `GibbsModel.arrays`, or raise a DataError. cuts: of drawn and drawing side."""
        by, to = cuts[0].size, cuts[1].size
        entry_count = np.size(arrays.get(f"{prefix}.entries", ())) // 2
        entries = checked_array(arrays, f"{prefix}.entries", np.int32, (entry_count, 2), where)
        if ((entries < 0) | (entries >= (by, to))).any():
            raise DataError(
                f"{where}: damaged model: '{prefix}.entries' has an index beyond the {by} and {to} words"
            )
        shapes = {
            "pairs": (entry_count,),
            "words": (by,),
            "alone": (to,),
            "jumps": (2 * MAX_JUMP + 1,),
            "fertility": (by, FERTILITIES),
        }
        restored = {}
        for name, shape in shapes.items():
            array = checked_array(arrays, f"{prefix}.{name}", np.float32, shape, where)
            minimum = (
                0 if name == "alone" else np.finfo(np.float32).tiny
            )  # divisors and factors are positive
            if not (np.isfinite(array).all() and (array >= minimum).all()):
                raise DataError(
                    f"{where}: damaged model: '{prefix}.{name}' holds an invalid count or probability"
                )
            restored[name] = array
        return cls(entries, **restored)

    @cached_property
    def known(self) -> Known:
        """The parameters in the form of the kernels."""
        links = np.append(np.float32(ALPHA), self.pairs)
        alone = self.alone + np.float32(ALPHA)
        total = float(alone.sum(dtype=np.float64)) + ALPHA
        table = PairTable.of(self.entries)
        return Known(
            table, links, self.words, alone / np.float32(total), UNKNOWN_LINKS, ALPHA / total
        )


@dataclass(frozen=True)
class ViewModel:
    """The samplers of one view: how it cuts words, and both directions."""

    cuts: Cuts
    forward: SamplerDirection
    backward: SamplerDirection

    def samplers(self, source: Ragged, target: Ragged) -> list[tuple[Words, Known, Tables]]:
        """Return what the kernels need to align a text forward and backward."""
        middle = int(max(source.lengths.max(initial=0), target.lengths.max(initial=0))) + 2
        starts = cell_starts(source, target)
        source_types = self.cuts[0](source.values)
        target_types = self.cuts[1](target.values)
        no_cells = np.empty(0, np.uint32)  # for training only, as twins
        no_twins = np.empty(0, np.int32)
        forward = Words(
            source_types, source.offsets, target_types, target.offsets, no_cells, starts, no_twins
        )
        backward = Words(
            target_types, target.offsets, source_types, source.offsets, no_cells, starts, no_twins
        )
        return [
            (
                forward,
                self.forward.known,
                tables_of(self.forward.jumps, self.forward.fertility, middle),
            ),
            (
                backward,
                self.backward.known,
                tables_of(self.backward.jumps, self.backward.fertility, middle),
            ),
        ]


@dataclass(frozen=True)
class Posteriors:
    """Posterior probabilities of each cell of a text: of target words drawing, and of source words drawing.

    source_starts, target_starts: (n + 1,) the first word of each pair; cell_starts: its first cell.
    by_target: (cells,) rows by target word; by_source: (cells,) rows by source word.
    """

    source_starts: NDArray[np.int64]
    target_starts: NDArray[np.int64]
    cell_starts: NDArray[np.int64]
    by_target: NDArray[np.float32]
    by_source: NDArray[np.float32]

    @cached_property
    def mean(self) -> NDArray[np.float32]:
        """(cells,) the mean of both directions, rows by source word."""
        mean = np.empty_like(self.by_target)
        kernels.transpose(
            self.source_starts, self.target_starts, self.cell_starts, self.by_target, mean
        )
        mean += self.by_source
        mean *= np.float32(0.5)
        return mean


@dataclass(frozen=True)
class GibbsModel:
    """All samplers, by view."""

    views: list[ViewModel]
    seed: int

    def posteriors(self, source: Ragged, target: Ragged, pool: ThreadPoolExecutor) -> Posteriors:
        """Return the posterior probability of each link of a text.

        Rows begin at offset 0; their types are those of the vocabularies, -1 for unknown words.
        """
        starts = cell_starts(source, target)
        sums = [
            np.zeros(starts[-1], np.float32),
            np.zeros(starts[-1], np.float32),
        ]  # forward, backward
        samplers = [sampler for view in self.views for sampler in view.samplers(source, target)]

        def align(first: int) -> None:
            rows = (first, min(first + _ROWS, len(source)))
            for number, (words, known, tables) in enumerate(samplers):
                seed = np.uint64((2 * self.seed + 1) * _SEED + number & 0xFFFFFFFFFFFFFFFF)
                kernels.add_posteriors(
                    words, rows, known, tables, seed, sums[number % 2], 1 / len(self.views)
                )

        list(pool.map(align, range(0, len(source), _ROWS)))
        return Posteriors(source.offsets, target.offsets, starts, sums[0], sums[1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that `restore` needs besides the cuts, which follow from the word types."""
        arrays = {}
        for number, view in enumerate(self.views):
            for way, direction in (("forward", view.forward), ("backward", view.backward)):
                for field in fields(direction):
                    arrays[f"{number}.{way}.{field.name}"] = getattr(direction, field.name)
        return arrays

    @classmethod
    def restore(
        cls, arrays: Mapping[str, NDArray[Any]], cuts: Sequence[Cuts], seed: int, where: str
    ) -> GibbsModel:
        """Rebuild the model from its arrays; errors as `SamplerDirection.restore`."""
        views = []
        for number, sides in enumerate(cuts):
            forward = SamplerDirection.restore(arrays, f"{number}.forward", sides, where)
            backward = SamplerDirection.restore(arrays, f"{number}.backward", sides[::-1], where)
            views.append(ViewModel(sides, forward, backward))
        return cls(views, seed)


def cell_starts(source: Ragged, target: Ragged) -> NDArray[np.int64]:
    """(n + 1,) the first cell of each pair."""
    starts = np.zeros(len(source) + 1, np.int64)
    np.cumsum(source.lengths * target.lengths, out=starts[1:])
    return starts


def tables_of(jumps: NDArray[np.float32], fertility: NDArray[np.float32], middle: int) -> Tables:
    """Return tables for pairs of fewer than `middle` words."""
    ahead = jumps[clipped_widths(middle)]
    return Tables(ahead, ahead[::-1].copy(), middle, fertility, NULL / (1 - NULL), FERTILITY)


def clipped_widths(middle: int) -> NDArray[np.int64]:
    """(2 * middle + 1,) the index in (2 * MAX_JUMP + 1,) counts of each jump by -middle to middle words."""
    return np.clip(np.arange(-middle, middle + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP


def links_of(
    posteriors: Posteriors, symmetrization: str, threshold: float, threads: int = 0
) -> Alignments:
    """Return the links whose mean posterior of both directions reaches the threshold (`symmetrization`: "posterior").

    With a heuristic: the most probable partner of each word, if more probable than none, of both directions.
    threads: of the heuristic; 0: one per processor.
    """
    if symmetrization == "posterior":
        return _likely_links(posteriors, threshold)
    source, target, starts = (
        posteriors.source_starts,
        posteriors.target_starts,
        posteriors.cell_starts,
    )
    forward = reverse_links(_most_probable(source, target, starts, posteriors.by_target))
    backward = _most_probable(target, source, starts, posteriors.by_source)
    links = symmetrize(forward, backward, symmetrization, threads or None)
    rows = links.rows()
    cells = starts[rows] + links.flat[:, 0] * np.diff(target)[rows] + links.flat[:, 1]
    return Alignments(links, np.clip(posteriors.mean[cells], np.float32(1e-6), np.float32(1)))


def _likely_links(posteriors: Posteriors, threshold: float) -> Alignments:
    cells = np.flatnonzero(posteriors.mean >= np.float32(threshold))
    rows = np.searchsorted(posteriors.cell_starts, cells, side="right") - 1
    source, target = np.divmod(
        cells - posteriors.cell_starts[rows], np.diff(posteriors.target_starts)[rows]
    )
    links = np.stack([source, target], axis=1).astype(np.int32)
    lengths = np.bincount(rows, minlength=len(posteriors.cell_starts) - 1)
    return Alignments(
        Ragged.from_lengths(links, lengths), np.minimum(posteriors.mean[cells], np.float32(1))
    )


def _most_probable(
    by: NDArray[np.int64],
    to: NDArray[np.int64],
    starts: NDArray[np.int64],
    posterior: NDArray[np.float32],
) -> Ragged:
    """Return rows of (drawing word, drawn word), sorted; `by` and `to` are the first words of each pair."""
    chosen = np.full(to[-1], -1, np.int32)
    kernels.most_probable(by, to, starts, posterior, chosen)
    words = Ragged(chosen, to)
    aligned = chosen >= 0
    pairs = np.stack([words.columns()[aligned].astype(np.int32), chosen[aligned]], axis=1)
    return Ragged.from_lengths(pairs, np.bincount(words.rows()[aligned], minlength=len(words)))
