"""Variational EM for `diagonal`: passes over the text in chunks, each processed by several threads."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.aligners.common.inputs import MAX_CELLS, Prior, Vocabularies, warn_about_long
from interlace.aligners.diagonal import Diagonal, kernels
from interlace.aligners.diagonal.cooccurrence import PROBABILITIES, Cooccurrence, Fields, SpilledPairs, collect, in_rows
from interlace.alignment import WordPairs
from interlace.alignment.spill import GB, SpilledColumn
from interlace.core.processors import processors
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)

_TYPES = 2_000  # per task of a thread
_BYTES = 72  # a type pair, at the peak
_STEPS = 8  # of the tension's gradient ascent after a pass, as in fast_align
_TENSIONS = (0.1, 14.0)  # its bounds, as in fast_align


class TrainingPairs:
    """The pairs that are used for training, chunk by chunk, in the numbers of vocabularies, which grow by their words.

    chunks: number of chunks.
    shapes, times: (s, 2) distinct numbers of source and target words of pairs, and (s,) how many pairs have them.
    """

    def __init__(self, pairs: WordPairs, vocabularies: Vocabularies) -> None:
        self.vocabularies = vocabularies
        self._pairs, self._renumber = pairs, vocabularies.renumber(pairs)
        self.chunks = 0
        seen: dict[tuple[int, ...], int] = {}
        for source, target in self:
            self.chunks += 1
            lengths = np.stack([source.lengths, target.lengths], axis=1)
            shapes, times = np.unique(lengths, axis=0, return_counts=True)
            for shape, more in zip(map(tuple, shapes.tolist()), times.tolist(), strict=True):
                seen[shape] = seen.get(shape, 0) + more
        self.shapes = np.array(sorted(seen), np.int64).reshape(-1, 2)
        self.times = np.array([seen[shape] for shape in sorted(seen)], np.int64)
        if self.chunks:
            warn_about_long(pairs, "diagonal")

    def __iter__(self) -> Iterator[tuple[Ragged, Ragged]]:
        """Yield source and target of each chunk; all pairs have words on both sides and at most MAX_CELLS cells."""
        for chunk in self._pairs.chunks():
            cells = chunk.source.lengths * chunk.target.lengths
            usable = (cells > 0) & (cells <= MAX_CELLS)
            if usable.any():
                sides = [side if usable.all() else side.take(usable) for side in (chunk.source, chunk.target)]
                yield self._renumber[0](sides[0], grow=True), self._renumber[1](sides[1], grow=True)


def workers(threads: int) -> ThreadPoolExecutor:
    """Return a pool of this many threads; 0: one per processor that this process may use."""
    return ThreadPoolExecutor(threads or processors(), "diagonal")


def by_parts(pool: ThreadPoolExecutor, work: Callable[[int, int], Any], count: int, size: int = 500) -> list[Any]:
    """Return the results of work(first, last) over all parts of a fixed size, in order."""
    starts = range(0, count, size)
    return list(pool.map(work, starts, [min(start + size, count) for start in starts]))


class EmTraining:
    """The state of EM: probabilities and expected counts of all type pairs of the text and of a prior.

    They are in one table, in memory or, if there are too many, in a file; see `SpilledPairs`.
    """

    def __init__(
        self, settings: Diagonal, pairs: TrainingPairs, prior: Prior, pool: ThreadPoolExecutor, progress: Progress
    ) -> None:
        self._settings, self._pairs, self._pool, self._progress = settings, pairs, pool, progress

        def reported() -> Iterator[tuple[Ragged, Ragged]]:
            for done, chunk in enumerate(pairs, 1):
                yield chunk
                progress("collecting word pairs", done, pairs.chunks)

        counts: Fields = [("count", np.int64)] if settings.agree else [("count", np.int64), ("other", np.int64)]
        source, target = map(len, pairs.vocabularies)
        limit = int(settings.memory * GB / _BYTES)
        fields: Fields = [*counts, *PROBABILITIES]
        self._spilled: SpilledPairs | None = None
        for chunks, sets, last in collect(reported(), prior.entries, pool, limit):
            if last and self._spilled is None:
                self._table = in_rows(sets, source, fields, pool)
            else:
                self._spilled = self._spilled or SpilledPairs(source, fields, limit // 2 + 1)
                self._spilled.add(sets, chunks)
        if self._spilled is not None:
            log.info("diagonal: word pairs of %d parts of the text in temporary files", len(self._spilled.chunks))
            self._table = self._spilled.table()
        self._table.slots["forward"] = self._table.slots["backward"] = kernels.SCALE  # equal probabilities
        self._nulls = (np.full(source, kernels.SCALE, np.float32), np.full(target, kernels.SCALE, np.float32))
        self._tensions = np.full(2, settings.tension)
        self._null_counts = (np.zeros(source, np.int64), np.zeros(target, np.int64))
        self._prior = (prior.entries, np.rint(prior.counts * kernels.FIXED).astype(np.int64))
        # types that each source type and each target type co-occurs with
        self._degrees = self._table.degrees(target)

    def run(self) -> kernels.DiagonalModel:
        """Return the probabilities after all passes over the training pairs, in a table without counts."""
        for iteration in range(self._settings.iterations):
            totals = [np.zeros(len(degrees), np.int64) for degrees in self._degrees]
            found = self._expect(iteration * self._pairs.chunks, totals)
            if self._settings.tension_rate and iteration > 0:
                self._update_tensions(found)
            self._maximize(totals)
        size, kind = len(self._table.slots), np.dtype([("target", np.int32), *PROBABILITIES])
        slots = np.empty(size, kind) if self._spilled is None else SpilledColumn(kind, rows=size).mapped()
        for name in slots.dtype.names or ():
            slots[name] = self._table.slots[name]
        return self._model(Cooccurrence(self._table.starts, slots))

    def _model(self, table: Cooccurrence) -> kernels.DiagonalModel:
        return kernels.DiagonalModel.of(table, self._nulls, self._tensions, self._settings.null)

    def _counts(self, table: Cooccurrence) -> kernels.ExpectedCounts:
        both = (table.slots["count"], table.slots["count" if self._settings.agree else "other"])
        return kernels.ExpectedCounts(*both, *self._null_counts)

    def _expect(self, before: int, totals: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Count links in all pairs; return (2, 2) expected links and their distance, forward and backward.

        before: number of chunks of previous passes. totals: counts are added, forward by source type and backward by
        target type.
        """
        found, numbered = np.zeros((2, 2), np.int64), enumerate(self._pairs, before + 1)
        spilled = self._spilled
        for part, chunks in enumerate([self._pairs.chunks] if spilled is None else spilled.chunks):
            table = self._table if spilled is None else spilled.load(part, self._table)
            model, counts = self._model(table), self._counts(table)
            if part == 0:  # has the pairs of the prior
                slots = table.find(self._prior[0])
                counts.forward[slots] = counts.backward[slots] = self._prior[1]
            for done, (source, target) in islice(numbered, chunks):
                rows = kernels.Rows(source.values, source.offsets, target.values, target.offsets)

                def work(first: int, last: int, rows: Any = rows, model: Any = model, counts: Any = counts) -> Any:
                    return kernels.expect(rows, first, last, model, counts, self._settings.agree)

                found += sum(by_parts(self._pool, work, len(source)))
                self._progress("learning", done, self._pairs.chunks * self._settings.iterations)

            def total(first: int, last: int, model: Any = model, counts: Any = counts) -> None:
                kernels.total(model, counts, first, last, totals[0], totals[1])

            by_parts(self._pool, total, len(totals[0]), _TYPES)
            if spilled is not None:
                spilled.add_counts(part, table, self._table)
        return found / kernels.FIXED

    def _maximize(self, totals: list[NDArray[np.int64]]) -> None:
        """Set new probabilities from the counts (Dirichlet prior alpha on both sides), and reset the counts to 0."""
        alpha = self._settings.alpha
        scales = [
            kernels.SCALE / kernels.exp_digammas(total / kernels.FIXED + alpha * np.maximum(degrees, 1))
            for total, degrees in zip(totals, self._degrees, strict=True)
        ]
        model, counts = self._model(self._table), self._counts(self._table)

        def maximize(first: int, last: int) -> None:
            kernels.maximize(model, counts, first, last, alpha, scales[0], scales[1])

        by_parts(self._pool, maximize, len(totals[0]), _TYPES)
        for links, theta in zip(self._null_counts, self._nulls, strict=True):
            whole = np.array([links.sum() / kernels.FIXED + alpha * len(links)])
            share = kernels.exp_digammas(links / kernels.FIXED + alpha) / kernels.exp_digammas(whole)
            theta[:] = np.maximum(share * kernels.SCALE, kernels.MIN_PROBABILITY)
            links.fill(0)

    def _update_tensions(self, found: NDArray[np.float64]) -> None:
        """Move the tensions so that the expected distance from the diagonal is the one found (section 3.2)."""
        times, (sources, targets) = self._pairs.times, np.ascontiguousarray(self._pairs.shapes.T)
        for way, (explained, explaining) in enumerate(((targets, sources), (sources, targets))):
            words = float(times @ explained)
            links, distance = found[way] / words
            tension = float(self._tensions[way])
            for _ in range(_STEPS):
                expected = links * float(times @ kernels.mean_distances(explained, explaining, tension)) / words
                tension += self._settings.tension_rate * (expected - distance)
                tension = min(max(tension, _TENSIONS[0]), _TENSIONS[1])
            self._tensions[way] = tension
