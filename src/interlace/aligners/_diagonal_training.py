"""Variational EM for `diagonal`: passes over the text in chunks, the work of each dealt out to threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.aligners._cooccurrence import Cooccurrence, cooccurrence
from interlace.aligners._diagonal_model import FIXED, LEAST, PROBABILITIES, SCALE, Counts, Model, Rows
from interlace.core.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from interlace.aligners._cooccurrence import Fields
    from interlace.aligners._diagonal_corpus import Corpus
    from interlace.aligners._prior import Prior
    from interlace.aligners.diagonal import Diagonal
    from interlace.core.progress import Progress
    from interlace.core.ragged import Ragged

_PAIRS = 500  # and
_TYPES = 2_000  # that a thread works on at a time
_STEPS = 8  # of the tension's gradient ascent after a pass, as in fast_align
_TENSIONS = (0.1, 14.0)  # its bounds, as in fast_align


def workers(threads: int) -> ThreadPoolExecutor:
    """A pool of so many threads; 0: one for every core that this process may use."""
    return ThreadPoolExecutor(threads or processors(), "diagonal")


def by_parts(pool: ThreadPoolExecutor, work: Callable[[int, int], Any], count: int, size: int = _PAIRS) -> list[Any]:
    """work(first, last) over all of a count in parts of a fixed size; results in order."""
    starts = range(0, count, size)
    return list(pool.map(work, starts, [min(start + size, count) for start in starts]))


def learn(aligner: Diagonal, corpus: Corpus, prior: Prior, pool: ThreadPoolExecutor, progress: Progress) -> Model:
    """The probabilities after all passes over a corpus."""
    table = _table(aligner.agree, corpus, prior, pool, progress)
    training = _Training(aligner, corpus, table, prior, pool)
    for iteration in range(aligner.iterations):
        found = training.expect(iteration * corpus.chunks, progress)
        if aligner.tension_rate and iteration > 0:
            training.tighten(found)
        training.maximise()
    return training.finished()


def _table(agree: bool, corpus: Corpus, prior: Prior, pool: ThreadPoolExecutor, progress: Progress) -> Cooccurrence:
    """All type pairs, with room for their probabilities and counts."""

    def watched() -> Iterator[tuple[Ragged, Ragged]]:
        for done, chunk in enumerate(corpus, 1):
            yield chunk
            progress("collecting word pairs", done, corpus.chunks)

    counts: Fields = [("count", np.int64)] if agree else [("count", np.int64), ("backward_count", np.int64)]
    return cooccurrence(watched(), len(corpus.source), prior.entries, [*counts, *PROBABILITIES], pool)


@dataclass
class _Training:
    """The state of EM: probabilities, and the expected counts that the next ones are made of."""

    aligner: Diagonal
    corpus: Corpus
    table: Cooccurrence
    prior: Prior
    pool: ThreadPoolExecutor

    def __post_init__(self) -> None:
        """Give all words the same probability, but for what the prior says."""
        slots = self.table.slots
        source, target = len(self.corpus.source), len(self.corpus.target)
        slots["forward"] = slots["backward"] = SCALE
        nulls = (np.full(source, SCALE, np.float32), np.full(target, SCALE, np.float32))
        self.model = Model.of(self.table, nulls, np.full(2, self.aligner.tension), self.aligner.null)
        backward = slots["count" if self.aligner.agree else "backward_count"]
        self.counts = Counts(slots["count"], backward, np.zeros(source, np.int64), np.zeros(target, np.int64))
        self._degrees = _degrees(self.table, target)
        self._prior = (self.table.find(self.prior.entries), np.rint(self.prior.counts * FIXED).astype(np.int64))
        self._believe()

    def _believe(self) -> None:
        """Count the prior's links."""
        slots, links = self._prior
        self.counts.forward[slots] = links
        self.counts.backward[slots] = links

    def expect(self, before: int, progress: Progress) -> NDArray[np.float64]:
        """Count links in the whole corpus; (2, 2) expected links and their distance, forward and backward.

        before: chunks of former passes.
        """
        from interlace.aligners._diagonal_kernels import expect

        found = np.zeros((2, 2), np.int64)
        for done, (source, target) in enumerate(self.corpus, 1):
            rows = Rows(source.values, source.offsets, target.values, target.offsets)

            def part(first: int, last: int, rows: Rows = rows) -> NDArray[np.int64]:
                return expect(rows, first, last, self.model, self.counts, self.aligner.agree)

            found += sum(by_parts(self.pool, part, len(source)))
            progress("learning", before + done, self.corpus.chunks * self.aligner.iterations)
        return found / FIXED

    def maximise(self) -> None:
        """New probabilities from the counts (Dirichlet prior alpha on both sides), which begin anew."""
        from interlace.aligners import _diagonal_update_kernels as kernels

        totals = [np.zeros(len(degrees), np.int64) for degrees in self._degrees]
        both = (self.model, self.counts)
        self._by_types(lambda first, last: kernels.total(*both, first, last, *totals))
        alpha = self.aligner.alpha
        scales = [
            SCALE / kernels.exp_digammas(total / FIXED + alpha * np.maximum(degrees, 1))
            for total, degrees in zip(totals, self._degrees, strict=True)
        ]
        self._by_types(lambda first, last: kernels.maximise(*both, first, last, alpha, *scales))
        nulls = ((self.counts.source_null, self.model.source_null), (self.counts.target_null, self.model.target_null))
        for counts, theta in nulls:
            whole = np.array([counts.sum() / FIXED + alpha * len(counts)])
            share = kernels.exp_digammas(counts / FIXED + alpha) / kernels.exp_digammas(whole)
            theta[:] = np.maximum(share * SCALE, LEAST)
            counts.fill(0)
        self._believe()

    def finished(self) -> Model:
        """The probabilities without the counts beside them."""
        fields = ["target", "forward", "backward"]
        slots = np.empty(len(self.table.slots), [(name, self.table.slots.dtype[name]) for name in fields])
        for name in fields:
            slots[name] = self.table.slots[name]
        nulls = (self.model.source_null, self.model.target_null)
        return Model.of(Cooccurrence(self.table.starts, slots), nulls, self.model.tensions, self.aligner.null)

    def _by_types(self, work: Callable[[int, int], None]) -> None:
        by_parts(self.pool, work, len(self.corpus.source), _TYPES)

    def tighten(self, found: NDArray[np.float64]) -> None:
        """Move the tensions to where the model expects the distance from the diagonal that was found (section 3.2)."""
        from interlace.aligners._diagonal_update_kernels import mean_distances

        shapes, times = self.corpus.shapes, self.corpus.times
        for way, (explained, explaining) in enumerate(((1, 0), (0, 1))):
            ends = (np.ascontiguousarray(shapes[:, explained]), np.ascontiguousarray(shapes[:, explaining]))
            words = float(times @ ends[0])
            links, distance = found[way] / words
            tension = float(self.model.tensions[way])
            for _ in range(_STEPS):
                expected = links * float(times @ mean_distances(*ends, tension)) / words
                tension += self.aligner.tension_rate * (expected - distance)
                tension = min(max(tension, _TENSIONS[0]), _TENSIONS[1])
            self.model.tensions[way] = tension


def _degrees(table: Cooccurrence, target_types: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many types each source type and each target type was seen with."""
    filled = table.targets >= 0
    sources = np.add.reduceat(filled, table.starts[:-1], dtype=np.int64)
    return sources, np.bincount(table.targets[filled], minlength=target_types)
