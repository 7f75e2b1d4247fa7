"""Variational EM for `diagonal`: passes over the text in chunks, each processed by several threads."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from interlace.aligners.common.inputs import MAX_CELLS, Prior, Vocabularies, warn_about_long
from interlace.aligners.diagonal import kernels
from interlace.aligners.diagonal.cooccurrence import CollectedPairs, Cooccurrence
from interlace.aligners.diagonal.settings import TrainingSettings
from interlace.alignment import WordPairs
from interlace.alignment.spill import GB
from interlace.core.processors import processors
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)
Result = TypeVar("Result")

_PAIRS, _TYPES = 500, 2_000  # per task of a thread
_BYTES = 72  # a type pair, at the peak
_STEPS = 8  # of the tension's gradient ascent after a pass, as in fast_align
_MIN_TENSION, _MAX_TENSION = 0.1, 14.0  # as in fast_align


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
        shapes: Counter[tuple[int, int]] = Counter()
        for source, target in self:
            self.chunks += 1
            shapes.update(zip(source.lengths.tolist(), target.lengths.tolist(), strict=True))
        self.shapes = np.array(sorted(shapes), np.int64).reshape(-1, 2)
        self.times = np.array([shapes[shape] for shape in sorted(shapes)], np.int64)
        if self.chunks:
            warn_about_long(pairs, "diagonal")

    def __iter__(self) -> Iterator[tuple[Ragged, Ragged]]:
        """Yield source and target of each chunk; all pairs have words on both sides and at most MAX_CELLS cells."""
        source_numbers, target_numbers = self._renumber
        for chunk in self._pairs.chunks():
            cells = chunk.source.lengths * chunk.target.lengths
            usable = (cells > 0) & (cells <= MAX_CELLS)
            if not usable.any():
                continue
            source, target = chunk.source, chunk.target
            if not usable.all():
                source, target = source.take(usable), target.take(usable)
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
        settings: TrainingSettings,
        pairs: TrainingPairs,
        prior: Prior,
        pool: ThreadPoolExecutor,
        progress: Progress,
    ) -> None:
        self._settings = settings
        self._text = pairs
        self._pool = pool
        self._progress = progress
        source, target = map(len, pairs.vocabularies)
        limit = int(settings.memory * GB / _BYTES)
        self._pairs = CollectedPairs.collect(
            self._chunks_to_collect(), prior.entries, source, limit, pool
        )
        if self._pairs.on_disk:
            log.info(
                "diagonal: word pairs of %d parts of the text in temporary files",
                len(self._pairs.chunks),
            )
        slots = self._pairs.table.slots
        slots["forward"] = slots["backward"] = kernels.SCALE  # equal probabilities
        self._nulls = (
            np.full(source, kernels.SCALE, np.float32),
            np.full(target, kernels.SCALE, np.float32),
        )
        self._null_counts = (np.zeros(source, np.int64), np.zeros(target, np.int64))
        self._tensions = np.full(2, settings.tension)  # forward, backward
        self._prior = prior
        # types that each source type and each target type co-occurs with
        self._degrees = self._pairs.table.degrees(target)

    def _chunks_to_collect(self) -> Iterator[tuple[Ragged, Ragged]]:
        for done, chunk in enumerate(self._text, 1):
            yield chunk
            self._progress("collecting word pairs", done, self._text.chunks)

    def run(self) -> kernels.DiagonalModel:
        """Return the probabilities after all passes over the training pairs, in a table without counts."""
        for iteration in range(self._settings.iterations):
            totals = [np.zeros(len(degrees), np.int64) for degrees in self._degrees]
            links, distance = self._expect(iteration * self._text.chunks, totals)
            if self._settings.tension_rate and iteration > 0:
                self._update_tensions(links, distance)
            self._maximize(totals)
        return self._model(self._pairs.table.without_counts(on_disk=self._pairs.on_disk))

    def _model(self, table: Cooccurrence) -> kernels.DiagonalModel:
        return kernels.DiagonalModel.of(table, self._nulls, self._tensions, self._settings.null)

    def _counts(self, table: Cooccurrence) -> kernels.ExpectedCounts:
        return kernels.ExpectedCounts(table.slots["count"], *self._null_counts)

    def _expect(self, chunks_before: int, totals: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Count links in all pairs; return (2,) expected links and their distance from the diagonal.

        chunks_before: of previous passes. totals: counts are added by source type and by target type.
        """
        sums = np.zeros(2, np.int64)
        chunks = enumerate(self._text, chunks_before + 1)
        for part, (table, size) in enumerate(self._pairs.parts()):
            if part == 0:  # has the pairs of the prior
                slots = table.find(self._prior.entries)
                table.slots["count"][slots] = np.rint(self._prior.counts * kernels.FIXED).astype(
                    np.int64
                )
            model, counts = self._model(table), self._counts(table)
            for done, (source, target) in islice(chunks, size):
                sums += self._count_links(source, target, model, counts)
                self._progress("learning", done, self._text.chunks * self._settings.iterations)
            self._add_totals(model, counts, totals)
        return sums / kernels.FIXED

    def _count_links(
        self,
        source: Ragged,
        target: Ragged,
        model: kernels.DiagonalModel,
        counts: kernels.ExpectedCounts,
    ) -> NDArray[np.int64]:
        """Add the expected counts of a chunk; return (2,) links and their distance, in units of 1 / FIXED."""
        rows = kernels.Rows(source.values, source.offsets, target.values, target.offsets)

        def work(first: int, last: int) -> NDArray[np.int64]:
            sums: NDArray[np.int64] = kernels.expect(rows, first, last, model, counts)
            return sums

        return sum(by_parts(self._pool, work, len(source)), np.zeros(2, np.int64))

    def _add_totals(
        self,
        model: kernels.DiagonalModel,
        counts: kernels.ExpectedCounts,
        totals: list[NDArray[np.int64]],
    ) -> None:
        def work(first: int, last: int) -> None:
            kernels.total(model, counts, first, last, totals[0], totals[1])

        by_parts(self._pool, work, len(totals[0]), _TYPES)

    def _maximize(self, totals: list[NDArray[np.int64]]) -> None:
        """Set new probabilities from the counts (Dirichlet prior alpha on both sides), and reset the counts to 0."""
        alpha = self._settings.alpha
        scales = []
        for total, degrees in zip(totals, self._degrees, strict=True):
            masses = kernels.exp_digammas(total / kernels.FIXED + alpha * np.maximum(degrees, 1))
            scales.append(kernels.SCALE / masses)
        model = self._model(self._pairs.table)
        counts = self._counts(self._pairs.table)

        def maximize(first: int, last: int) -> None:
            kernels.maximize(model, counts, first, last, alpha, scales[0], scales[1])

        by_parts(self._pool, maximize, len(totals[0]), _TYPES)
        for links, theta in zip(self._null_counts, self._nulls, strict=True):
            total_mass = kernels.exp_digammas(
                np.array([links.sum() / kernels.FIXED + alpha * len(links)])
            )
            share = kernels.exp_digammas(links / kernels.FIXED + alpha) / total_mass
            theta[:] = np.maximum(share * kernels.SCALE, kernels.MIN_PROBABILITY)
            links.fill(0)

    def _update_tensions(self, links: float, distance: float) -> None:
        """Move the tensions so that the expected distance from the diagonal is the one found (section 3.2)."""
        times = self._text.times
        sources, targets = np.ascontiguousarray(self._text.shapes.T)
        for way, (explained, explaining) in enumerate(((targets, sources), (sources, targets))):
            words = float(times @ explained)
            tension = float(self._tensions[way])
            for _ in range(_STEPS):
                diagonal = float(times @ kernels.mean_distances(explained, explaining, tension))
                expected = links / words * diagonal / words
                tension += self._settings.tension_rate * (expected - distance / words)
                tension = min(max(tension, _MIN_TENSION), _MAX_TENSION)
            self._tensions[way] = tension
