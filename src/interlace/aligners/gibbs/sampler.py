"""Training of `gibbs`: which pairs are used, and one Gibbs sampler per view and direction, in threads.

A view is the text with whole words or with words cut to their first letters. Cut words merge the forms of a word, whole
words distinguish them; samplers of both kinds make different errors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from interlace.aligners.common.inputs import MAX_CELLS, Prior, cells_of, usable_pairs
from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import ALPHA, UNIT, SamplerCounts, Tally, Words
from interlace.aligners.gibbs.model import (
    FERTILITIES,
    MAX_JUMP,
    NULL,
    UNKNOWN_LINKS,
    Cuts,
    SamplerDirection,
    cell_starts,
    clipped_widths,
    tables_of,
)
from interlace.alignment import WordPairs
from interlace.alignment.pair_numbers import PairTable
from interlace.core.processors import processors
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged
from interlace.core.randomness import Generator, Purpose, generator

log = logging.getLogger(__name__)

_MAX_PORTION = MAX_CELLS  # cells of pairs that are aligned at a time; no pair has more
_BLOCK = 10_000  # consecutive pairs in the same part, which are read from the disk together
_JUMP_PRIOR = (
    0.5  # Dirichlet prior of each jump width and of each fertility (Östling and Tiedemann 2016)
)
_FERTILITY_PRIOR = 0.5


# ---- pairs ----


def count_parts(pairs: WordPairs, max_cells: int) -> int:
    """Return the number of parts of about `max_cells` cells, at most one per usable pair."""
    cells = cells_of(pairs)
    usable = int((cells > 0).sum())
    count = min(-(-int(cells.sum()) // max_cells), usable)
    if count > 1:
        log.info("gibbs: training on %d pairs in %d parts (max_training_cells)", usable, count)
    return count


def part(pairs: WordPairs, number: int, count: int) -> WordPairs:
    """Return the usable pairs of one part; blocks of consecutive pairs are dealt out to the parts by turns."""
    if count == 1:
        return usable_pairs(pairs)
    block = max(1, min(_BLOCK, len(pairs) // (8 * count)))
    rows = np.flatnonzero(
        (np.arange(len(pairs)) // block % count == number) & (cells_of(pairs) > 0)
    )
    return replace(pairs, source=pairs.source.take(rows), target=pairs.target.take(rows))


def portions(pairs: WordPairs) -> Iterator[WordPairs]:
    """Yield the `usable` pairs in slices whose posteriors fit in memory."""
    for chunk in pairs.chunks():
        cell_ends = np.cumsum(cells_of(chunk))  # (pairs,)
        cells_before = 0
        start = 0
        while start < len(chunk):
            limit = cells_before + _MAX_PORTION
            stop = max(start + 1, int(np.searchsorted(cell_ends, limit, side="right")))
            cells_before = cell_ends[stop - 1]
            yield usable_pairs(chunk.slice(start, stop))
            start = stop


# ---- views ----


@dataclass(frozen=True)
class View:
    """A text, and the type pairs of its cells.

    sizes: types of source and target. entries: (m, 2) int32 source and target type of each numbered pair.
    ways: forward, each target word draws a source word; and backward, each source word draws a target word.
    """

    sizes: tuple[int, int]
    entries: NDArray[np.int32]
    ways: tuple[Words, Words]

    @classmethod
    def of(cls, source: Ragged, target: Ragged, cuts: Cuts, first: NDArray[np.int32]) -> View:
        """Number all type pairs of a text whose rows begin at offset 0.

        first: (p, 2) int32 distinct pairs of types of the view; they become the first entries.
        """
        sizes = (cuts[0].size, cuts[1].size)
        source_types = cuts[0](source.values)
        target_types = cuts[1](target.values)
        sides = (source_types, source.offsets, target_types, target.offsets)
        starts = cell_starts(source, target)
        cells = np.empty(starts[-1], np.uint32)
        table = PairTable(*kernels.number_cells(PairTable.of(first), *sides, cells))
        transposed = np.empty_like(cells)
        kernels.transpose(source.offsets, target.offsets, starts, cells, transposed)
        source_twins = kernels.twins(source_types, source.offsets, sizes[0])
        target_twins = kernels.twins(target_types, target.offsets, sizes[1])
        forward = Words(*sides, cells, starts, source_twins)
        backward = Words(*sides[2:], *sides[:2], transposed, starts, target_twins)
        return cls(sizes, table.pairs(), (forward, backward))


@dataclass(frozen=True)
class Learned:
    """What a sampler learned from the parts of a text so far.

    jumps: (2 * MAX_JUMP + 1,) and fertility: (types, FERTILITIES), links counted in the last sweep of each part.
    """

    direction: SamplerDirection
    jumps: NDArray[np.int64]
    fertility: NDArray[np.int64]

    def starting_links(self, way: int) -> Prior:
        """Return the links that the sampler of the next part starts with; entries are (source, target)."""
        entries = self.direction.entries if way == 0 else self.direction.entries[:, ::-1]
        return Prior(entries, self.direction.pairs.astype(np.float64) - ALPHA)


LearnedView = tuple[Learned, Learned]  # forward and backward


class LazyView:
    """A view that is built when first needed and freed when both directions are done.

    before: what both samplers learned from earlier parts; their links include the prior.
    """

    def __init__(
        self,
        source: Ragged,
        target: Ragged,
        cuts: Cuts,
        prior: Prior,
        before: LearnedView | None = None,
    ) -> None:
        self.before = before
        self._source = source
        self._target = target
        self._cuts = cuts
        self._prior = prior
        self._lock = Lock()
        self._pending = 2

    @cached_property
    def _built(self) -> tuple[View, list[NDArray[np.float64]]]:
        """The view, and (p,) links of its first p type pairs that each sampler starts with."""
        starts = self._starting_links()
        keys = [
            start.entries[:, 0].astype(np.int64) << 32 | start.entries[:, 1] for start in starts
        ]
        distinct, numbers = np.unique(np.concatenate(keys), return_inverse=True)
        links = []
        for start, rows in zip(starts, np.split(numbers, [len(keys[0])]), strict=True):
            links.append(np.bincount(rows, start.counts, len(distinct)).astype(np.float64))
        first = np.stack([distinct >> 32, distinct & 0xFFFFFFFF], axis=1).astype(np.int32)
        return View.of(self._source, self._target, self._cuts, first), links

    def _starting_links(self) -> list[Prior]:
        if self.before is not None:
            return [learned.starting_links(way) for way, learned in enumerate(self.before)]
        source, target = self._prior.entries.T
        entries = np.stack([self._cuts[0](source), self._cuts[1](target)], axis=1)
        return [Prior(entries, self._prior.counts)] * 2

    def get(self, way: int) -> tuple[View, NDArray[np.float64]]:
        """Return the view, and (p,) links that a sampler starts with, of its first p type pairs."""
        with self._lock:
            view, links = self._built
            return view, links[way]

    def release(self) -> None:
        """Free the view on the second call."""
        with self._lock:
            self._pending -= 1
            if not self._pending:
                del self._built


# ---- sampling ----


class Sampler:
    """The state of one sampler: one direction of a view.

    links: (p,) links of the first p type pairs that it starts with. before: what it learned from earlier parts.
    """

    def __init__(
        self,
        view: View,
        way: int,
        links: NDArray[np.float64],
        before: Learned | None,
        rng: Generator,
    ) -> None:
        self._entries = view.entries if way == 0 else view.entries[:, ::-1]
        self._words = view.ways[way]
        types = view.sizes[way]
        lengths = [np.diff(self._words.by_starts), np.diff(self._words.to_starts)]
        self._middle = int(max(side.max(initial=0) for side in lengths)) + 2
        self._state = np.uint64(rng.integers(1, 2**63))
        candidates = np.repeat(lengths[0], lengths[1])  # (words,) of each drawing word
        self.chosen = _first_partners(candidates, rng)
        alone = np.zeros(view.sizes[1 - way])
        self._earlier_jumps = np.zeros(2 * MAX_JUMP + 1, np.int64)
        self._earlier_fertility = np.zeros((types, FERTILITIES), np.int64)
        if before is not None:
            alone[: len(before.direction.alone)] = before.direction.alone
            self._earlier_jumps = before.jumps
            self._earlier_fertility[: len(before.fertility)] = before.fertility
        self.counts = first_counts(view, way, links, alone, self.chosen)
        self._jumps = np.ones(2 * MAX_JUMP + 1, np.float32)
        self._tables = tables_of(self._jumps, np.ones((types, 1), np.float32), self._middle)
        self.posterior = np.zeros(len(self._words.cells), np.float32)
        self._sums = [np.zeros(len(counts), np.float32) for counts in self.counts[:3]]
        self._kept_sweeps = 0

    def run(self, schedule: list[int], tick: Callable[[], None]) -> Learned:
        """Sweep as often as scheduled for each model; average over the second half of the last model's sweeps.

        Type pairs that were never linked, which are most of them, are dropped.
        """
        for model, sweeps in enumerate(schedule, kernels.WORDS):
            for number in range(sweeps):
                self._sweep(model, keep=model == len(schedule) and 2 * number >= sweeps)
                tick()
        self.posterior /= self._kept_sweeps
        unit = np.float32(UNIT * self._kept_sweeps)
        pairs, words, alone = (counts / unit for counts in self._sums)
        # in no pair of this part, and never linked in earlier ones
        words[words == 0] = UNKNOWN_LINKS
        linked = pairs > 1.5 * ALPHA
        entries = np.ascontiguousarray(self._entries[linked])
        direction = SamplerDirection(
            entries, pairs[linked], words, alone, self._jumps, self._tables.fertility
        )
        return Learned(direction, self._last_jumps, self._last_fertility)

    def _sweep(self, model: int, *, keep: bool) -> None:
        """Draw all partners once, then update the probabilities of jumps and fertilities.

        The kernel changes `chosen` and `counts` in place, and adds to `jumps`, `fertility` and, if `keep`, `posterior`.

        model: what the draws depend on, as numbered in `kernels`. keep: whether the sweep counts in the averages.
        """
        jumps = np.zeros(2 * self._middle + 1, np.int64)
        fertility = np.zeros(self._earlier_fertility.shape, np.int32)
        tally = Tally(jumps, fertility, self.posterior, keep)
        tables = self._tables._replace(model=model)
        self._state = np.uint64(
            kernels.sweep(self._words, self.chosen, self.counts, tables, tally, self._state)
        )
        if keep:
            self._kept_sweeps += 1
            for total, counts in zip(self._sums, self.counts[:3], strict=True):
                np.add(total, counts, out=total)
        self._last_jumps = self._earlier_jumps.copy()
        np.add.at(self._last_jumps, clipped_widths(self._middle), jumps)
        self._last_fertility = self._earlier_fertility + fertility
        self._jumps = _jump_probabilities(self._last_jumps, self._middle - 2)
        smooth = np.asarray(self._last_fertility + _FERTILITY_PRIOR, np.float32)
        # p(f + 1 links) / p(f links) of each type; 1 for the largest number
        ratios = np.ones_like(smooth)
        np.divide(smooth[:, 1:], smooth[:, :-1], out=ratios[:, :-1])
        self._tables = tables_of(self._jumps, ratios, self._middle)


def _first_partners(candidates: NDArray[np.int64], rng: Generator) -> NDArray[np.int32]:
    """(words,) a partner of each word, drawn uniformly from so many candidates, or none.

    Starting near the diagonal would keep links there, even against a dictionary.
    """
    partners: NDArray[np.int32] = rng.integers(0, np.maximum(candidates, 1)).astype(np.int32)
    has_none = (rng.random(len(candidates)) < NULL) | (candidates == 0)
    partners[has_none] = kernels.NONE
    return partners


def first_counts(
    view: View,
    way: int,
    known: NDArray[np.float64],
    alone: NDArray[np.float64],
    chosen: NDArray[np.int32],
) -> SamplerCounts:
    """Return the counts of given links; 32 bits per type pair unless a sweep may need more.

    known: (p,) earlier links of the first p type pairs. alone: (types,) earlier words without partner.
    """
    words = view.ways[way]
    pairs = np.ones(len(view.entries), np.int64)
    pairs[: len(known)] += np.round(UNIT * known).astype(np.int64)
    largest = pairs.max(initial=1) + UNIT * int(np.bincount(words.to).max(initial=0))
    without_partner = np.zeros(view.sizes[1 - way], np.int64)
    without_partner += np.round(UNIT * alone).astype(np.int64)
    kernels.count_links(words, chosen, pairs, without_partner)
    drawn = np.bincount(view.entries[:, way], weights=pairs, minlength=view.sizes[way])
    width = np.int32 if largest <= np.iinfo(np.int32).max else np.int64
    return SamplerCounts(
        pairs.astype(width),
        drawn.astype(np.int64),
        without_partner,
        without_partner.sum(keepdims=True),
    )


def _jump_probabilities(counts: NDArray[np.int64], words: int) -> NDArray[np.float32]:
    """Return probabilities from counts by width (0 in the middle), up to `MAX_JUMP`; words: maximum words of a pair.

    Widths that no pair allows are as probable as unseen ones, but take no probability mass from the others: sharing it
    among all 201 widths would flatten the distribution of a text of a few short pairs.
    """
    jumps = counts + _JUMP_PRIOR
    possible = slice(max(MAX_JUMP + 1 - words, 0), MAX_JUMP + 2 + words)
    return np.asarray(jumps / jumps[possible].sum(), np.float32)


class _Ticker:
    """Counts the sweeps of all samplers for a progress callback, whose error stops them all."""

    def __init__(self, progress: Progress, steps: int) -> None:
        self._progress = progress
        self._steps = steps
        self._done = 0
        self._lock = Lock()
        self._error: BaseException | None = None

    def __call__(self) -> None:
        if self._error:
            raise self._error
        with self._lock:
            self._done += 1
            try:
                self._progress("sampling", self._done, self._steps)
            except BaseException as error:
                self.stop(error)
                raise

    def stop(self, error: BaseException) -> None:
        """Let all samplers raise the error, or an earlier one."""
        self._error = self._error or error


def run_samplers(
    views: Sequence[LazyView],
    schedule: list[int],
    seed: int,
    threads: int,
    progress: Progress,
    part: int = 0,
) -> tuple[list[NDArray[np.float32]], list[LearnedView]]:
    """Run one sampler per view and direction; return the mean posteriors by direction, and what they learned by view.

    Results are added in a fixed order, whichever ends first. schedule: sweeps of each model. threads: 0: one per
    processor. part: the number of the part of the text.
    """
    jobs = 2 * len(views)
    tick = _Ticker(progress, sum(schedule) * jobs)

    def run(job: int) -> tuple[NDArray[np.float32], Learned]:
        number, way = divmod(job, 2)
        view = views[number]
        rng = generator(Purpose.ALIGN, seed, part * len(views) + number, way)
        text, links = view.get(way)
        before = None if view.before is None else view.before[way]
        sampler = Sampler(text, way, links, before, rng)
        learned = sampler.run(schedule, tick)
        view.release()
        return sampler.posterior, learned

    means: list[NDArray[np.float32]] = []  # first the sums of the views, forward and backward
    learned_views = []
    with ThreadPoolExecutor(min(threads or processors(), jobs)) as pool:
        try:
            results = pool.map(run, range(jobs))
            for _ in views:
                directions = []
                for way in (0, 1):
                    posterior, learned = next(results)
                    directions.append(learned)
                    if way < len(means):
                        means[way] += posterior
                    else:
                        means.append(posterior)
                    del posterior  # frees four bytes per cell while waiting for the next
                learned_views.append((directions[0], directions[1]))
        finally:
            tick.stop(CancelledError())  # on Ctrl-C the other samplers stop too
    for mean in means:
        np.multiply(mean, np.float32(1 / len(views)), out=mean)
    return means, learned_views
