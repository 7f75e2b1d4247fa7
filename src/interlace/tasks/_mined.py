"""From two sets of sentences to pairs that may translate each other, and where to stop believing it.

Legend: n sources, m targets, P pairs proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from interlace.core.neighbors import nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.neighbors import MarginScorer

    Floats = NDArray[np.float64]

Search = Literal["max", "intersection", "forward", "backward"]
"""Which pairs are proposed: each source's nearest target (forward), each target's nearest source (backward), those that
are both (intersection), or the best of both from the top, each sentence once (max)."""


@dataclass(frozen=True)
class Mined:
    """Proposed pairs, best first.

    pairs: (P, 2) rows of source and target. scores: (P,) their margins, falling. right: (P,) whether it is a gold pair.
    gold: how many gold pairs there are.
    """

    pairs: NDArray[np.int64]
    scores: NDArray[np.float32]
    right: NDArray[np.bool_]
    gold: int

    def best_threshold(self) -> float:
        """The margin from which F1 is highest: midway between the last pair believed and the next."""
        found = np.arange(1, len(self.scores) + 1)
        f1 = 2 * np.cumsum(self.right) / (found + self.gold)
        ends = np.append(self.scores[1:] != self.scores[:-1], True)  # equal margins are believed together
        last = int(np.argmax(np.where(ends, f1, -1)))
        below = self.scores[last + 1] if last + 1 < len(self.scores) else self.scores[last]
        return (float(self.scores[last]) + float(below)) / 2

    def by_source(self, threshold: float, gold: NDArray[np.int64], sources: int) -> tuple[Floats, Floats]:
        """(sources,) twice the right pairs and (sources,) pairs believed and gold ones, whose sums make F1.

        gold: (g, 2) the gold pairs.
        """
        believed = self.scores >= threshold
        pairs = np.bincount(self.pairs[believed, 0], minlength=sources)
        right = np.bincount(self.pairs[believed & self.right, 0], minlength=sources)
        there = np.bincount(gold[:, 0], minlength=sources)
        return (2 * right).astype(np.float64), (pairs + there).astype(np.float64)

    def scored(self, threshold: float) -> tuple[float, float, float]:
        """Precision, recall and F1 in percent of the pairs whose margin reaches the threshold."""
        believed = self.scores >= threshold
        found, right = int(believed.sum()), int(self.right[believed].sum())
        precision, recall = (100 * right / of if of else 0.0 for of in (found, self.gold))
        return precision, recall, 200 * right / (found + self.gold) if right else 0.0


def mine(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    around: MarginScorer,
    gold: NDArray[np.int64],
    search: Search,
) -> Mined:
    """Propose pairs of (n, H) and (m, H) vectors of length 1.

    gold: (g, 2) rows of source and target, each pair once.
    """
    forward, forward_scores = nearest(source, target, around)
    backward, backward_scores = nearest(target, source, around.reversed())
    there = np.stack([np.arange(len(source)), forward], axis=1)
    back = np.stack([backward, np.arange(len(target))], axis=1)
    if search == "forward":
        pairs, scores = there, forward_scores
    elif search == "backward":
        pairs, scores = back, backward_scores
    elif search == "intersection":
        mutual = backward[forward] == np.arange(len(source))
        pairs, scores = there[mutual], forward_scores[mutual]
    else:
        pairs, scores = _each_once(np.concatenate([there, back]), np.concatenate([forward_scores, backward_scores]))
    order = np.argsort(-scores, kind="stable")
    pairs, scores = pairs[order], scores[order]
    keys, gold_keys = (side[:, 0] * len(target) + side[:, 1] for side in (pairs, gold))
    return Mined(pairs, scores, np.isin(keys, gold_keys), len(gold))


def _each_once(pairs: NDArray[np.int64], scores: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The best pairs from the top, without those whose source or target a better one has taken."""
    taken: tuple[set[int], set[int]] = (set(), set())
    kept = []
    order = np.argsort(-scores, kind="stable")
    for place, (source, target) in zip(order.tolist(), pairs[order].tolist(), strict=True):
        if source not in taken[0] and target not in taken[1]:
            taken[0].add(source)
            taken[1].add(target)
            kept.append(place)
    return pairs[kept], scores[kept]
