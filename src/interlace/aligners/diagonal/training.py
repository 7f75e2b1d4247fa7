"""Variational EM for `diagonal`: passes over the text in chunks, each processed by several threads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.aligners.common.inputs import MAX_CELLS, Prior, Vocabularies
from interlace.aligners.diagonal import Diagonal, kernels
from interlace.aligners.diagonal.cooccurrence import PROBABILITIES, Cooccurrence, Fields, cooccurrence
from interlace.alignment import WordPairs
from interlace.core.processors import processors
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)

_TYPES = 2_000  # per task of a thread
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
        beyond = int((pairs.source.lengths * pairs.target.lengths > MAX_CELLS).sum())
        if self.chunks and beyond:
            message = "%d pairs of more than 2048 times 2048 words are aligned but not used for training"
            log.warning(message, beyond)

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
    """The state of EM: probabilities and expected counts of all type pairs of the text and of a prior."""

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
        table = self._table = cooccurrence(reported(), source, prior.entries, [*counts, *PROBABILITIES], pool)
        slots = table.slots
        slots["forward"] = slots["backward"] = kernels.SCALE  # equal probabilities
        nulls = (np.full(source, kernels.SCALE, np.float32), np.full(target, kernels.SCALE, np.float32))
        self.model = kernels.DiagonalModel.of(table, nulls, np.full(2, settings.tension), settings.null)
        nothing = (np.zeros(source, np.int64), np.zeros(target, np.int64))
        self._counts = kernels.ExpectedCounts(slots["count"], slots[counts[-1][0]], *nothing)
        filled = table.targets >= 0
        self._degrees = (  # types that each source type and each target type co-occurs with
            np.add.reduceat(filled, table.starts[:-1], dtype=np.int64),
            np.bincount(table.targets[filled], minlength=target),
        )
        self._prior = (table.find(prior.entries), np.rint(prior.counts * kernels.FIXED).astype(np.int64))
        self._reset_to_prior()

    def run(self) -> kernels.DiagonalModel:
        """Return the probabilities after all passes over the training pairs, in a table without counts."""
        for iteration in range(self._settings.iterations):
            found = self._expect(iteration * self._pairs.chunks)
            if self._settings.tension_rate and iteration > 0:
                self._update_tensions(found)
            self._maximize()
        slots = np.empty(len(self._table.slots), [("target", np.int32), *PROBABILITIES])
        for name in slots.dtype.names or ():
            slots[name] = self._table.slots[name]
        nulls = (self.model.source_null, self.model.target_null)
        table = Cooccurrence(self._table.starts, slots)
        return kernels.DiagonalModel.of(table, nulls, self.model.tensions, self._settings.null)

    def _reset_to_prior(self) -> None:
        """Set the counts of the prior's entries; all other counts are 0."""
        slots, links = self._prior
        self._counts.forward[slots] = links
        self._counts.backward[slots] = links

    def _expect(self, before: int) -> NDArray[np.float64]:
        """Count links in all pairs; return (2, 2) expected links and their distance, forward and backward.

        before: number of chunks of previous passes.
        """
        found = np.zeros((2, 2), np.int64)
        for done, (source, target) in enumerate(self._pairs, 1):
            rows = kernels.Rows(source.values, source.offsets, target.values, target.offsets)

            def part(first: int, last: int, rows: kernels.Rows = rows) -> NDArray[np.int64]:
                return kernels.expect(rows, first, last, self.model, self._counts, self._settings.agree)

            found += sum(by_parts(self._pool, part, len(source)))
            self._progress("learning", before + done, self._pairs.chunks * self._settings.iterations)
        return found / kernels.FIXED

    def _maximize(self) -> None:
        """Set new probabilities from the counts (Dirichlet prior alpha on both sides), and reset the counts."""
        model, counts, alpha = self.model, self._counts, self._settings.alpha
        types = len(model.source_null)
        totals = [np.zeros(len(degrees), np.int64) for degrees in self._degrees]
        by_parts(self._pool, lambda first, last: kernels.total(model, counts, first, last, *totals), types, _TYPES)
        scales = [
            kernels.SCALE / kernels.exp_digammas(total / kernels.FIXED + alpha * np.maximum(degrees, 1))
            for total, degrees in zip(totals, self._degrees, strict=True)
        ]

        def maximize(first: int, last: int) -> None:
            kernels.maximize(model, counts, first, last, alpha, *scales)

        by_parts(self._pool, maximize, types, _TYPES)
        for links, theta in ((counts.source_null, model.source_null), (counts.target_null, model.target_null)):
            whole = np.array([links.sum() / kernels.FIXED + alpha * len(links)])
            share = kernels.exp_digammas(links / kernels.FIXED + alpha) / kernels.exp_digammas(whole)
            theta[:] = np.maximum(share * kernels.SCALE, kernels.MIN_PROBABILITY)
            links.fill(0)
        self._reset_to_prior()

    def _update_tensions(self, found: NDArray[np.float64]) -> None:
        """Move the tensions so that the expected distance from the diagonal is the one found (section 3.2)."""
        times, (sources, targets) = self._pairs.times, np.ascontiguousarray(self._pairs.shapes.T)
        for way, (explained, explaining) in enumerate(((targets, sources), (sources, targets))):
            words = float(times @ explained)
            links, distance = found[way] / words
            tension = float(self.model.tensions[way])
            for _ in range(_STEPS):
                expected = links * float(times @ kernels.mean_distances(explained, explaining, tension)) / words
                tension += self._settings.tension_rate * (expected - distance)
                tension = min(max(tension, _TENSIONS[0]), _TENSIONS[1])
            self.model.tensions[way] = tension
