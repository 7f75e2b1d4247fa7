"""The trained model of `gibbs`: the parameters of all samplers, posteriors of new pairs, and links from posteriors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.aligners import Alignments, checked_array
from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import Known, Posteriors, Words
from interlace.aligners.gibbs.sampler import (
    FERTILITIES,
    MAX_JUMP,
    Cut,
    SamplerParameters,
    cell_starts,
    number_entries,
    tables_of,
)
from interlace.alignment.links import reverse_links
from interlace.alignment.symmetrization import symmetrize
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

_ROWS = 100  # pairs per task of a thread


@dataclass(frozen=True)
class SamplerDirection:
    """The parameters of one sampler with the type pairs they belong to.

    entries: (m, 2) int32 drawn and drawing type of the pairs that were ever linked or are in the prior. unseen: links
    that the Dirichlet prior gives any other pair.
    """

    entries: NDArray[np.int32]
    parameters: SamplerParameters
    unseen: float

    @classmethod
    def of(cls, entries: NDArray[np.int32], parameters: SamplerParameters, unseen: float) -> SamplerDirection:
        """Drop the pairs that were never linked, which are most of them."""
        linked = parameters.pairs > 1.5 * unseen
        kept = replace(parameters, pairs=parameters.pairs[linked])
        return cls(np.ascontiguousarray(entries[linked]), kept, unseen)

    @cached_property
    def known(self) -> Known:
        """The parameters in the form of the kernels."""
        size = 1 << max(4, int(2 * len(self.entries)).bit_length())
        keys, numbers, _ = number_entries(self.entries, size)
        links = np.zeros(len(keys), np.float32)
        links[keys != 0] = self.parameters.pairs[numbers[keys != 0]]
        alone = self.parameters.alone + np.float32(self.unseen)
        total = float(alone.sum(dtype=np.float64)) + self.unseen
        unknown_links = 1.0  # an unknown word is treated like one that was linked once, to another word
        probabilities = alone / np.float32(total)
        return Known(keys, links, self.parameters.words, probabilities, self.unseen, unknown_links, self.unseen / total)


@dataclass(frozen=True)
class GibbsModel:
    """All samplers: by view, the cuts of words and both directions. null: probability of no partner."""

    cuts: list[tuple[Cut, Cut]]
    directions: list[tuple[SamplerDirection, SamplerDirection]]
    null: float
    seed: int

    def posteriors(self, source: Ragged, target: Ragged, pool: ThreadPoolExecutor) -> Posteriors:
        """Return the posterior probability of each link of a text.

        Rows begin at offset 0; their types are those of the vocabularies, -1 for unknown words.
        """
        starts = cell_starts(source, target)
        out = (np.zeros(starts[-1], np.float32), np.zeros(starts[-1], np.float32))
        samplers = [
            sampler
            for cuts, directions in zip(self.cuts, self.directions, strict=True)
            for sampler in self._samplers(source, target, starts, cuts, directions)
        ]

        def align(first: int) -> None:
            rows = (first, min(first + _ROWS, len(source)))
            for number, (words, known, tables) in enumerate(samplers):
                seed = np.uint64((2 * self.seed + 1) * 0x9E3779B97F4A7C15 + number & 0xFFFFFFFFFFFFFFFF)
                kernels.add_posteriors(words, rows, known, tables, seed, out[number % 2], 1 / len(self.cuts))

        list(pool.map(align, range(0, len(source), _ROWS)))
        return Posteriors(source.offsets, target.offsets, starts, *out)

    def _samplers(
        self,
        source: Ragged,
        target: Ragged,
        starts: NDArray[np.int64],
        cuts: tuple[Cut, Cut],
        directions: tuple[SamplerDirection, SamplerDirection],
    ) -> list[tuple[Words, Known, Any]]:
        by, to = cuts[0](source.values), cuts[1](target.values)
        unused = (np.empty(0, np.uint32), np.empty(0, np.int32))  # needed for training only
        texts = (
            Words(by, source.offsets, to, target.offsets, unused[0], starts, unused[1]),
            Words(to, target.offsets, by, source.offsets, unused[0], starts, unused[1]),
        )
        middle = int(max(source.lengths.max(initial=0), target.lengths.max(initial=0))) + 2
        return [
            (words, own.known, tables_of(own.parameters.jumps, own.parameters.fertility, middle, self.null))
            for words, own in zip(texts, directions, strict=True)
        ]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that `restore_directions` needs besides the cuts, which follow from the word types."""
        return {
            f"{view}.{way}.{name}": array
            for view, directions in enumerate(self.directions)
            for way, own in zip(("forward", "backward"), directions, strict=True)
            for name, array in {"entries": own.entries, **vars(own.parameters)}.items()
        }


def restore_directions(
    arrays: Mapping[str, NDArray[Any]], cuts: list[tuple[Cut, Cut]], unseen: float, where: str
) -> list[tuple[SamplerDirection, SamplerDirection]]:
    """Rebuild the directions of each view from what `GibbsModel.arrays` returned.

    Raises:
        DataError: an array is missing, or does not fit the others and the words.
    """
    return [
        (
            _restore(arrays, f"{view}.forward", (source, target), unseen, where),
            _restore(arrays, f"{view}.backward", (target, source), unseen, where),
        )
        for view, (source, target) in enumerate(cuts)
    ]


def _restore(
    arrays: Mapping[str, NDArray[Any]], prefix: str, cuts: tuple[Cut, Cut], unseen: float, where: str
) -> SamplerDirection:
    """Rebuild one direction; cuts: of the drawn and of the drawing side."""
    by, to = cuts[0].size, cuts[1].size
    many = len(arrays.get(f"{prefix}.entries", ()))
    shapes = {
        "pairs": (many,), "words": (by,), "alone": (to,), "jumps": (2 * MAX_JUMP + 1,), "fertility": (by, FERTILITIES),
    }  # fmt: skip
    entries = checked_array(arrays, f"{prefix}.entries", np.int32, (many, 2), where)
    found = {
        name: checked_array(arrays, f"{prefix}.{name}", np.float32, shape, where) for name, shape in shapes.items()
    }
    if ((entries < 0) | (entries >= (by, to))).any():
        raise DataError(f"{where}: damaged model: '{prefix}.entries' has an index beyond the {by} and {to} words")
    for name, array in found.items():
        minimum = 0 if name == "alone" else np.finfo(np.float32).tiny  # divisors and factors are positive
        if not (np.isfinite(array).all() and (array >= minimum).all()):
            raise DataError(f"{where}: damaged model: '{prefix}.{name}' holds an invalid count or probability")
    return SamplerDirection(entries, SamplerParameters(**found), unseen)


# ---- links from posteriors ----


def links_above(posteriors: Posteriors, threshold: float) -> Alignments:
    """Return the links whose mean posterior of both directions reaches the threshold."""
    lengths = np.zeros(len(posteriors.cell_starts) - 1, np.int64)
    many = kernels.above(posteriors, threshold, np.empty((0, 2), np.int32), np.empty(0, np.float32), lengths)
    links, confidence = np.empty((many, 2), np.int32), np.empty(many, np.float32)
    kernels.above(posteriors, threshold, links, confidence, lengths)
    return Alignments(Ragged.from_lengths(links, lengths), confidence)


def symmetrized_links(posteriors: Posteriors, heuristic: str) -> Alignments:
    """Return the most probable partner of each word, if more probable than none, of both directions, symmetrized."""
    sides = (posteriors.source_starts, posteriors.target_starts)
    backward = _most_probable(sides[1], sides[0], posteriors.cell_starts, posteriors.by_source)
    forward = reverse_links(_most_probable(*sides, posteriors.cell_starts, posteriors.by_target))
    links = symmetrize(forward, backward, heuristic)
    confidence = np.empty(len(links.flat), np.float32)
    kernels.mean_at(posteriors, links.offsets, np.ascontiguousarray(links.values), confidence)
    return Alignments(links, confidence)


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
