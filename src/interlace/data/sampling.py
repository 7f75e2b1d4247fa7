"""Sampling of languages, and epochs of rows as numbered batches.

A plan is a pure function of the rows' lengths and the key [PLAN, seed, epoch, corpus]. Batches are numbered over all
epochs, so a run's position in a corpus is one number, and any batch can be computed at any time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.errors import DataError
from interlace.core.randomness import Generator, Purpose, generator

_CACHED = 2  # epochs: prefetched batches may already belong to the next one


def temperature(counts: NDArray[Any], alpha: float = 0.7) -> NDArray[np.float64]:
    """Return shares q ~ p^alpha, where p are the shares of `counts` (Conneau & Lample 2019, section 3.1).

    An alpha below 1 upsamples small languages; 0.7 for training batches, 0.5 for the vocabulary.

    >>> temperature(np.array([900, 100]), 0.5).round(2).tolist()
    [0.75, 0.25]
    """
    counts = np.asarray(counts, np.float64)
    raised = np.where(counts > 0, (counts / max(counts.sum(), 1)) ** alpha, 0.0)
    return np.asarray(raised / max(raised.sum(), np.finfo(float).tiny))


class EpochPlan(ABC):
    """A corpus's epochs as numbered batches; in each epoch every row is in exactly one batch."""

    def __init__(self, rows: int, seed: int, corpus: int) -> None:
        if not rows:
            raise DataError("the corpus has no rows")
        self.seed = seed
        self.corpus = corpus
        self._epochs: dict[int, list[NDArray[np.int64]]] = {}
        self._lock = Lock()

    @abstractmethod
    def __len__(self) -> int:
        """Batches per epoch, the same in every epoch."""

    @abstractmethod
    def _draw(self, rng: Generator) -> list[NDArray[np.int64]]:
        """Return the row numbers of each batch of an epoch."""

    def batch(self, index: int) -> tuple[NDArray[np.int64], int]:
        """Return the rows of batch `index`, counted from 0 over all epochs, and its epoch."""
        epoch, place = divmod(index, len(self))
        with self._lock:
            if epoch not in self._epochs:
                self._epochs[epoch] = self._draw(generator(Purpose.PLAN, self.seed, epoch, self.corpus))
                for old in sorted(self._epochs, key=lambda known: abs(known - epoch))[_CACHED:]:
                    del self._epochs[old]
            return self._epochs[epoch][place], epoch


class StreamPlan(EpochPlan):
    """Batches of equally long stream rows in random order; the cuts of the streams shift in each epoch."""

    def __init__(self, rows: int, tokens_per_batch: int, length: int, seed: int = 0, corpus: int = 0) -> None:
        """Plan batches of `tokens_per_batch // length` rows (at least one).

        rows: number of rows; length: subwords per row with special tokens.
        """
        super().__init__(rows, seed, corpus)
        self.rows = rows
        self.length = length
        self.rows_per_batch = max(1, tokens_per_batch // length)

    def __len__(self) -> int:
        """Batches per epoch; the last one may be smaller."""
        return math.ceil(self.rows / self.rows_per_batch)

    def shift(self, epoch: int) -> int:
        """Return the shift of the cuts in this epoch, in subwords below `length`."""
        return int(generator(Purpose.PLAN, self.seed, epoch, self.corpus).integers(self.length))

    def _draw(self, rng: Generator) -> list[NDArray[np.int64]]:
        rng.integers(self.length)  # skip the draw of the shift
        order = rng.permutation(self.rows)
        return [order[start : start + self.rows_per_batch] for start in range(0, self.rows, self.rows_per_batch)]


class BucketPlan(EpochPlan):
    """Batches of rows of similar length within a budget of padded tokens.

    Rows are sorted by length, ties in random order, cut where the longest row times the number of rows would exceed the
    budget, and the batches are shuffled. The sorted lengths, and so the cuts, are the same in every epoch.
    """

    def __init__(
        self,
        lengths: NDArray[Any],
        tokens_per_batch: int,
        *,
        seed: int = 0,
        corpus: int = 0,
        overhead: int = 0,
        max_length: int | None = None,
    ) -> None:
        """Plan batches of rows of `lengths` subwords.

        overhead: special tokens added to each row. max_length: longer rows count as this long, special tokens included
        (the objective truncates them). A row above the budget is a batch of its own.
        """
        super().__init__(len(lengths), seed, corpus)
        costs = np.asarray(lengths, np.int64) + overhead
        if max_length is not None:
            costs = np.minimum(costs, max_length)
        self._costs = costs.astype(np.uint16 if costs.max(initial=0) < 1 << 16 else np.int64)  # 16 bits sort by radix
        ascending = np.sort(self._costs, kind="stable").astype(np.int64)
        self._cuts = [0]
        while (start := self._cuts[-1]) < len(ascending):
            window = ascending[start : start + max(1, tokens_per_batch // max(int(ascending[start]), 1))]
            padded = window * np.arange(1, len(window) + 1)
            self._cuts.append(start + max(1, int(np.searchsorted(padded, tokens_per_batch, side="right"))))

    def __len__(self) -> int:
        """Batches per epoch."""
        return len(self._cuts) - 1

    def _draw(self, rng: Generator) -> list[NDArray[np.int64]]:
        shuffled = rng.permutation(len(self._costs))
        order = shuffled[np.argsort(self._costs[shuffled], kind="stable")]
        return [order[self._cuts[b] : self._cuts[b + 1]] for b in rng.permutation(len(self)).tolist()]
