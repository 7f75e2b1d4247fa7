"""One Gibbs sampler: its view of the text, and sweeps through three models in one direction.

A view is the text with whole words or with words cut to their first letters. Cut words merge the forms of a word, whole
words distinguish them; samplers of both kinds make different errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import Found, SamplerCounts, Tables, Words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged
    from interlace.core.randomness import Generator

MAX_JUMP = 100  # longer jumps are counted as this one
FERTILITIES = 10  # number of links from which the fertility ratio is constant
_SLOTS = 1 << 12  # of a new table of pairs


# ---- views ----


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
class View:
    """A text, and the type pairs of its cells.

    entries: (m, 2) int32 source and target type of each numbered pair.
    forward: each target word draws a source word; backward: each source word draws a target word.
    """

    sizes: tuple[int, int]
    entries: NDArray[np.int32]
    forward: Words
    backward: Words

    @classmethod
    def of(cls, source: Ragged, target: Ragged, cuts: tuple[Cut, Cut], extra: NDArray[np.int32]) -> View:
        """Number all type pairs of a text whose rows begin at offset 0.

        extra: (p, 2) int32 distinct pairs of types of the view; they become the first entries.
        """
        by, to = cuts[0](source.values), cuts[1](target.values)
        starts = cell_starts(source, target)
        cells = np.empty(starts[-1], np.uint32)
        keys, numbers, known = number_entries(extra, _SLOTS)
        rows = (by, source.offsets, to, target.offsets)
        keys, numbers, known = kernels.number_pairs(*rows, cells, keys, numbers, known)
        transposed = np.empty_like(cells)
        kernels.transpose(source.offsets, target.offsets, starts, cells, transposed)
        twins = (
            kernels.twins(by, source.offsets, cuts[0].size),
            kernels.twins(to, target.offsets, cuts[1].size),
        )
        return cls(
            (cuts[0].size, cuts[1].size),
            _entries(keys, numbers, known),
            Words(by, source.offsets, to, target.offsets, cells, starts, twins[0]),
            Words(to, target.offsets, by, source.offsets, transposed, starts, twins[1]),
        )


def cell_starts(source: Ragged, target: Ragged) -> NDArray[np.int64]:
    """(n + 1,) the first cell of each pair."""
    starts = np.zeros(len(source) + 1, np.int64)
    np.cumsum(source.lengths * target.lengths, out=starts[1:])
    return starts


def number_entries(entries: NDArray[np.int32], slots: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32], int]:
    """Number distinct type pairs, shape (m, 2), in a new table; return keys, numbers, and m."""
    offsets = np.arange(len(entries) + 1, dtype=np.int64)
    columns = np.ascontiguousarray(entries.T)
    keys, numbers = np.zeros(slots, np.uint64), np.zeros(slots, np.uint32)
    cells = np.empty(len(entries), np.uint32)
    table: tuple[NDArray[np.uint64], NDArray[np.uint32], int] = kernels.number_pairs(
        columns[0], offsets, columns[1], offsets, cells, keys, numbers, 0
    )
    return table


def _entries(keys: NDArray[np.uint64], numbers: NDArray[np.uint32], known: int) -> NDArray[np.int32]:
    """(known, 2) the types of each numbered pair."""
    slots = np.flatnonzero(keys)
    unpacked = keys[slots] - np.uint64(1)
    entries = np.empty((known, 2), np.int32)
    entries[numbers[slots], 0] = (unpacked >> np.uint64(32)).astype(np.int32)
    entries[numbers[slots], 1] = (unpacked & np.uint64(0xFFFFFFFF)).astype(np.int32)
    return entries


# ---- sampling ----


@dataclass(frozen=True)
class SamplerPriors:
    """The settings that a sampler needs, as `Gibbs` describes them; 1 / alpha is an integer."""

    null: float
    alpha: float
    jump_alpha: float
    fertility_alpha: float


@dataclass(frozen=True)
class SamplerParameters:
    """What one sampler learned, averaged over its last sweeps; counts are in links and include the prior.

    pairs: (m,) by type pair. words: (types,) by drawn type. alone: (types,) words without partner. jumps:
    (2 * MAX_JUMP + 1,) probabilities. fertility: (types, FERTILITIES) as `Tables.fertility`.
    """

    pairs: NDArray[np.float32]
    words: NDArray[np.float32]
    alone: NDArray[np.float32]
    jumps: NDArray[np.float32]
    fertility: NDArray[np.float32]


@dataclass(frozen=True)
class Side:
    """What a direction needs besides the text: the drawn type of each type pair, sizes, and prior links.

    prior: (p,) of the first p type pairs; others have none.
    """

    drawn: NDArray[np.int32]
    by_types: int
    to_types: int
    prior: NDArray[np.float64]


class Sampler:
    """The state of one sampler."""

    def __init__(self, words: Words, side: Side, priors: SamplerPriors, rng: Generator) -> None:
        self._words, self._side, self._priors = words, side, priors
        self._middle = max_words(words) + 2
        self._state = np.uint64(rng.integers(1, 2**63))
        self.chosen = _first_links(words, priors.null, rng)
        self.counts = first_counts(words, side, self.chosen, round(1 / priors.alpha))
        self._jumps = np.ones(2 * MAX_JUMP + 1, np.float32)
        self._tables = tables_of(self._jumps, np.ones((side.by_types, 1), np.float32), self._middle, priors.null)
        self.posterior = np.zeros(len(words.cells), np.float32)
        self._sums = [np.zeros(size, np.float32) for size in (len(side.drawn), side.by_types, side.to_types)]
        self._kept = 0

    def run(self, schedule: list[int], tick: Callable[[], None]) -> SamplerParameters:
        """Sweep as often as scheduled for each model; average over the second half of the last model's sweeps."""
        last = len(schedule)
        for model, sweeps in enumerate(schedule, kernels.WORDS):
            for number in range(sweeps):
                self._sweep(model, keep=model == last and 2 * number >= sweeps)
                tick()
        self.posterior /= self._kept
        unit = self.counts.unit * self._kept
        pairs, words, alone = (part / np.float32(unit) for part in self._sums)
        return SamplerParameters(pairs, words, alone, self._jumps, self._tables.fertility)

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
        self._jumps = _jump_probabilities(found.jumps, self._priors.jump_alpha, self._middle - 2)
        fertility = _fertility_ratios(found.fertility, self._priors.fertility_alpha)
        self._tables = tables_of(self._jumps, fertility, self._middle, self._priors.null)


def first_counts(words: Words, side: Side, chosen: NDArray[np.int32], unit: int) -> SamplerCounts:
    """Return the counts of given links; 32 bits per type pair unless a sweep may need more."""
    rows = np.repeat(np.arange(len(words.to_starts) - 1), np.diff(words.to_starts))
    aligned = chosen != kernels.NONE
    many = np.diff(words.by_starts)[rows]
    place = np.arange(len(rows)) - words.to_starts[rows]
    cells = words.cell_starts[rows] + place * many + chosen
    prior = np.round(unit * side.prior).astype(np.int64)
    pairs = np.bincount(words.cells[cells[aligned]], minlength=len(side.drawn))
    pairs *= unit  # in place: this array bounds memory
    pairs += 1
    pairs[: len(prior)] += prior
    by = np.bincount(side.drawn, weights=pairs, minlength=side.by_types).astype(np.int64)
    alone = unit * np.bincount(words.to[~aligned], minlength=side.to_types)
    largest = 1 + prior.max(initial=0) + unit * int(np.bincount(words.to).max(initial=0))
    width = np.int32 if largest <= np.iinfo(np.int32).max else np.int64
    return SamplerCounts(pairs.astype(width), by, alone, alone.sum(keepdims=True), unit)


def tables_of(jumps: NDArray[np.float32], fertility: NDArray[np.float32], middle: int, null: float) -> Tables:
    """Return tables for pairs of fewer than `middle` words."""
    ahead = jumps[np.clip(np.arange(-middle, middle + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP]
    return Tables(ahead, ahead[::-1].copy(), middle, fertility, null / (1 - null), kernels.FERTILITY)


def max_words(words: Words) -> int:
    """Return the number of words of the longest side of any pair."""
    return int(max(np.diff(words.by_starts).max(initial=0), np.diff(words.to_starts).max(initial=0)))


def _first_links(words: Words, null: float, rng: Generator) -> NDArray[np.int32]:
    """Draw partners uniformly; starting near the diagonal would keep links there, even against a dictionary."""
    many = np.repeat(np.diff(words.by_starts), np.diff(words.to_starts))
    chosen: NDArray[np.int32] = rng.integers(0, np.maximum(many, 1)).astype(np.int32)
    chosen[(rng.random(len(many)) < null) | (many == 0)] = kernels.NONE
    return chosen


def _jump_probabilities(counts: NDArray[np.int64], alpha: float, words: int) -> NDArray[np.float32]:
    """Return probabilities from counts by width (width 0 in the middle); words: maximum words of a pair.

    Widths that no pair allows are as probable as unseen ones, but take no probability mass from the others: sharing it
    among all 201 widths would flatten the distribution of a text of a few short pairs.
    """
    middle = len(counts) // 2
    widths = np.clip(np.arange(-middle, middle + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP
    jumps = np.bincount(widths, weights=counts, minlength=2 * MAX_JUMP + 1) + alpha
    possible = slice(max(MAX_JUMP + 1 - words, 0), MAX_JUMP + 2 + words)
    return np.asarray(jumps / jumps[possible].sum(), np.float32)


def _fertility_ratios(counts: NDArray[np.int32], alpha: float) -> NDArray[np.float32]:
    """Return the ratio of the probabilities of n + 1 and n links, by type and n; 1 for the last n."""
    smooth = np.asarray(counts + alpha, np.float32)
    ratios: NDArray[np.float32] = np.ones_like(smooth)
    np.divide(smooth[:, 1:], smooth[:, :-1], out=ratios[:, :-1])
    return ratios
