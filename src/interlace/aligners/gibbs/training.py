"""Training of `gibbs`: which pairs samplers use, and all samplers in threads with results in a fixed order."""

from __future__ import annotations

import logging
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners.common.inputs import MAX_CELLS
from interlace.aligners.gibbs.model import SamplerDirection
from interlace.aligners.gibbs.sampler import Sampler, SamplerPriors, Side, View
from interlace.core.processors import processors
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from interlace.aligners.common.inputs import Prior
    from interlace.aligners.gibbs.sampler import Cut
    from interlace.alignment import WordPairs
    from interlace.core.progress import Progress

log = logging.getLogger(__name__)

_MAX_PORTION = MAX_CELLS  # cells of pairs that are aligned at a time; no pair has more


# ---- pairs ----


def cells_of(pairs: WordPairs) -> NDArray[np.int64]:
    """(n,) source words times target words of each pair; 0 for pairs that are too long."""
    cells = pairs.source.lengths * pairs.target.lengths
    return np.where(cells <= MAX_CELLS, cells, 0)


def warn_about_long(pairs: WordPairs) -> None:
    """Log how many pairs are too long to align."""
    if beyond := int((pairs.source.lengths * pairs.target.lengths > MAX_CELLS).sum()):
        log.warning(
            "gibbs: %d of %d pairs have more than %d source words times target words and get no links",
            beyond, len(pairs), MAX_CELLS,
        )  # fmt: skip


def usable(pairs: WordPairs) -> WordPairs:
    """Return the same pairs, with empty sides for pairs that get no links."""
    kept = cells_of(pairs) > 0
    if kept.all():
        return pairs
    return replace(pairs, source=_emptied(pairs.source, kept), target=_emptied(pairs.target, kept))


def sample(pairs: WordPairs, max_cells: int) -> WordPairs | None:
    """Return evenly spaced pairs of about `max_cells` cells in total, at least one; None if all pairs fit."""
    cells = cells_of(pairs)
    total = int(cells.sum())
    if total <= max_cells:
        return None
    rows = np.flatnonzero(cells)
    chosen = rows[np.diff(np.ceil(np.arange(len(rows) + 1) * (max_cells / total))) > 0]
    log.info("gibbs: training on %d of %d pairs, because of max_training_cells", len(chosen), len(rows))
    return replace(pairs, source=pairs.source.take(chosen), target=pairs.target.take(chosen))


def portions(pairs: WordPairs) -> Iterator[WordPairs]:
    """Yield the `usable` pairs in slices whose posteriors fit in memory."""
    for chunk in pairs.chunks():
        ends, start = np.cumsum(cells_of(chunk)), 0
        while start < len(chunk):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _MAX_PORTION, side="right")))
            yield usable(chunk.slice(start, stop))
            start = stop


def _emptied(rows: Ragged, kept: NDArray[np.bool_]) -> Ragged:
    """Return rows with those that are not kept emptied."""
    lengths = rows.lengths
    return Ragged.from_lengths(rows.flat[np.repeat(kept, lengths)], np.where(kept, lengths, 0))


# ---- samplers ----


class LazyView:
    """A view that is built when first needed and freed when both directions are done.

    prior: (p,) prior links of the first p type pairs of the view.
    """

    def __init__(self, source: Ragged, target: Ragged, cuts: tuple[Cut, Cut], prior: Prior) -> None:
        self._text, self._cuts = (source, target), cuts
        entries = np.stack([cut(prior.entries[:, side]) for side, cut in enumerate(cuts)], axis=1)
        self._entries, places = np.unique(entries, axis=0, return_inverse=True)
        self.prior = np.bincount(places.reshape(-1), prior.counts, len(self._entries)).astype(np.float64)
        self._lock, self._pending = Lock(), 2

    @cached_property
    def _view(self) -> View:
        return View.of(*self._text, self._cuts, self._entries.astype(np.int32))

    def get(self) -> View:
        """Return the view, built on the first call."""
        with self._lock:
            return self._view

    def release(self) -> None:
        """Free the view on the second call."""
        with self._lock:
            self._pending -= 1
            if not self._pending:
                del self._view


class SamplerRuns:
    """One run per view and direction; results are added in a fixed order, whichever run ends first.

    schedule: sweeps of each model.
    """

    def __init__(
        self, views: list[LazyView], priors: SamplerPriors, schedule: list[int], seed: int, progress: Progress
    ) -> None:
        self._views, self._priors, self._schedule, self._seed = views, priors, schedule, seed
        self._progress, self._steps = progress, sum(schedule) * 2 * len(views)
        self._lock, self._done = Lock(), 0
        self._stop: BaseException | None = None  # raised by all samplers

    def run(
        self, threads: int
    ) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], list[tuple[SamplerDirection, SamplerDirection]]]:
        """Return the mean posteriors of drawing target words and of drawing source words, and the directions by view.

        threads: 0: one per processor.
        """
        jobs = [(number, way) for number in range(len(self._views)) for way in (0, 1)]
        sums: list[NDArray[np.float32] | None] = [None, None]
        directions: list[SamplerDirection] = []
        with ThreadPoolExecutor(min(threads or processors(), len(jobs))) as pool:
            try:
                runs = pool.map(self._run, jobs)
                for _, way in jobs:
                    posterior, direction = next(runs)
                    total = sums[way]
                    sums[way] = posterior if total is None else np.add(total, posterior, out=total)
                    directions.append(direction)
                    del posterior  # frees four bytes per cell while waiting for the next
            finally:
                self._stop = self._stop or CancelledError()  # on Ctrl-C the other samplers stop too
        share = np.float32(1 / len(self._views))
        forward, backward = (
            np.zeros(0, np.float32) if part is None else np.multiply(part, share, out=part) for part in sums
        )
        return (forward, backward), list(zip(directions[::2], directions[1::2], strict=True))

    def _run(self, job: tuple[int, int]) -> tuple[NDArray[np.float32], SamplerDirection]:
        number, way = job
        lazy = self._views[number]
        view = lazy.get()
        words = (view.forward, view.backward)[way]
        drawn = np.ascontiguousarray(view.entries[:, way])
        side = Side(drawn, view.sizes[way], view.sizes[1 - way], lazy.prior)
        sampler = Sampler(words, side, self._priors, generator(Purpose.ALIGN, self._seed, number, way))
        parameters = sampler.run(self._schedule, self._tick)
        entries = view.entries if way == 0 else view.entries[:, ::-1]
        direction = SamplerDirection.of(entries, parameters, self._priors.alpha)
        lazy.release()
        return sampler.posterior, direction

    def _tick(self) -> None:
        if self._stop:
            raise self._stop
        with self._lock:
            self._done += 1
            try:
                self._progress("sampling", self._done, self._steps)
            except BaseException as error:
                self._stop = self._stop or error
                raise
