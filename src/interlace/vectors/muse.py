"""MUSE: each language rotated onto the pivot without a dictionary, by an adversary, then refined (Conneau et al. 2018).

The adversary does not always find the way. So its result is held against chance: random rotations that are refined in
the same way. Where it is no better than the best of them, a warning says so, and the run's record does too.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.randomness import Purpose, generator
from interlace.vectors import Learnt, Method, Sources, nobody
from interlace.vectors._adversary import Adversary
from interlace.vectors._mapping import Mapping, Sides, mapped, procrustes
from interlace.vectors._skipgram import SkipGram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.vectors import Watch

log = logging.getLogger(__name__)


class Muse(Method):
    """Vectors of each language alone, mapped without any supervision."""

    skipgram: SkipGram = Field(default_factory=SkipGram, description="How fastText learns each language alone.")
    mapping: Mapping = Field(default_factory=Mapping, description="How languages are brought into one space.")
    adversary: Adversary = Field(default_factory=Adversary, description="How the first rotation is found.")
    chances: int = Field(
        3, ge=1, description="Random rotations, refined alike, that the result must beat to count as converged."
    )

    def fit(self, sources: Sources, seed: int = 0, watch: Watch | None = None) -> Learnt:
        """Learn each language alone, and rotate it by what the adversary finds."""
        start = _Start(self, seed, watch or nobody)
        return mapped(sources, self.skipgram, self.mapping, seed, watch, start)


@dataclass(frozen=True)
class _Start:
    """Finds the first rotation of each language, the best of all games."""

    settings: Muse
    seed: int
    watch: Watch

    def __call__(self, sides: Sides) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """The rotation, and how it went."""
        games = [
            self.settings.adversary.play(sides, self.seed, game, self.watch)
            for game in range(self.settings.adversary.restarts)
        ]
        best = max(games, key=lambda game: max(game[1]))[0]
        reached, chance = self._judged(sides, best)
        converged = reached > chance
        if not converged:
            log.warning(
                "muse: %s onto %s did not converge: criterion %.3f after refinement, and %.3f from a random rotation; "
                "its vectors are no translations. Try adversary.restarts, another seed, or the methods identical and "
                "procrustes",
                *(sides.source.language, sides.target.language, reached, chance),
            )
        told = {"games": [[round(value, 4) for value in history] for _, history in games]}
        return best, {**told, "chance": round(chance, 4), "converged": converged}

    def _judged(self, sides: Sides, rotation: NDArray[np.float32]) -> tuple[float, float]:
        """The criterion after refinement, of this rotation and of the best of random ones."""
        width = sides.source.width
        rng = generator(Purpose.VECTORS, self.seed, 0, 2)
        random = [rng.standard_normal((width, width)).astype(np.float32) for _ in range(self.settings.chances)]
        found = [
            max(sides.refined(start)[1])
            for start in (rotation, *(procrustes(np.eye(width, dtype=np.float32), one) for one in random))
        ]
        return found[0], max(found[1:])
