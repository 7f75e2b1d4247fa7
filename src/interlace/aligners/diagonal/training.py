"""Variational EM for `diagonal`: passes over the text in chunks, each processed by several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from interlace.aligners.common.inputs import Prior, Vocabularies, cells_of
from interlace.aligners.diagonal import kernels
from interlace.aligners.diagonal.cooccurrence import Cooccurrence
from interlace.alignment import WordPairs
from interlace.core.kernels import processors
from interlace.core.progress import Progress
from interlace.core.ragged import DoubleArray, IntArray, Ragged

Result = TypeVar("Result")

_PAIRS = 500  # per task of a thread
_TYPES = 2_000  # the same
_TENSION = 4.0  # at the start (Dyer et al. 2013, section 2; fast_align)
_TENSION_RATE = 1.0  # of the gradient ascent (section 3.2); fast_align: 20, which overshoots
_STEPS = 8  # of the tension's gradient ascent after a pass, as in fast_align
_MIN_TENSION = 0.1  # as in fast_align, as is the maximum
_MAX_TENSION = 14.0


class TrainingPairs:
    """The pairs that are used for training, chunk by chunk, in the numbers of vocabularies, which grow by their words.

    chunks: number of chunks.
    shapes, times: (s, 2) distinct numbers of source and target words of pairs, and (s,) how many pairs have them.
    """

    def __init__(self, pairs: WordPairs, vocabularies: Vocabularies) -> None:
        self.vocabularies = vocabularies
        self._pairs = pairs
        self._renumber = vocabularies.renumber(pairs)
        self.chunks = 0
        for _ in self:  # grows the vocabularies, before those of a prior
            self.chunks += 1
        is_used = cells_of(pairs) > 0  # with words on both sides, and not too long
        # Both lengths of a pair as one number, because numbers are sorted faster than rows.
        width = int(pairs.target.lengths.max(initial=0)) + 1
        keys = pairs.source.lengths * width + pairs.target.lengths
        distinct, self.times = np.unique(keys[is_used], return_counts=True)
        self.shapes = np.stack(np.divmod(distinct, width), axis=1)

    def __iter__(self) -> Iterator[tuple[Ragged, Ragged]]:
        """Yield source and target of each chunk; all pairs have words on both sides and at most MAX_CELLS cells."""
        source_numbers, target_numbers = self._renumber
        for chunk in self._pairs.chunks():
            usable = cells_of(chunk) > 0
            source = chunk.source
            target = chunk.target
            if not usable.all():
                source = source.take(usable)
                target = target.take(usable)
            yield source_numbers(source, grow=True), target_numbers(target, grow=True)


def workers(threads: int) -> ThreadPoolExecutor:
    """Return a pool of this many threads; 0: one per processor that this process may use."""
    return ThreadPoolExecutor(threads or processors(), "diagonal")


def by_parts(
    pool: ThreadPoolExecutor, work: Callable[[int, int], Result], count: int, size: int = _PAIRS
) -> list[Result]:
    """Return the results of work(first, last) over all parts of a fixed size, in order."""
    starts = range(0, count, size)
    return list(pool.map(work, starts, [min(start + size, count) for start in starts]))


class EmTraining:
    """The state of EM: probabilities and expected counts of all type pairs of the text and of a prior."""

    def __init__(
        self,
        pairs: TrainingPairs,
        prior: Prior,
        pool: ThreadPoolExecutor,
        progress: Progress,
        *,
        iterations: int,
        alpha: float,
        null: float,
    ) -> None:
        """The numbers are the settings of `Diagonal` with these names."""
        self._iterations = iterations
        self._alpha = alpha
        self._null = null
        self._text = pairs
        self._pool = pool
        self._progress = progress
        self._prior = prior
        source_types, target_types = map(len, pairs.vocabularies)
        self._table = Cooccurrence.collect(
            self._chunks_to_collect(), prior.entries, source_types, pool
        )
        self._table.slots["forward"] = kernels.SCALE  # equal probabilities
        self._table.slots["backward"] = kernels.SCALE
        self._nulls = (
            np.full(source_types, kernels.SCALE, np.float32),
            np.full(target_types, kernels.SCALE, np.float32),
        )
        self._tensions = np.full(2, _TENSION)  # forward, backward
        self._model = kernels.DiagonalModel.of(self._table, self._nulls, self._tensions, null)
        self._counts = kernels.ExpectedCounts(
            self._table.slots["count"],
            np.zeros(source_types, np.int64),
            np.zeros(target_types, np.int64),
        )
        # types that each source type and each target type co-occurs with
        self._degrees = self._table.degrees(target_types)

    def _chunks_to_collect(self) -> Iterator[tuple[Ragged, Ragged]]:
        for done, chunk in enumerate(self._text, 1):
            yield chunk
            self._progress("collecting word pairs", done, self._text.chunks)

    def run(self) -> kernels.DiagonalModel:
        """Return the probabilities after all passes over the training pairs."""
        for iteration in range(self._iterations):
            links, distance = self._expect(iteration * self._text.chunks)
            if iteration > 0:
                self._update_tensions(links, distance)
            self._maximize()
        return self._model

    def _expect(self, chunks_before: int) -> DoubleArray:
        """Count links in all pairs, after those of the prior; return (2,) links and their distance from the diagonal.

        chunks_before: of previous passes.
        """
        prior_counts = np.rint(self._prior.counts * kernels.FIXED).astype(np.int64)
        self._counts.links[self._table.find(self._prior.entries)] = prior_counts
        sums = np.zeros(2, np.int64)
        for done, (source, target) in enumerate(self._text, chunks_before + 1):
            sums += self._expect_chunk(source, target)
            self._progress("learning", done, self._text.chunks * self._iterations)
        return sums / kernels.FIXED

    def _expect_chunk(self, source: Ragged, target: Ragged) -> IntArray:
        """Add the expected counts of a chunk; return (2,) links and their distance, in units of 1 / FIXED."""
        rows = kernels.Rows.of(source, target)

        def expect(first: int, last: int) -> IntArray:
            return kernels.expect(rows, first, last, self._model, self._counts)

        return sum(by_parts(self._pool, expect, len(source)), np.zeros(2, np.int64))

    def _maximize(self) -> None:
        """Set new probabilities from the counts (Dirichlet prior alpha on both sides), and reset the counts to 0."""
        alpha = self._alpha
        source_degrees, target_degrees = self._degrees
        source_totals = np.zeros(len(source_degrees), np.int64)
        target_totals = np.zeros(len(target_degrees), np.int64)

        def add_totals(first: int, last: int) -> None:
            kernels.total(self._model, self._counts, first, last, source_totals, target_totals)

        by_parts(self._pool, add_totals, len(source_totals), _TYPES)
        source_scales = self._scales(source_totals, source_degrees)
        target_scales = self._scales(target_totals, target_degrees)

        def maximize(first: int, last: int) -> None:
            kernels.maximize(
                self._model, self._counts, first, last, alpha, source_scales, target_scales
            )

        by_parts(self._pool, maximize, len(source_totals), _TYPES)
        for links, theta in zip(self._counts[1:], self._nulls, strict=True):
            total_mass = links.sum() / kernels.FIXED + alpha * len(links)
            masses = kernels.exp_digammas(links / kernels.FIXED + alpha)
            share = masses / kernels.exp_digammas(np.array([total_mass]))
            theta[:] = np.maximum(share * kernels.SCALE, kernels.MIN_PROBABILITY)
            links.fill(0)

    def _scales(self, totals: IntArray, degrees: IntArray) -> DoubleArray:
        """(types,) SCALE over the mass of each type with these links and co-occurring types."""
        masses = totals / kernels.FIXED + self._alpha * np.maximum(degrees, 1)
        return kernels.SCALE / kernels.exp_digammas(masses)

    def _update_tensions(self, links: float, distance: float) -> None:
        """Move the tensions so that the expected distance from the diagonal is the one found (section 3.2)."""
        sources, targets = np.ascontiguousarray(self._text.shapes.T)
        self._tensions[0] = self._new_tension(0, targets, sources, links, distance)
        self._tensions[1] = self._new_tension(1, sources, targets, links, distance)

    def _new_tension(
        self,
        way: int,
        explained: IntArray,
        explaining: IntArray,
        links: float,
        distance: float,
    ) -> float:
        """Return the tension of a direction after some steps; explained, explaining: (shapes,) words of the sides."""
        times = self._text.times
        words = float(times @ explained)
        tension = float(self._tensions[way])
        for _ in range(_STEPS):
            diagonal = float(times @ kernels.mean_distances(explained, explaining, tension))
            expected = links / words * diagonal / words
            tension += _TENSION_RATE * (expected - distance / words)
            tension = min(max(tension, _MIN_TENSION), _MAX_TENSION)
        return tension
