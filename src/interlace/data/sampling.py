"""Sampling of languages, and epochs of rows as numbered batches.

A plan is a pure function of the rows' lengths and the key [PLAN, seed, epoch, corpus]. Batches are numbered over all
epochs, so a run's position in a corpus is one number, and any batch can be computed at any time: the order of an epoch
is a keyed permutation, of which only the rows of the batch are computed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

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


def batches_by_length(
    lengths: IntArray, tokens_per_batch: int, max_rows: int
) -> list[IntArray]:
    """Return the rows of each batch, longest first.

    A batch has at most `max_rows` rows, and at most `tokens_per_batch` tokens with padding and two special tokens a
    row, unless it has one row.

    >>> [rows.tolist() for rows in batches_by_length(np.array([1, 8, 2, 6]), 20, max_rows=9)]
    [[1, 3], [2, 0]]
    """
    order = np.argsort(-lengths, kind="stable")
    batches = []
    while len(order):
        longest = int(lengths[order[0]]) + 2
        count = max(1, min(max_rows, tokens_per_batch // longest))
        batches.append(order[:count])
        order = order[count:]
    return batches


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

    def _permuted_batch(self, number: int, key: int) -> int:
        """Return the image of the number of a batch in the epoch's permutation."""
        from interlace.data._permutation_kernels import permuted

        return int(permuted(number, number + 1, len(self), key)[0])

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
        self._ranks = LengthRanks.of(costs)
        self._cuts = cuts(costs[self._ranks.order], tokens_per_batch)  # (batches + 1,)

    def __len__(self) -> int:
        """Batches per epoch."""
        return len(self._cuts) - 1

    def _rows_of(self, number: int, key: int) -> IntArray:
        batch = self._permuted_batch(number, key)
        ranks = np.arange(self._cuts[batch], self._cuts[batch + 1])
        return self._ranks.permuted_rows(ranks, key)


class PackedPlan(EpochPlan):
    """Batches of rows of all lengths, with nearly as many tokens each, for one long row of fixed length.

    Rows are sorted by length once, and dealt to the batches as cards are: in each round every batch gets one row, in
    turn from the first batch to the last and back. An epoch permutes the batches, and the rows of each length.

    Rows of the lengths 2 | 3 4 5 | 6 7 8 go to the batches 0 | 0 1 2 | 2 1 0, which get 13, 11 and 11 tokens; the round
    that is incomplete is the first one.
    """

    def __init__(
        self, lengths: AnyArray, tokens_per_batch: int, *, seed: int = 0, corpus: int = 0
    ) -> None:
        """Plan as few batches as possible, none of more than `tokens_per_batch` tokens or those of the longest row.

        lengths: tokens of each row, special tokens included.
        """
        super().__init__(len(lengths), seed, corpus)
        lengths = np.asarray(lengths, np.int64)
        self._ranks = LengthRanks.of(lengths)
        ascending = lengths[self._ranks.order]
        budget = max(tokens_per_batch, int(ascending[-1]))
        self._batches = max(1, math.ceil(lengths.sum() / budget))
        while self._batches < self.rows:
            largest = int(self._batch_tokens(ascending).max())
            if largest <= budget:
                break
            scaled = math.ceil(self._batches * largest / budget)
            self._batches = min(max(scaled, self._batches + 1), self.rows)

    def __len__(self) -> int:
        """Batches per epoch."""
        return self._batches

    def _batch_tokens(self, ascending: IntArray) -> IntArray:
        """(batches,) tokens of each batch, from the ascending lengths."""
        rounds = -(-self.rows // self._batches)
        padded = np.zeros(rounds * self._batches, np.int64)
        padded[len(padded) - self.rows :] = ascending
        dealt = padded.reshape(rounds, self._batches)
        return dealt[::2].sum(axis=0)[::-1] + dealt[1::2].sum(axis=0)

    def _rows_of(self, number: int, key: int) -> IntArray:
        batch = self._permuted_batch(number, key)
        rounds = np.arange(-(-self.rows // self._batches))
        turns = np.where(rounds % 2 == 0, self._batches - 1 - batch, batch)
        missing = len(rounds) * self._batches - self.rows  # in the first round
        ranks = rounds * self._batches + turns - missing
        return self._ranks.permuted_rows(ranks[ranks >= 0], key)


@dataclass(frozen=True)
class LengthRanks:
    """Rows sorted by length.

    order: (rows,) row numbers by ascending length. groups: the first rank of each length, and the number of rows.
    """

    order: IntArray
    groups: IntArray

    @classmethod
    def of(cls, lengths: IntArray) -> LengthRanks:
        """Sort rows by length."""
        if lengths.max(initial=0) < 1 << 16:
            lengths = lengths.astype(np.uint16)  # sorted by radix
        order = np.argsort(lengths, kind="stable")
        ascending = lengths[order]
        changes = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
        return cls(order, np.concatenate([[0], changes, [len(lengths)]]))

    def permuted_rows(self, ranks: IntArray, key: int) -> IntArray:
        """Return the rows at ascending ranks, after a permutation of the rows of each length."""
        from interlace.data._permutation_kernels import permuted_within

        return self.order[permuted_within(ranks, self.groups, key)]
