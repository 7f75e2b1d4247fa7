"""Ways to choose a share of many: all alike, or each by its weight. Each returns which are chosen, as booleans.

Weights stand in for XLM's multinomial over the subwords of a text stream (Conneau & Lample 2019, section 3.3), whose
paper leaves open how many are drawn from what. Legend: n candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.randomness import Generator

    Chosen = NDArray[np.bool_]
    Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Scale:
    """How much a weight must be multiplied to become a probability, for every share of a corpus.

    Chosen each on its own with min(1, factor x weight), a `shares[k]` of the corpus is chosen under `factors[k]`;
    between two of them both grow in a straight line. Both ascend.
    """

    factors: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, frequencies: NDArray[Any], weights: NDArray[Any]) -> Scale:
        """From how often each kind stands in a corpus, and the weight of each."""
        met = (frequencies > 0) & (weights > 0)
        order = np.argsort(-weights[met], kind="stable")
        counts, weights = frequencies[met][order].astype(np.float64), weights[met][order].astype(np.float64)
        certain = np.cumsum(counts)  # the heaviest are chosen always
        left = np.cumsum((counts * weights)[::-1])[::-1] - counts * weights
        chosen = certain + left / weights
        return cls(np.append(0.0, 1 / weights), np.append(0.0, chosen / max(counts.sum(), 1)))

    def at(self, share: float) -> float:
        """The factor under which this share is chosen."""
        return float(np.interp(share, self.shares, self.factors))


def evenly(count: int, share: float, rng: Generator) -> Chosen:
    """Each on its own, all alike."""
    return np.asarray(rng.random(count, dtype=np.float32) < share)


def by_weight(weights: Weights, factor: float, rng: Generator) -> Chosen:
    """Each on its own, with a probability proportional to its weight."""
    return np.asarray(rng.random(len(weights), dtype=np.float32) < factor * weights)


def from_all(weights: Weights, share: float, rng: Generator) -> Chosen:
    """ceil(share x n) without replacement, by exponential keys (Efraimidis & Spirakis 2006)."""
    chosen = np.zeros(len(weights), np.bool_)
    wanted = min(len(weights), int(np.ceil(share * len(weights))))
    if wanted:
        chosen[np.argpartition(_keys(weights, rng), wanted - 1)[:wanted]] = True
    return chosen


def from_each_row(weights: Weights, rows: NDArray[np.int64], share: float, rng: Generator) -> Chosen:
    """ceil(share x its own) of each row without replacement; `rows` (n,) ascend."""
    chosen = np.zeros(len(weights), np.bool_)
    if not len(weights):
        return chosen
    starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 1))
    lengths = np.diff(starts, append=len(rows))
    order = np.lexsort((_keys(weights, rng), rows))
    rank = np.arange(len(rows)) - np.repeat(starts, lengths)
    chosen[order[rank < np.repeat(np.ceil(share * lengths), lengths)]] = True
    return chosen


def _keys(weights: Weights, rng: Generator) -> NDArray[np.float32]:
    return np.asarray(rng.standard_exponential(len(weights), dtype=np.float32) / weights)
