"""How near two vectors are for their surroundings: margins over their nearest neighbours (Artetxe & Schwenk 2019, 3.1).

Some vectors are near to everything. A margin compares a cosine with the mean cosine of both vectors to their k nearest
neighbours on the other side, so such hubs win less often.

Legend: n queries, m candidates, H width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from interlace.tasks._nearest import CELLS

if TYPE_CHECKING:
    from numpy.typing import NDArray

Margin = Literal["absolute", "distance", "ratio"]
"""The cosine itself, its difference from the mean of its surroundings, or its ratio to it."""

_LEAST = 1e-6  # surroundings further away than this count so: a ratio to a negative number orders nothing


@dataclass(frozen=True)
class Surroundings:
    """Mean cosine of each vector to its nearest neighbours on the other side.

    queries: (n,). candidates: (m,).
    """

    kind: Margin
    queries: NDArray[np.float32]
    candidates: NDArray[np.float32]

    @classmethod
    def of(
        cls, kind: Margin, queries: NDArray[np.float32], candidates: NDArray[np.float32], neighbours: int
    ) -> Surroundings:
        """From rows of length 1; 'absolute' needs no neighbours, so none are searched."""
        if kind == "absolute":
            return cls(kind, np.zeros(len(queries), np.float32), np.zeros(len(candidates), np.float32))
        sides = (neighbourhood(queries, candidates, neighbours), neighbourhood(candidates, queries, neighbours))
        return cls(kind, *sides)

    def reversed(self) -> Surroundings:
        """The same with candidates asked for queries."""
        return Surroundings(self.kind, self.candidates, self.queries)

    def adjust(self, likeness: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
        """(block, m) margins from cosines of the queries in `rows` to all candidates."""
        if self.kind == "absolute":
            return likeness
        around = (self.queries[rows, None] + self.candidates) / 2
        scores = likeness - around if self.kind == "distance" else likeness / np.maximum(around, _LEAST)
        return np.asarray(scores, np.float32)


def neighbourhood(queries: NDArray[np.float32], candidates: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """(n,) mean cosine of each query to its `count` nearest candidates, or to all where there are fewer."""
    count = min(count, len(candidates))
    means = np.zeros(len(queries), np.float32)
    block = max(1, CELLS // max(len(candidates), 1))
    for start in range(0, len(queries), block):
        likeness = queries[start : start + block] @ candidates.T
        means[start : start + block] = np.partition(likeness, -count, axis=1)[:, -count:].mean(axis=1)
    return means


def nearest(
    queries: NDArray[np.float32], candidates: NDArray[np.float32], around: Surroundings
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(n,) the nearest candidate of each query by margin, the first of several, and (n,) its margin."""
    places, scores = np.zeros(len(queries), np.int64), np.zeros(len(queries), np.float32)
    block = max(1, CELLS // max(len(candidates), 1))
    for start in range(0, len(queries), block):
        rows = slice(start, min(start + block, len(queries)))
        margins = around.adjust(queries[rows] @ candidates.T, rows)
        places[rows] = margins.argmax(axis=1)
        scores[rows] = np.take_along_axis(margins, places[rows, None], axis=1)[:, 0]
    return places, scores
