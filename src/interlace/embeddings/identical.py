"""Identical: each language rotated onto the pivot by the words that both write alike, then refined.

A start without a dictionary that is hard to beat where languages share a script (Søgaard et al. 2018, section 4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.embeddings._mapping import Mapped, Sides, mapped

if TYPE_CHECKING:
    from interlace.core.progress import Progress
    from interlace.embeddings import CrossLingualVectors, EmbeddingSources
    from interlace.embeddings._mapping import Refined


class Identical(Mapped):
    """Names, numbers and loans stand for a dictionary."""

    def fit(self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None) -> CrossLingualVectors:
        """Learn each language alone, and rotate it by what it writes like the pivot."""
        return mapped(sources, self.skipgram, self.mapping, seed, progress, _start)


def _start(sides: Sides) -> tuple[Refined, dict[str, Any]]:
    """Every word that both have.

    Raises:
        DataError: there is none.
    """
    others = sides.target.find(sides.source.words)
    rows = np.flatnonzero(others >= 0)
    if not len(rows):
        raise DataError(
            f"identical: {sides.source.language!r} and {sides.target.language!r} write no word alike; procrustes takes "
            "a dictionary, and muse needs neither"
        )
    return sides.refined(sides.solved(rows, others[rows])), {"entries": len(rows)}
