"""Training of `gibbs`: which pairs are used, and one Gibbs sampler per view and direction, in threads.

A view is the text with whole words or with words cut to their first letters. Cut words merge the forms of a word, whole
words distinguish them; samplers of both kinds make different errors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.aligners.common.inputs import MAX_CELLS, Prior, cells_of, usable_pairs
from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import Found, SamplerCounts, Words
from interlace.aligners.gibbs.model import (
    FERTILITIES,
    MAX_JUMP,
    Cut,
    SamplerDirection,
    cell_starts,
    number_entries,
    tables_of,
)
from interlace.alignment import WordPairs
from interlace.core.processors import processors
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged
from interlace.core.randomness import Generator, Purpose, generator

log = logging.getLogger(__name__)

_MAX_PORTION = MAX_CELLS  # cells of pairs that are aligned at a time; no pair has more
_SLOTS = 1 << 12  # of a new table of pairs
_JUMP_ALPHA = 0.5  # Dirichlet prior of each jump width (Östling & Tiedemann 2016)
_FERTILITY_ALPHA = 0.5  # Dirichlet prior of each fertility (the same)
_BLOCK = 10_000  # consecutive pairs in the same part, which are read from the disk together


# ---- pairs ----


def count_parts(pairs: WordPairs, max_cells: int) -> int:
    """Return the number of parts of about `max_cells` cells, at most one per usable pair."""
    cells = cells_of(pairs)
    count = min(-(-int(cells.sum()) // max_cells), int((cells > 0).sum()))
    if count > 1:
        log.info("gibbs: training on %d pairs in %d parts (max_training_cells)", int((cells > 0).sum()), count)
    return count


def part(pairs: WordPairs, number: int, count: int) -> WordPairs:
    """Return the usable pairs of one part; blocks of consecutive pairs are dealt out to the parts by turns."""
    if count == 1:
        return usable_pairs(pairs)
    block = max(1, min(_BLOCK, len(pairs) // (8 * count)))
    rows = (np.arange(number * block, len(pairs), count * block)[:, None] + np.arange(block)).ravel()
    rows = rows[rows < len(pairs)]
    found = replace(pairs, source=pairs.source.take(rows), target=pairs.target.take(rows))
    kept = cells_of(found) > 0
    return replace(found, source=found.source.take(kept), target=found.target.take(kept))


def portions(pairs: WordPairs) -> Iterator[WordPairs]:
    """Yield the `usable` pairs in slices whose posteriors fit in memory."""
    for chunk in pairs.chunks():
        ends, start = np.cumsum(cells_of(chunk)), 0
        while start < len(chunk):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _MAX_PORTION, side="right")))
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
    def of(cls, source: Ragged, target: Ragged, cuts: tuple[Cut, Cut], extra: NDArray[np.int32]) -> View:
        """Number all type pairs of a text whose rows begin at offset 0.

        extra: (p, 2) int32 distinct pairs of types of the view; they become the first entries.
        """
        by, to = cuts[0](source.values), cuts[1](target.values)
        starts = cell_starts(source, target)
        cells = np.empty(starts[-1], np.uint32)
        rows = (by, source.offsets, to, target.offsets)
        keys, numbers, known = kernels.number_pairs(*rows, cells, *number_entries(extra, _SLOTS))
        slots = np.flatnonzero(keys)
        unpacked, entries = keys[slots] - np.uint64(1), np.empty((known, 2), np.int32)
        entries[numbers[slots], 0] = (unpacked >> np.uint64(32)).astype(np.int32)
        entries[numbers[slots], 1] = (unpacked & np.uint64(0xFFFFFFFF)).astype(np.int32)
        transposed = np.empty_like(cells)
        kernels.transpose(source.offsets, target.offsets, starts, cells, transposed)
        forward = Words(*rows, cells, starts, kernels.twins(by, source.offsets, cuts[0].size))
        twins = kernels.twins(to, target.offsets, cuts[1].size)
        backward = Words(to, target.offsets, by, source.offsets, transposed, starts, twins)
        return cls((cuts[0].size, cuts[1].size), entries, (forward, backward))


class Learned(NamedTuple):
    """What a sampler learned from the parts of a text so far.

    jumps: (2 * MAX_JUMP + 1,) and fertility: (types, FERTILITIES), links counted in the last sweep of each part.
    """

    direction: SamplerDirection
    jumps: NDArray[np.int64]
    fertility: NDArray[np.int64]


LearnedView = tuple[Learned, Learned]  # forward and backward


class LazyView:
    """A view that is built when first needed and freed when both directions are done.

    before: what both samplers learned from earlier parts; their links include the prior.
    """

    def __init__(
        self, source: Ragged, target: Ragged, cuts: tuple[Cut, Cut], prior: Prior,
        before: LearnedView | None = None,
    ) -> None:  # fmt: skip
        self._text, self._cuts, self._prior, self.before = (source, target), cuts, prior, before
        self._lock, self._pending = Lock(), 2

    @cached_property
    def _built(self) -> tuple[View, list[NDArray[np.float64]]]:
        if self.before is None:
            entries = np.stack([cut(self._prior.entries[:, side]) for side, cut in enumerate(self._cuts)], axis=1)
            known = [(entries, self._prior.counts)] * 2
        else:
            forward, backward = (each.direction for each in self.before)
            known = [
                (forward.entries, forward.pairs.astype(np.float64) - forward.unseen),
                (backward.entries[:, ::-1], backward.pairs.astype(np.float64) - backward.unseen),
            ]
        keys = [entries[:, 0].astype(np.int64) << 32 | entries[:, 1] for entries, _ in known]
        numbered, places = np.unique(np.concatenate(keys), return_inverse=True)
        links = [
            np.bincount(rows, counts, len(numbered)).astype(np.float64)
            for rows, (_, counts) in zip(np.split(places, [len(keys[0])]), known, strict=True)
        ]
        first = np.stack([numbered >> 32, numbered & 0xFFFFFFFF], axis=1).astype(np.int32)
        return View.of(*self._text, self._cuts, first), links

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


class SamplerPriors(NamedTuple):
    """The settings that a sampler needs, as `Gibbs` describes them; 1 / alpha is an integer."""

    null: float
    alpha: float


class Sampler:
    """The state of one sampler: one direction of a view.

    links: (p,) links of the first p type pairs that it starts with. before: what it learned from earlier parts.
    """

    def __init__(
        self, view: View, way: int, links: NDArray[np.float64], before: Learned | None, priors: SamplerPriors,
        rng: Generator,
    ) -> None:  # fmt: skip
        self._entries = view.entries if way == 0 else view.entries[:, ::-1]
        self._words, self._types, self._priors = view.ways[way], view.sizes[way], priors
        sides = (self._words.by_starts, self._words.to_starts)
        self._middle = int(max(np.diff(starts).max(initial=0) for starts in sides)) + 2
        self._state = np.uint64(rng.integers(1, 2**63))
        # Partners are drawn uniformly: starting near the diagonal would keep links there, even against a dictionary.
        many = np.repeat(*map(np.diff, sides))
        self.chosen: NDArray[np.int32] = rng.integers(0, np.maximum(many, 1)).astype(np.int32)
        self.chosen[(rng.random(len(many)) < priors.null) | (many == 0)] = kernels.NONE
        alone = np.zeros(view.sizes[1 - way])
        self._seen = np.zeros(2 * MAX_JUMP + 1, np.int64), np.zeros((self._types, FERTILITIES), np.int64)
        if before is not None:
            alone[: len(before.direction.alone)] = before.direction.alone
            self._seen = before.jumps, np.pad(before.fertility, ((0, self._types - len(before.fertility)), (0, 0)))
        self.counts = first_counts(view, way, links, alone, self.chosen, round(1 / priors.alpha))
        self._jumps = np.ones(2 * MAX_JUMP + 1, np.float32)
        self._tables = tables_of(self._jumps, np.ones((self._types, 1), np.float32), self._middle, priors.null)
        self.posterior = np.zeros(len(self._words.cells), np.float32)
        self._sums = [np.zeros(len(part), np.float32) for part in self.counts[:3]]
        self._kept = 0

    def run(self, schedule: list[int], tick: Callable[[], None]) -> Learned:
        """Sweep as often as scheduled for each model; average over the second half of the last model's sweeps.

        Type pairs that were never linked, which are most of them, are dropped.
        """
        last = len(schedule)
        for model, sweeps in enumerate(schedule, kernels.WORDS):
            for number in range(sweeps):
                self._sweep(model, keep=model == last and 2 * number >= sweeps)
                tick()
        self.posterior /= self._kept
        unit, unseen = self.counts.unit * self._kept, self._priors.alpha
        pairs, words, alone = (part / np.float32(unit) for part in self._sums)
        linked = pairs > 1.5 * unseen
        entries = np.ascontiguousarray(self._entries[linked])
        own = SamplerDirection(unseen, entries, pairs[linked], words, alone, self._jumps, self._tables.fertility)
        return Learned(own, *self._last)

    def _sweep(self, model: int, *, keep: bool) -> None:
        """Draw all partners once, then update the probabilities of jumps and fertilities."""
        jumps = np.zeros(2 * self._middle + 1, np.int64)
        found = Found(jumps, np.zeros((self._types, FERTILITIES), np.int32), self.posterior, keep)
        tables = self._tables._replace(model=model)
        self._state = np.uint64(kernels.sweep(self._words, self.chosen, self.counts, tables, found, self._state))
        if keep:
            self._kept += 1
            for total, part in zip(self._sums, self.counts[:3], strict=True):
                np.add(total, part, out=total)
        widths = np.clip(np.arange(-self._middle, self._middle + 1), -MAX_JUMP, MAX_JUMP) + MAX_JUMP
        np.add.at(seen := self._seen[0].copy(), widths, jumps)
        self._last = seen, self._seen[1] + found.fertility
        self._jumps = _jump_probabilities(seen, _JUMP_ALPHA, self._middle - 2)
        smooth = np.asarray(self._last[1] + _FERTILITY_ALPHA, np.float32)
        ratios = np.ones_like(smooth)
        np.divide(smooth[:, 1:], smooth[:, :-1], out=ratios[:, :-1])
        self._tables = tables_of(self._jumps, ratios, self._middle, self._priors.null)


def first_counts(
    view: View, way: int, known: NDArray[np.float64], alone: NDArray[np.float64], chosen: NDArray[np.int32], unit: int
) -> SamplerCounts:
    """Return the counts of given links; 32 bits per type pair unless a sweep may need more.

    known: (p,) earlier links of the first p type pairs. alone: (types,) earlier words without partner.
    """
    words, drawn = view.ways[way], view.entries[:, way]
    rows = np.repeat(np.arange(len(words.to_starts) - 1), np.diff(words.to_starts))
    aligned = chosen != kernels.NONE
    many = np.diff(words.by_starts)[rows]
    cells = words.cell_starts[rows] + (np.arange(len(rows)) - words.to_starts[rows]) * many + chosen
    links = np.round(unit * known).astype(np.int64)
    pairs = np.bincount(words.cells[cells[aligned]], minlength=len(drawn))
    pairs *= unit  # in place: this array bounds memory
    pairs += 1
    pairs[: len(links)] += links
    by = np.bincount(drawn, weights=pairs, minlength=view.sizes[way]).astype(np.int64)
    without = unit * np.bincount(words.to[~aligned], minlength=view.sizes[1 - way])
    without += np.round(unit * alone).astype(np.int64)
    largest = 1 + links.max(initial=0) + unit * int(np.bincount(words.to).max(initial=0))
    width = np.int32 if largest <= np.iinfo(np.int32).max else np.int64
    return SamplerCounts(pairs.astype(width), by, without, without.sum(keepdims=True), unit)


def _jump_probabilities(counts: NDArray[np.int64], alpha: float, words: int) -> NDArray[np.float32]:
    """Return probabilities from counts by width (0 in the middle), up to `MAX_JUMP`; words: maximum words of a pair.

    Widths that no pair allows are as probable as unseen ones, but take no probability mass from the others: sharing it
    among all 201 widths would flatten the distribution of a text of a few short pairs.
    """
    jumps = counts + alpha
    possible = slice(max(MAX_JUMP + 1 - words, 0), MAX_JUMP + 2 + words)
    return np.asarray(jumps / jumps[possible].sum(), np.float32)


def run_samplers(
    views: list[LazyView],
    priors: SamplerPriors,
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
    jobs = [(number, way) for number in range(len(views)) for way in (0, 1)]
    steps, done, lock = sum(schedule) * len(jobs), 0, Lock()
    stop: BaseException | None = None  # raised by all samplers

    def tick() -> None:
        nonlocal done, stop
        if stop:
            raise stop
        with lock:
            done += 1
            try:
                progress("sampling", done, steps)
            except BaseException as error:
                stop = stop or error
                raise

    def run(job: tuple[int, int]) -> tuple[NDArray[np.float32], Learned]:
        number, way = job
        rng = generator(Purpose.ALIGN, seed, part * len(views) + number, way)
        view, before = views[number], views[number].before
        text, links = view.get(way)
        sampler = Sampler(text, way, links, None if before is None else before[way], priors, rng)
        learned = sampler.run(schedule, tick)
        view.release()
        return sampler.posterior, learned

    sums: dict[int, NDArray[np.float32]] = {}
    learned = []
    with ThreadPoolExecutor(min(threads or processors(), len(jobs))) as pool:
        try:
            runs = pool.map(run, jobs)
            for _, way in jobs:
                posterior, one = next(runs)
                sums[way] = np.add(sums[way], posterior, out=sums[way]) if way in sums else posterior
                learned.append(one)
                del posterior  # frees four bytes per cell while waiting for the next
        finally:
            stop = stop or CancelledError()  # on Ctrl-C the other samplers stop too
    share = np.float32(1 / len(views))
    means = [np.multiply(sums[way], share, out=sums[way]) for way in (0, 1)]
    return means, list(zip(learned[::2], learned[1::2], strict=True))
