"""Training of `gibbs`: which pairs are used, and one Gibbs sampler per view and direction, in threads.

A view is the text with whole words or with words cut to their first letters. Cut words merge the forms of a word, whole
words distinguish them; samplers of both kinds make different errors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np

from interlace.aligners import Alignments
from interlace.aligners.common.inputs import MAX_CELLS, Prior, cells_of, without_unusable_text
from interlace.aligners.gibbs import kernels
from interlace.aligners.gibbs.kernels import ALPHA, UNIT, SamplerCounts, Tally, Words
from interlace.aligners.gibbs.model import (
    FERTILITIES,
    MAX_JUMP,
    NULL,
    UNKNOWN_LINKS,
    Cuts,
    Factors,
    SamplerModel,
    cell_starts,
    clipped_widths,
    tables_of,
    words_of,
)
from interlace.alignment import WordPairs
from interlace.alignment.pair_numbers import PairTable
from interlace.core.kernels import processors
from interlace.core.progress import Progress
from interlace.core.ragged import DoubleArray, FloatArray, Int32Array, IntArray, Ragged
from interlace.core.randomness import Generator, Purpose, generator

log = logging.getLogger(__name__)

_MAX_PORTION = MAX_CELLS  # cells of pairs that are aligned at a time; no pair has more
_BLOCK = 10_000  # consecutive pairs in the same part, which are read from the disk together
# Dirichlet prior of each jump width and of each fertility (Östling and Tiedemann 2016)
_JUMP_PRIOR = 0.5
_FERTILITY_PRIOR = 0.5


# ---- pairs ----


def count_parts(pairs: WordPairs, max_cells: int) -> int:
    """Return the number of parts of about `max_cells` cells, at most one per usable pair."""
    cells = cells_of(pairs)
    usable = int((cells > 0).sum())
    parts = min(-(-int(cells.sum()) // max_cells), usable)
    if parts > 1:
        log.info("gibbs: training on %d pairs in %d parts (max_training_cells)", usable, parts)
    return parts


def part_of(
    pairs: WordPairs, evidence: Alignments | None, number: int, parts: int
) -> tuple[WordPairs, Alignments | None]:
    """Return the usable pairs of one part; blocks of consecutive pairs are dealt out to the parts by turns."""
    if parts == 1:
        return without_unusable_text(pairs), evidence
    block = max(1, min(_BLOCK, len(pairs) // (8 * parts)))
    rows = np.flatnonzero(
        (np.arange(len(pairs)) // block % parts == number) & (cells_of(pairs) > 0)
    )
    part = replace(pairs, source=pairs.source.take(rows), target=pairs.target.take(rows))
    return part, None if evidence is None else evidence.take(rows)


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
            yield without_unusable_text(chunk.slice(start, stop))
            start = stop


# ---- sampling ----


@dataclass(frozen=True)
class Learned:
    """What a sampler learned from the parts of a text so far.

    jumps: (2 * MAX_JUMP + 1,) and fertility: (types, FERTILITIES), links counted in the last sweep of each part.
    """

    model: SamplerModel
    jumps: IntArray
    fertility: IntArray


@dataclass(frozen=True)
class View:
    """A text with cut words, whose type pairs are numbered, as one of its samplers sees it.

    words: without twins. cuts: of drawn and drawing words.
    entries: (m, 2) int32 drawn and drawing type of each numbered pair.
    links: (2, p) that this sampler and the one of the other direction start with, of the first p type pairs.
    """

    words: Words
    cuts: Cuts
    entries: Int32Array
    links: DoubleArray

    def reversed(self) -> View:
        """Return the view of the other direction, whose drawn words are the drawing words here."""
        words = self.words
        cells = np.empty_like(words.cells)
        kernels.transpose(
            words.by_starts, words.to_starts, words.cell_starts, words.cells, cells
        )
        reversed_words = words._replace(
            by=words.to,
            by_starts=words.to_starts,
            to=words.by,
            to_starts=words.by_starts,
            cells=cells,
        )
        return View(reversed_words, self.cuts[::-1], self.entries[:, ::-1], self.links[::-1])


@dataclass(frozen=True)
class TextPart:
    """Pairs to train on at a time, in the types of vocabularies, with rows that begin at offset 0.

    words: of the source and target text. cuts: of source and target words, for each view. prior: links to start with.
    evidence: of the cells, forward and backward, see `evidence_factors`.
    before: what the samplers learned from earlier parts, forward and backward of each view; empty in the first part.
    """

    words: tuple[Ragged, Ragged]
    cuts: Sequence[Cuts]
    prior: Prior
    evidence: Factors
    before: Sequence[Learned] = ()

    def view(self, number: int) -> View:
        """Number all type pairs of a view, whose target words draw source words; those to start with come first."""
        cuts = self.cuts[number]
        starting_pairs, links = self._starting_links(number)
        words = words_of(*self.words, cuts)
        words = words._replace(cells=np.empty(words.cell_starts[-1], np.uint32))
        table = kernels.number_cells(PairTable.of(starting_pairs), words)
        return View(words, cuts, PairTable(*table).pairs(), links)

    def _starting_links(self, number: int) -> tuple[Int32Array, DoubleArray]:
        """Return (p, 2) pairs of types of a view, and (2, p) the links of each, forward and backward."""
        if self.before:
            forward = self.before[2 * number].model
            backward = self.before[2 * number + 1].model
            sources = np.concatenate([forward.entries[:, 0], backward.entries[:, 1]])
            targets = np.concatenate([forward.entries[:, 1], backward.entries[:, 0]])
            links = np.zeros((2, len(sources)))
            forward_count = len(forward.pairs)
            links[0, :forward_count] = forward.pairs.astype(np.float64) - ALPHA
            links[1, forward_count:] = backward.pairs.astype(np.float64) - ALPHA
        else:
            source_cut, target_cut = self.cuts[number]
            sources = source_cut(self.prior.entries[:, 0])
            targets = target_cut(self.prior.entries[:, 1])
            links = np.stack([self.prior.counts, self.prior.counts])
        keys = sources.astype(np.int64) << 32 | targets
        distinct, rows = np.unique(keys, return_inverse=True)
        pairs = np.stack([distinct >> 32, distinct & 0xFFFFFFFF], axis=1)
        sums = [np.bincount(rows, counts, len(distinct)) for counts in links]
        return pairs.astype(np.int32), np.stack(sums)


class Sampler:
    """The state of one sampler: each drawing word of a view draws a partner.

    before: what it learned from earlier parts.
    """

    def __init__(self, view: View, before: Learned | None, rng: Generator) -> None:
        self.view = view
        words = view.words
        drawn_cut, drawing_cut = view.cuts
        drawn_types = drawn_cut.size
        twins = np.empty_like(words.by)
        latest = np.full(drawn_types, -1, np.int64)
        kernels.twins(words.by, words.by_starts, latest, twins)
        self.words = words._replace(twins=twins)
        drawn_lengths = np.diff(words.by_starts)
        drawing_lengths = np.diff(words.to_starts)
        longest = max(drawn_lengths.max(initial=0), drawing_lengths.max(initial=0))
        self._middle = int(longest) + 2
        self._state = np.uint64(rng.integers(1, 2**63))
        candidates = np.repeat(drawn_lengths, drawing_lengths)  # (words,) of each drawing word
        self.chosen = _first_partners(candidates, rng)
        self._alone = np.zeros(drawing_cut.size)
        self._earlier_jumps = np.zeros(2 * MAX_JUMP + 1, np.int64)
        self._earlier_fertility = np.zeros((drawn_types, FERTILITIES), np.int64)
        if before is not None:
            self._continue_from(before)
        self.counts = self.count_links()
        self._jumps = np.ones(2 * MAX_JUMP + 1, np.float32)
        self._tables = tables_of(
            self._jumps, np.ones((drawn_types, 1), np.float32), self._middle
        )
        self.posterior = np.zeros(len(words.cells), np.float32)
        self._sums = [np.zeros(len(counts), np.float32) for counts in self.counts[:3]]
        self._kept_sweeps = 0

    def _continue_from(self, before: Learned) -> None:
        """Start with the counts of earlier parts, which have fewer types."""
        alone = before.model.alone
        self._alone[: len(alone)] = alone
        self._earlier_jumps = before.jumps
        self._earlier_fertility[: len(before.fertility)] = before.fertility

    def count_links(self) -> SamplerCounts:
        """Count the current links and those to start with; 32 bits per type pair unless a sweep may need more."""
        entries = self.view.entries
        starting_links = _in_units(self.view.links[0])
        pairs = np.ones(len(entries), np.int64)
        pairs[: len(starting_links)] += starting_links
        most_frequent = int(np.bincount(self.words.to).max(initial=0))
        largest = pairs.max(initial=1) + UNIT * most_frequent
        alone = _in_units(self._alone)
        kernels.count_links(self.words, self.chosen, pairs, alone)
        drawn_types = self.view.cuts[0].size
        drawn = np.bincount(entries[:, 0], weights=pairs, minlength=drawn_types)
        width = np.int32 if largest <= np.iinfo(np.int32).max else np.int64
        all_alone = alone.sum(keepdims=True)
        return SamplerCounts(pairs.astype(width), drawn.astype(np.int64), alone, all_alone)

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
        entries = np.ascontiguousarray(self.view.entries[linked])
        fertility = self._tables.fertility
        learned = SamplerModel(
            self.view.cuts, entries, pairs[linked], words, alone, self._jumps, fertility
        )
        return Learned(learned, self._last_jumps, self._last_fertility)

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
            kernels.sweep(self.words, self.chosen, self.counts, tables, tally, self._state)
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


def _in_units(links: DoubleArray) -> IntArray:
    return np.round(UNIT * links).astype(np.int64)


def _first_partners(candidates: IntArray, rng: Generator) -> Int32Array:
    """(words,) a partner of each word, drawn uniformly from so many candidates, or none.

    Starting near the diagonal would keep links there, even against a dictionary.
    """
    partners: Int32Array = rng.integers(0, np.maximum(candidates, 1)).astype(np.int32)
    has_none = (rng.random(len(candidates)) < NULL) | (candidates == 0)
    partners[has_none] = kernels.NONE
    return partners


def _jump_probabilities(counts: IntArray, words: int) -> FloatArray:
    """Return probabilities from counts by width (0 in the middle), up to `MAX_JUMP`; words: maximum words of a pair.

    Widths that no pair allows are as probable as unseen ones, but take no probability mass from the others: sharing it
    among all 201 widths would flatten the distribution of a text of a few short pairs.
    """
    jumps = counts + _JUMP_PRIOR
    possible = slice(max(MAX_JUMP + 1 - words, 0), MAX_JUMP + 2 + words)
    return np.asarray(jumps / jumps[possible].sum(), np.float32)


class _Steps:
    """Reports the sweeps of samplers in several threads; the first error stops all of them at their next sweep."""

    def __init__(self, progress: Progress, count: int) -> None:
        self._progress = progress
        self._count = count
        self._done = 0
        self._lock = Lock()
        self._error: BaseException | None = None

    def tick(self) -> None:
        """Report a sweep."""
        with self._lock:
            if self._error is not None:
                raise self._error
            self._done += 1
            try:
                self._progress("sampling", self._done, self._count)
            except BaseException as error:
                self._error = error
                raise

    def stop(self) -> None:
        """Stop samplers that still run."""
        with self._lock:
            self._error = self._error or CancelledError()


def run_samplers(
    part: TextPart,
    schedule: list[int],
    seed: int,
    threads: int,
    progress: Progress,
    part_number: int,
) -> tuple[FloatArray, list[Learned]]:
    """Run one sampler per view and direction; return (2, cells) mean posteriors by direction, and what each learned.

    Results are added in a fixed order, whichever ends first. schedule: sweeps of each model. threads: 0: one per
    processor. part_number: of the part of the text.
    """
    views = len(part.cuts)
    steps = _Steps(progress, sum(schedule) * 2 * views)

    def run(
        future_view: Future[View], view_number: int, direction: int
    ) -> tuple[FloatArray, Learned]:
        view = future_view.result()
        learned_before = part.before[2 * view_number + direction] if part.before else None
        rng = generator(Purpose.ALIGN, seed, part_number * views + view_number, direction)
        if direction:
            view = view.reversed()
        words = view.words._replace(evidence=part.evidence[direction])
        sampler = Sampler(replace(view, words=words), learned_before, rng)
        learned = sampler.run(schedule, steps.tick)
        return sampler.posterior, learned

    means = np.zeros((2, cell_starts(*part.words)[-1]), np.float32)
    results = []
    with ThreadPoolExecutor(min(threads or processors(), 2 * views)) as pool:
        jobs = []
        for view in range(views):
            # shared by two jobs, and freed after them
            future_view = pool.submit(part.view, view)
            jobs.append(pool.submit(run, future_view, view, 0))
            jobs.append(pool.submit(run, future_view, view, 1))
        del future_view  # else the last view would live as long as this function
        try:
            for direction in (0, 1) * views:
                posterior, learned = jobs.pop(0).result()
                means[direction] += posterior
                results.append(learned)
                del posterior  # frees four bytes per cell while waiting for the next
        finally:
            steps.stop()  # on Ctrl-C
    means *= np.float32(1 / views)
    return means, results
