"""Variational EM for `diagonal`: passes over the text in chunks, each processed by several threads."""

from __future__ import annotations

import logging
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.aligners.common.inputs import MAX_CELLS, Renumbering
from interlace.aligners.diagonal import kernels
from interlace.aligners.diagonal.cooccurrence import PROBABILITIES, Cooccurrence, cooccurrence
from interlace.core.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from interlace.aligners.common.inputs import Prior, Vocabulary
    from interlace.aligners.diagonal.cooccurrence import Fields
    from interlace.alignment import WordPairs
    from interlace.core.progress import Progress
    from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)

_PAIRS = 500  # per task of a thread
_TYPES = 2_000  # per task of a thread
_STEPS = 8  # of the tension's gradient ascent after a pass, as in fast_align
_TENSIONS = (0.1, 14.0)  # its bounds, as in fast_align
_SIDES = (math.isqrt(MAX_CELLS),) * 2


@dataclass(frozen=True)
class EmSettings:
    """The settings of EM, as `Diagonal` describes them."""

    iterations: int
    tension: float
    tension_rate: float
    null: float
    alpha: float
    agree: bool


class TrainingPairs:
    """The pairs that are used for training, chunk by chunk, in the numbers of vocabularies, which grow by their words.

    chunks: number of chunks.
    shapes, times: (s, 2) distinct numbers of source and target words of pairs, and (s,) how many pairs have them.
    """

    def __init__(self, pairs: WordPairs, source: Vocabulary, target: Vocabulary) -> None:
        self.source, self.target = source, target
        self._pairs = pairs
        self._renumber = (Renumbering(pairs.source_types, source), Renumbering(pairs.target_types, target))
        self.chunks = 0
        self.shapes, self.times = self._count_shapes()
        cells = pairs.source.lengths * pairs.target.lengths
        if self.chunks and (beyond := int((cells > MAX_CELLS).sum())):
            log.warning(
                "%d pairs of more than %d times %d words are aligned but not used for training", beyond, *_SIDES
            )

    def __iter__(self) -> Iterator[tuple[Ragged, Ragged]]:
        """Yield source and target of each chunk; all pairs have words on both sides and at most MAX_CELLS cells."""
        for chunk in self._pairs.chunks():
            cells = chunk.source.lengths * chunk.target.lengths
            usable = (cells > 0) & (cells <= MAX_CELLS)
            if usable.all():
                yield self._renumbered(chunk.source, chunk.target)
            elif usable.any():
                yield self._renumbered(chunk.source.take(usable), chunk.target.take(usable))

    def _renumbered(self, source: Ragged, target: Ragged) -> tuple[Ragged, Ragged]:
        return self._renumber[0](source, grow=True), self._renumber[1](target, grow=True)

    def _count_shapes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Read all pairs once; count the shapes of pairs."""
        seen: dict[tuple[int, ...], int] = {}
        for source, target in self:
            self.chunks += 1
            lengths = np.stack([source.lengths, target.lengths], axis=1)
            shapes, times = np.unique(lengths, axis=0, return_counts=True)
            for shape, more in zip(map(tuple, shapes.tolist()), times.tolist(), strict=True):
                seen[shape] = seen.get(shape, 0) + more
        ordered = sorted(seen)
        return np.array(ordered, np.int64).reshape(-1, 2), np.array([seen[shape] for shape in ordered], np.int64)


def workers(threads: int) -> ThreadPoolExecutor:
    """Return a pool of this many threads; 0: one per processor that this process may use."""
    return ThreadPoolExecutor(threads or processors(), "diagonal")


def by_parts(pool: ThreadPoolExecutor, work: Callable[[int, int], Any], count: int, size: int = _PAIRS) -> list[Any]:
    """Return the results of work(first, last) over all parts of a fixed size, in order."""
    starts = range(0, count, size)
    return list(pool.map(work, starts, [min(start + size, count) for start in starts]))


def learn(
    settings: EmSettings, pairs: TrainingPairs, prior: Prior, pool: ThreadPoolExecutor, progress: Progress
) -> kernels.DiagonalModel:
    """Return the probabilities after all passes over the training pairs."""
    training = _Training(settings, pairs, _table(settings.agree, pairs, prior, pool, progress), prior, pool)
    for iteration in range(settings.iterations):
        found = training.expect(iteration * pairs.chunks, progress)
        if settings.tension_rate and iteration > 0:
            training.update_tensions(found)
        training.maximize()
    return training.finished()


def _table(
    agree: bool, pairs: TrainingPairs, prior: Prior, pool: ThreadPoolExecutor, progress: Progress
) -> Cooccurrence:
    """Return all type pairs, with fields for their probabilities and counts."""

    def reported() -> Iterator[tuple[Ragged, Ragged]]:
        for done, chunk in enumerate(pairs, 1):
            yield chunk
            progress("collecting word pairs", done, pairs.chunks)

    counts: Fields = [("count", np.int64)] if agree else [("count", np.int64), ("backward_count", np.int64)]
    return cooccurrence(reported(), len(pairs.source), prior.entries, [*counts, *PROBABILITIES], pool)


@dataclass
class _Training:
    """The state of EM: probabilities and expected counts."""

    settings: EmSettings
    pairs: TrainingPairs
    table: Cooccurrence
    prior: Prior
    pool: ThreadPoolExecutor

    def __post_init__(self) -> None:
        """Start with equal probabilities and the counts of the prior."""
        slots = self.table.slots
        source, target = len(self.pairs.source), len(self.pairs.target)
        slots["forward"] = slots["backward"] = kernels.SCALE
        nulls = (np.full(source, kernels.SCALE, np.float32), np.full(target, kernels.SCALE, np.float32))
        self.model = kernels.DiagonalModel.of(self.table, nulls, np.full(2, self.settings.tension), self.settings.null)
        backward = slots["count" if self.settings.agree else "backward_count"]
        self.counts = kernels.ExpectedCounts(
            slots["count"], backward, np.zeros(source, np.int64), np.zeros(target, np.int64)
        )
        self._degrees = _degrees(self.table, target)
        links = np.rint(self.prior.counts * kernels.FIXED).astype(np.int64)
        self._prior = (self.table.find(self.prior.entries), links)
        self._reset_to_prior()

    def _reset_to_prior(self) -> None:
        """Set the counts of the prior's entries; all other counts are 0."""
        slots, links = self._prior
        self.counts.forward[slots] = links
        self.counts.backward[slots] = links

    def expect(self, before: int, progress: Progress) -> NDArray[np.float64]:
        """Count links in all pairs; return (2, 2) expected links and their distance, forward and backward.

        before: number of chunks of previous passes.
        """
        found = np.zeros((2, 2), np.int64)
        for done, (source, target) in enumerate(self.pairs, 1):
            rows = kernels.Rows(source.values, source.offsets, target.values, target.offsets)

            def part(first: int, last: int, rows: kernels.Rows = rows) -> NDArray[np.int64]:
                return kernels.expect(rows, first, last, self.model, self.counts, self.settings.agree)

            found += sum(by_parts(self.pool, part, len(source)))
            progress("learning", before + done, self.pairs.chunks * self.settings.iterations)
        return found / kernels.FIXED

    def maximize(self) -> None:
        """Set new probabilities from the counts (Dirichlet prior alpha on both sides), and reset the counts."""
        totals = [np.zeros(len(degrees), np.int64) for degrees in self._degrees]
        both = (self.model, self.counts)
        self._by_types(lambda first, last: kernels.total(*both, first, last, *totals))
        alpha = self.settings.alpha
        scales = [
            kernels.SCALE / kernels.exp_digammas(total / kernels.FIXED + alpha * np.maximum(degrees, 1))
            for total, degrees in zip(totals, self._degrees, strict=True)
        ]
        self._by_types(lambda first, last: kernels.maximize(*both, first, last, alpha, *scales))
        nulls = ((self.counts.source_null, self.model.source_null), (self.counts.target_null, self.model.target_null))
        for counts, theta in nulls:
            whole = np.array([counts.sum() / kernels.FIXED + alpha * len(counts)])
            share = kernels.exp_digammas(counts / kernels.FIXED + alpha) / kernels.exp_digammas(whole)
            theta[:] = np.maximum(share * kernels.SCALE, kernels.MIN_PROBABILITY)
            counts.fill(0)
        self._reset_to_prior()

    def finished(self) -> kernels.DiagonalModel:
        """Return the probabilities in a table without counts."""
        fields = ["target", "forward", "backward"]
        slots = np.empty(len(self.table.slots), [(name, self.table.slots.dtype[name]) for name in fields])
        for name in fields:
            slots[name] = self.table.slots[name]
        nulls = (self.model.source_null, self.model.target_null)
        table = Cooccurrence(self.table.starts, slots)
        return kernels.DiagonalModel.of(table, nulls, self.model.tensions, self.settings.null)

    def _by_types(self, work: Callable[[int, int], None]) -> None:
        by_parts(self.pool, work, len(self.pairs.source), _TYPES)

    def update_tensions(self, found: NDArray[np.float64]) -> None:
        """Move the tensions so that the expected distance from the diagonal is the one found (section 3.2)."""
        shapes, times = self.pairs.shapes, self.pairs.times
        for way, (explained, explaining) in enumerate(((1, 0), (0, 1))):
            ends = (np.ascontiguousarray(shapes[:, explained]), np.ascontiguousarray(shapes[:, explaining]))
            words = float(times @ ends[0])
            links, distance = found[way] / words
            tension = float(self.model.tensions[way])
            for _ in range(_STEPS):
                expected = links * float(times @ kernels.mean_distances(*ends, tension)) / words
                tension += self.settings.tension_rate * (expected - distance)
                tension = min(max(tension, _TENSIONS[0]), _TENSIONS[1])
            self.model.tensions[way] = tension


def _degrees(table: Cooccurrence, target_types: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of types that each source type and each target type co-occurs with."""
    filled = table.targets >= 0
    sources = np.add.reduceat(filled, table.starts[:-1], dtype=np.int64)
    return sources, np.bincount(table.targets[filled], minlength=target_types)
