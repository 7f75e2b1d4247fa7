"""Sampling of languages, and epochs of rows as numbered batches.

A plan is a pure function of the rows' lengths and the key [PLAN, seed, epoch, corpus]. Batches are numbered over all
epochs, so a run's position in a corpus is one number, and any batch can be computed at any time: the order of an epoch
is a keyed permutation, of which only the rows of the batch are computed.
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import AnyArray, DoubleArray, IntArray
from interlace.core.randomness import Generator, Purpose, generator


def temperature(counts: AnyArray, alpha: float = 0.7) -> DoubleArray:
    """Return shares q ~ p^alpha, where p are the shares of `counts` (Conneau & Lample 2019, section 3.1).

    An alpha below 1 upsamples small languages; 0.7 for training batches, 0.5 for the vocabulary.

    >>> temperature(np.array([900, 100]), 0.5).round(2).tolist()
    [0.75, 0.25]
    """
    counts = np.asarray(counts, np.float64)
    raised = np.where(counts > 0, (counts / max(counts.sum(), 1)) ** alpha, 0.0)
    return raised / max(raised.sum(), np.finfo(float).tiny)


class EpochPlan(ABC):
    """A corpus's epochs as numbered batches; in each epoch every row is in exactly one batch."""

    def __init__(
        self,
        rows: int,
        seed: int,
        corpus: int,
    ) -> None:
        if not rows:
            raise DataError("the corpus has no rows")
        self.rows = rows
        self.seed = seed
        self.corpus = corpus

    @abstractmethod
    def __len__(self) -> int:
        """Batches per epoch, the same in every epoch."""

    @abstractmethod
    def _rows_of(self, number: int, key: int) -> IntArray:
        """Return the row numbers of batch `number` of the epoch whose permutation `key` names."""

    def batch(self, index: int) -> tuple[IntArray, int]:
        """Return the rows of batch `index`, counted from 0 over all epochs, and its epoch."""
        epoch, number = divmod(index, len(self))
        key = int(self._generator(epoch).integers(1 << 62))
        return self._rows_of(number, key), epoch

    def _generator(self, epoch: int) -> Generator:
        return generator(
            Purpose.PLAN,
            self.seed,
            epoch,
            self.corpus,
        )


class StreamPlan(EpochPlan):
    """Batches of equally long stream rows in random order; the cuts of the streams shift in each epoch."""

    def __init__(
        self,
        rows: int,
        tokens_per_batch: int,
        length: int,
        seed: int = 0,
        corpus: int = 0,
    ) -> None:
        """Plan batches of `tokens_per_batch // length` rows, at least one, of `length` subwords with specials."""
        super().__init__(rows, seed, corpus)
        self.length = length
        self.rows_per_batch = max(1, tokens_per_batch // length)

    def __len__(self) -> int:
        """Batches per epoch; the last one may be smaller."""
        return math.ceil(self.rows / self.rows_per_batch)

    def shift(self, epoch: int) -> int:
        """Return the shift of the cuts in this epoch, in subwords below `length`."""
        return int(self._generator(epoch).integers(self.length))

    def _rows_of(self, number: int, key: int) -> IntArray:
        from interlace.data._permutation_kernels import permuted

        first = number * self.rows_per_batch
        return permuted(
            first,
            min(first + self.rows_per_batch, self.rows),
            self.rows,
            key,
        )


class BucketPlan(EpochPlan):
    """Batches of rows of similar length within a budget of padded tokens.

    Rows are sorted by length once, and cut where the longest row times the number of rows would exceed the budget. An
    epoch permutes the batches, and the rows of each length.
    """

    def __init__(
        self,
        lengths: AnyArray,
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
        from interlace.data._permutation_kernels import cuts

        super().__init__(len(lengths), seed, corpus)
        costs = np.asarray(lengths, np.int64) + overhead
        if max_length is not None:
            costs = np.minimum(costs, max_length)
        if costs.max(initial=0) < 1 << 16:
            costs = costs.astype(np.uint16)  # sorted by radix
        self._order = np.argsort(costs, kind="stable")  # (rows,)
        ascending = costs[self._order]
        changes = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
        # the first rank of each length, and the end
        self._groups = np.concatenate([[0], changes, [self.rows]])
        self._cuts = cuts(ascending, tokens_per_batch)  # (batches + 1,)

    def __len__(self) -> int:
        """Batches per epoch."""
        return len(self._cuts) - 1

    def _rows_of(self, number: int, key: int) -> IntArray:
        from interlace.data._permutation_kernels import permuted, permuted_within

        batch = int(
            permuted(
                number,
                number + 1,
                len(self),
                key,
            )[0]
        )
        ranks = permuted_within(
            self._cuts[batch],
            self._cuts[batch + 1],
            self._groups,
            key,
        )
        return self._order[ranks]
