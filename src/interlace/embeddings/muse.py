"""MUSE: each language rotated onto the pivot without a dictionary, by an adversary, then refined (Conneau et al. 2018).

The adversary does not always find the way, and without a dictionary nobody sees it: the criterion also rises on wrong
ways. Two signs tell. A right rotation is found again by another game, and random rotations that are refined alike come
to a lower criterion. Where either is missing a warning says so, and the run's record does too.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.neighbors import unit
from interlace.core.progress import no_progress
from interlace.core.randomness import Purpose, generator
from interlace.embeddings._adversary import Adversary
from interlace.embeddings._mapping import Mapped, Sides, mapped, procrustes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.progress import Progress
    from interlace.embeddings import CrossLingualVectors, EmbeddingSources
    from interlace.embeddings._mapping import Refined

    Floats = NDArray[np.float32]

log = logging.getLogger(__name__)

AGREE = 0.9  # of two games that found the same; wrong ends of the toy corpus came to 0.27 to 0.73


class Muse(Mapped):
    """Vectors of each language alone, mapped without any supervision."""

    adversary: Adversary = Field(default_factory=Adversary, description="How the first rotation is found.")
    chances: int = Field(
        3, ge=1, description="Random rotations, refined alike, that the result must beat to count as converged."
    )

    def fit(self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None) -> CrossLingualVectors:
        """Learn each language alone, and rotate it by what the adversary finds."""
        start = _Start(self, seed, progress or no_progress)
        return mapped(sources, self.skipgram, self.mapping, seed, progress, start)


@dataclass(frozen=True)
class _Start:
    """Finds the first rotation of each language, the best of all games."""

    settings: Muse
    seed: int
    progress: Progress

    def __call__(self, sides: Sides) -> tuple[Refined, dict[str, Any]]:
        """The rotation that comes to the best criterion by refinement, and how it went."""
        games = [
            self.settings.adversary.play(sides, self.seed, game, self.progress)
            for game in range(self.settings.adversary.restarts)
        ]
        refined = [sides.refined(rotation) for rotation, _ in games]
        reached = [max(history) for _, history in refined]
        best = int(np.argmax(reached))
        others = [rotation for number, (rotation, _) in enumerate(refined) if number != best]
        agreement = max((_agreement(sides, refined[best][0], other) for other in others), default=None)
        chance = self._chance(sides)
        told = {"games": [[round(value, 4) for value in history] for _, history in games], "chance": round(chance, 4)}
        told |= {"agreement": agreement, "converged": _judged(sides, reached[best], chance, agreement)}
        return refined[best], told

    def _chance(self, sides: Sides) -> float:
        """The best criterion that refinement reaches from random rotations."""
        width = sides.source.width
        rng = generator(Purpose.VECTORS, self.seed, 0, 2)
        random = [rng.standard_normal((width, width)).astype(np.float32) for _ in range(self.settings.chances)]
        starts = [procrustes(np.eye(width, dtype=np.float32), one) for one in random]
        return max(max(sides.refined(start)[1]) for start in starts)


def _agreement(sides: Sides, one: Floats, other: Floats) -> float:
    """Mean cosine of frequent words under two rotations: near 1 where both found the same, near 0 by chance."""
    words = sides.source.vectors[: sides.mapping.judged_on]
    return round(float((unit(words @ one) * unit(words @ other)).sum(axis=1).mean()), 4)


def _judged(sides: Sides, reached: float, chance: float, agreement: float | None) -> bool | None:
    """Whether the adversary found the way; None where there is one game alone, which nothing contradicts."""
    cure = "its vectors may be no translations. Try more games, another seed, or the methods identical and procrustes"
    names = (sides.source.language, sides.target.language)
    if reached <= chance:
        log.warning("muse: %s onto %s: criterion %.3f, but %.3f by chance; %s", *names, reached, chance, cure)
        return False
    if agreement is not None and agreement < AGREE:
        log.warning("muse: %s onto %s: the games end apart (agreement %.2f); %s", *names, agreement, cure)
        return False
    return None if agreement is None else True
