"""Running all samplers over a text: views built when they are needed, tasks in threads, results in a fixed order."""

from __future__ import annotations

from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners._folding import Renumbering
from interlace.aligners._gibbs_cells import Posteriors
from interlace.aligners._gibbs_chain import Beliefs, Chain, Side
from interlace.aligners._gibbs_model import Direction, Model
from interlace.aligners._gibbs_pairs import cells_of, sample, usable, warn_of_long
from interlace.aligners._gibbs_views import Cut, View, cell_starts
from interlace.aligners._prior import Prior
from interlace.aligners._stored import Stored
from interlace.aligners._usable import TOO_LONG
from interlace.core.errors import DataError
from interlace.core.processors import processors
from interlace.core.randomness import Purpose, generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.aligners._folding import Vocabulary
    from interlace.aligners.gibbs import Gibbs
    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress
    from interlace.core.ragged import Ragged


def fit(
    aligner: Gibbs,
    pairs: WordPairs,
    priors: Lexicon | None,
    vocabularies: tuple[Vocabulary, Vocabulary],
    progress: Progress,
) -> tuple[Model, Stored | None]:
    """What the samplers learn, and the links of all pairs where all were learnt from.

    Raises:
        DataError: all pairs with words on both sides are too long.
    """
    if not cells_of(pairs).any():
        raise DataError(f"{aligner.name}: all pairs with words on both sides are too long: {TOO_LONG}")
    warn_of_long(pairs)
    part = sample(pairs, aligner.fit_cells)
    text = usable(pairs) if part is None else part
    source = Renumbering(text.source_types, vocabularies[0])(text.source, grow=True)
    target = Renumbering(text.target_types, vocabularies[1])(text.target, grow=True)
    prior = Prior.of(priors, aligner.prior_weight, *vocabularies)
    types = [side.types for side in vocabularies]
    cuts = [(Cut.of(types[0], letters), Cut.of(types[1], letters)) for letters in aligner.views]
    views = [_Lazy(source, target, cut, prior) for cut in cuts]
    posteriors, directions = _Runs(aligner, views, progress).all()
    model = Model(cuts, directions, aligner.null, aligner.seed)
    if part is not None:
        return model, None
    found = aligner.links(Posteriors(source.offsets, target.offsets, cell_starts(source, target), *posteriors))
    return model, Stored.of(aligner, pairs, found.links, found.confidence)


class _Lazy:
    """A view that is built when first needed and let go when both directions are done.

    prior: (p,) links believed in by type pair, of the first p of the view.
    """

    def __init__(self, source: Ragged, target: Ragged, cuts: tuple[Cut, Cut], prior: Prior) -> None:
        self._text, self._cuts = (source, target), cuts
        entries = np.stack([cut(prior.entries[:, side]) for side, cut in enumerate(cuts)], axis=1)
        self._entries, places = np.unique(entries, axis=0, return_inverse=True)
        self.prior = np.bincount(places.reshape(-1), prior.counts, len(self._entries)).astype(np.float64)
        self._lock, self._waiting = Lock(), 2

    @cached_property
    def _view(self) -> View:
        return View.of(*self._text, self._cuts, self._entries.astype(np.int32))

    def get(self) -> View:
        with self._lock:
            return self._view

    def done(self) -> None:
        with self._lock:
            self._waiting -= 1
            if not self._waiting:
                del self._view


class _Runs:
    """One run for each view and direction; what is added up is added in their order, whichever ends first."""

    def __init__(self, aligner: Gibbs, views: list[_Lazy], progress: Progress) -> None:
        self._aligner, self._views, self._watch = aligner, views, progress
        self._lock, self._done = Lock(), 0
        self._stop: BaseException | None = None  # what all samplers end with
        self._beliefs = Beliefs(aligner.null, aligner.unseen, aligner.jump_alpha, aligner.fertility_alpha)

    def all(self) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], list[tuple[Direction, Direction]]]:
        """Mean posteriors of what target and what source words draw, and what was learnt by view."""
        jobs = [(number, way) for number in range(len(self._views)) for way in (0, 1)]
        sums: list[NDArray[np.float32] | None] = [None, None]
        learnt: list[Direction] = []
        with ThreadPoolExecutor(min(self._aligner.threads or processors(), len(jobs))) as pool:
            try:
                runs = pool.map(self._run, jobs)
                for _, way in jobs:
                    posterior, direction = next(runs)
                    total = sums[way]
                    sums[way] = posterior if total is None else np.add(total, posterior, out=total)
                    learnt.append(direction)
                    del posterior  # four bytes a cell, while the next is waited for
            finally:
                # Ctrl-C comes here, and the others would sample on to their end.
                self._stop = self._stop or CancelledError()
        share = np.float32(1 / len(self._views))
        forward, backward = (
            np.zeros(0, np.float32) if part is None else np.multiply(part, share, out=part) for part in sums
        )
        return (forward, backward), list(zip(learnt[::2], learnt[1::2], strict=True))

    def _run(self, job: tuple[int, int]) -> tuple[NDArray[np.float32], Direction]:
        number, way = job
        lazy = self._views[number]
        view = lazy.get()
        words = (view.forward, view.backward)[way]
        drawn = np.ascontiguousarray(view.entries[:, way])
        side = Side(drawn, view.sizes[way], view.sizes[1 - way], lazy.prior)
        rng = generator(Purpose.ALIGN, self._aligner.seed, number, way)
        chain = Chain(words, side, self._beliefs, rng)
        schedule = self._aligner.sweeps_for(len(words.to_starts) - 1)
        steps = sum(schedule) * 2 * len(self._views)
        learnt = chain.run(schedule, lambda: self._tick(steps))
        entries = view.entries if way == 0 else view.entries[:, ::-1]
        direction = Direction.of(entries, learnt, self._beliefs.alpha)
        lazy.done()
        return chain.posterior, direction

    def _tick(self, steps: int) -> None:
        if self._stop:
            raise self._stop
        with self._lock:
            self._done += 1
            try:
                self._watch("sampling", self._done, steps)
            except BaseException as error:
                self._stop = self._stop or error
                raise
