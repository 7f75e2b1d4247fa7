"""One sampler in one direction: sweeps through three models, each starting from the links of the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.aligners import _gibbs_kernels as kernels
from interlace.aligners._gibbs_kernels import Counts, Found, Tables, Words

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from interlace.core.randomness import Generator

WIDEST = 100  # jumps beyond are counted as this one
FERTILITIES = 10  # links a word may have before more make no difference


@dataclass(frozen=True)
class Beliefs:
    """The settings that a sampler needs, as `Gibbs` describes them; 1 / alpha is whole."""

    null: float
    alpha: float
    jump_alpha: float
    fertility_alpha: float


@dataclass(frozen=True)
class Learnt:
    """What one sampler knows in the end, averaged over its last sweeps; counts are in links.

    pairs: (m,) by type pair. words: (types,) by drawn type. alone: (types,) words that drew none. jumps:
    (2 * WIDEST + 1,) probabilities. fertility: (types, FERTILITIES) as `Tables.fertility`. The prior is in all of them.
    """

    pairs: NDArray[np.float32]
    words: NDArray[np.float32]
    alone: NDArray[np.float32]
    jumps: NDArray[np.float32]
    fertility: NDArray[np.float32]


@dataclass(frozen=True)
class Side:
    """What a direction needs beside the text: the drawn type of each type pair, sizes, and links believed in.

    prior: (p,) of the first p type pairs; of others there are none.
    """

    drawn: NDArray[np.int32]
    by_types: int
    to_types: int
    prior: NDArray[np.float64]


class Chain:
    """The state of one sampler."""

    def __init__(self, words: Words, side: Side, beliefs: Beliefs, rng: Generator) -> None:
        self._words, self._side, self._beliefs = words, side, beliefs
        self._middle = longest(words) + 2
        self._state = np.uint64(rng.integers(1, 2**63))
        self.chosen = _first_links(words, beliefs.null, rng)
        self.counts = first_counts(words, side, self.chosen, round(1 / beliefs.alpha))
        self._jumps = np.ones(2 * WIDEST + 1, np.float32)
        self._tables = tables_of(self._jumps, np.ones((side.by_types, 1), np.float32), self._middle, beliefs.null)
        self.posterior = np.zeros(len(words.cells), np.float32)
        self._sums = [np.zeros(size, np.float32) for size in (len(side.drawn), side.by_types, side.to_types)]
        self._kept = 0

    def run(self, schedule: list[int], tick: Callable[[], None]) -> Learnt:
        """So many sweeps of each model; posteriors and counts are means over the second half of the last."""
        last = len(schedule)
        for model, sweeps in enumerate(schedule, kernels.WORDS):
            for number in range(sweeps):
                self._sweep(model, keep=model == last and 2 * number >= sweeps)
                tick()
        self.posterior /= self._kept
        unit = self.counts.unit * self._kept
        pairs, words, alone = (part / np.float32(unit) for part in self._sums)
        return Learnt(pairs, words, alone, self._jumps, self._tables.fertility)

    def _sweep(self, model: int, *, keep: bool) -> None:
        found = Found(
            np.zeros(2 * self._middle + 1, np.int64),
            np.zeros((self._side.by_types, FERTILITIES), np.int32),
            self.posterior,
            keep,
        )
        state = kernels.sweep(
            self._words, self.chosen, self.counts, self._tables._replace(model=model), found, self._state
        )
        self._state = np.uint64(state)
        if keep:
            self._kept += 1
            counts: tuple[NDArray[Any], ...] = (self.counts.pairs, self.counts.words, self.counts.alone)
            for total, part in zip(self._sums, counts, strict=True):
                np.add(total, part, out=total)
        self._jumps = _jump_probabilities(found.jumps, self._beliefs.jump_alpha, self._middle - 2)
        fertility = _fertility_ratios(found.fertility, self._beliefs.fertility_alpha)
        self._tables = tables_of(self._jumps, fertility, self._middle, self._beliefs.null)


def first_counts(words: Words, side: Side, chosen: NDArray[np.int32], unit: int) -> Counts:
    """The counts of given links; 32 bits a type pair where no sweep can need more."""
    rows = np.repeat(np.arange(len(words.to_starts) - 1), np.diff(words.to_starts))
    linked = chosen != kernels.NONE
    many = np.diff(words.by_starts)[rows]
    place = np.arange(len(rows)) - words.to_starts[rows]
    cells = words.cell_starts[rows] + place * many + chosen
    believed = np.round(unit * side.prior).astype(np.int64)
    pairs = np.bincount(words.cells[cells[linked]], minlength=len(side.drawn))
    pairs *= unit  # in place: there are a few type pairs to ten cells, and memory is what bounds the text
    pairs += 1
    pairs[: len(believed)] += believed
    by = np.bincount(side.drawn, weights=pairs, minlength=side.by_types).astype(np.int64)
    alone = unit * np.bincount(words.to[~linked], minlength=side.to_types)
    most = 1 + believed.max(initial=0) + unit * int(np.bincount(words.to).max(initial=0))
    width = np.int32 if most <= np.iinfo(np.int32).max else np.int64
    return Counts(pairs.astype(width), by, alone, alone.sum(keepdims=True), unit)


def tables_of(jumps: NDArray[np.float32], fertility: NDArray[np.float32], middle: int, null: float) -> Tables:
    """Tables for pairs of fewer than `middle` words."""
    ahead = jumps[np.clip(np.arange(-middle, middle + 1), -WIDEST, WIDEST) + WIDEST]
    return Tables(ahead, ahead[::-1].copy(), middle, fertility, null / (1 - null), kernels.FERTILITY)


def longest(words: Words) -> int:
    """Words in the longest side of any pair."""
    return int(max(np.diff(words.by_starts).max(initial=0), np.diff(words.to_starts).max(initial=0)))


def _first_links(words: Words, null: float, rng: Generator) -> NDArray[np.int32]:
    """Partners drawn evenly: what begins near the diagonal stays there, also against a dictionary."""
    many = np.repeat(np.diff(words.by_starts), np.diff(words.to_starts))
    chosen: NDArray[np.int32] = rng.integers(0, np.maximum(many, 1)).astype(np.int32)
    chosen[(rng.random(len(many)) < null) | (many == 0)] = kernels.NONE
    return chosen


def _jump_probabilities(counts: NDArray[np.int64], alpha: float, many: int) -> NDArray[np.float32]:
    """From counts by width, with the middle of the array for width 0; many: the most words of a pair.

    Widths that no pair has room for are as likely as those never seen, but take nothing from the others: with a share
    of all 201, a text of a few short pairs would hardly know that links go on by one.
    """
    middle = len(counts) // 2
    widths = np.clip(np.arange(-middle, middle + 1), -WIDEST, WIDEST) + WIDEST
    jumps = np.bincount(widths, weights=counts, minlength=2 * WIDEST + 1) + alpha
    possible = slice(max(WIDEST + 1 - many, 0), WIDEST + 2 + many)
    return np.asarray(jumps / jumps[possible].sum(), np.float32)


def _fertility_ratios(counts: NDArray[np.int32], alpha: float) -> NDArray[np.float32]:
    """How much likelier one link more is, by type and links it has; nothing is known beyond the last."""
    smooth = np.asarray(counts + alpha, np.float32)
    ratios: NDArray[np.float32] = np.ones_like(smooth)
    np.divide(smooth[:, 1:], smooth[:, :-1], out=ratios[:, :-1])
    return ratios
