"""Epochs of a corpus as numbered batches: the loop's `Plan`, from a corpus and how an objective reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.data.packing import Streams
    from interlace.data.sampling import BucketPlan, StreamPlan


@dataclass(frozen=True)
class Streamed:
    """Full rows of running text; the cuts move from epoch to epoch."""

    streams: Streams
    plan: StreamPlan

    def __len__(self) -> int:
        """Batches an epoch."""
        return len(self.plan)

    def examples(self, index: int) -> Any:
        """The rows of batch `index`."""
        rows, epoch = self.plan.batch(index)
        return self.streams.take(rows, shift=self.plan.shift(epoch))


@dataclass(frozen=True)
class Bucketed:
    """Rows of similar length.

    rows: the numbers of those that the plan counts, or None where it counts all.
    """

    corpus: Any
    plan: BucketPlan
    rows: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Batches an epoch."""
        return len(self.plan)

    def examples(self, index: int) -> Any:
        """The rows of batch `index`."""
        rows, _ = self.plan.batch(index)
        return self.corpus.take(rows if self.rows is None else self.rows[rows])
