"""Procrustes: each language rotated onto the pivot by a dictionary, then refined (Conneau et al. 2018, section 2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.embeddings._mapping import Mapped, Sides, mapped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress
    from interlace.embeddings import CrossLingualVectors, EmbeddingSources, WordVectors
    from interlace.embeddings._mapping import Refined


class Procrustes(Mapped):
    """The supervised counterpart of MUSE: the first rotation comes from a dictionary."""

    needs: ClassVar[frozenset[str]] = frozenset({"dictionaries"})

    fold: bool = Field(True, description="Look words of the dictionary up in any case where they are not as written.")

    def fit(self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None) -> CrossLingualVectors:
        """Learn each language alone, and rotate it by its dictionary with the pivot, in whichever direction it is."""

        def start(sides: Sides) -> tuple[Refined, dict[str, Any]]:
            rows, others = self._entries(sides.source, sides.target, sources)
            return sides.refined(sides.solved(rows, others)), {"entries": len(rows)}

        return mapped(sources, self.skipgram, self.mapping, seed, progress, start)

    def _entries(
        self, source: WordVectors, target: WordVectors, sources: EmbeddingSources
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of both sides of the entries whose words both have vectors.

        Raises:
            DataError: there is no dictionary of the two languages, or not one of its entries has both vectors.
        """
        lexicon = _between(source.language, target.language, sources)
        rows = source.find(lexicon.source_types, fold=self.fold)[lexicon.entries[:, 0]]
        others = target.find(lexicon.target_types, fold=self.fold)[lexicon.entries[:, 1]]
        known = (rows >= 0) & (others >= 0)
        if not known.any():
            raise DataError(
                f"procrustes: of {len(lexicon)} entries of the dictionary between {source.language!r} and "
                f"{target.language!r}, none has a vector for both words; is it a dictionary of these languages?"
            )
        return rows[known], others[known]


def _between(source: str, target: str, sources: EmbeddingSources) -> Lexicon:
    known = sources.dictionaries
    if (source, target) in known:
        return known[source, target]
    if (target, source) in known:
        return known[target, source].reversed()
    pairs = ", ".join("-".join(pair) for pair in known) or "none"
    raise DataError(f"procrustes: no dictionary between {source!r} and {target!r}; there are: {pairs}")
