"""Procrustes: map each language onto the pivot by a dictionary, then refine (Conneau et al. 2018, section 2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.embeddings.common.mapping import MappedPair, MappingMethod

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress
    from interlace.embeddings import CrossLingualVectors, EmbeddingSources, WordVectors
    from interlace.embeddings.common.mapping import Refined


class Procrustes(MappingMethod):
    """The supervised counterpart of MUSE: the initial rotation comes from a dictionary."""

    needs: ClassVar[frozenset[str]] = frozenset({"dictionaries"})

    fold: bool = Field(True, description="Look up words of the dictionary without exact match ignoring case.")

    def fit(self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None) -> CrossLingualVectors:
        """Train each language alone, and map it by its dictionary with the pivot, in either direction."""

        def start(pair: MappedPair) -> tuple[Refined, dict[str, Any]]:
            rows, others = self._entries(pair.source, pair.target, sources)
            return pair.refine(pair.solve(rows, others)), {"entries": len(rows)}

        return self.fit_mapped(sources, seed, progress, start)

    def _entries(
        self, source: WordVectors, target: WordVectors, sources: EmbeddingSources
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return rows of both sides of the entries whose words both have vectors.

        Raises:
            DataError: there is no dictionary of the two languages, or none of its entries has both vectors.
        """
        lexicon = _dictionary(source.language, target.language, sources)
        rows = source.find(lexicon.source_types, fold=self.fold)[lexicon.entries[:, 0]]
        others = target.find(lexicon.target_types, fold=self.fold)[lexicon.entries[:, 1]]
        known = (rows >= 0) & (others >= 0)
        if not known.any():
            raise DataError(
                f"procrustes: none of {len(lexicon)} entries of the dictionary of {source.language!r} and "
                f"{target.language!r} has a vector for both words; is it a dictionary of these languages?"
            )
        return rows[known], others[known]


def _dictionary(source: str, target: str, sources: EmbeddingSources) -> Lexicon:
    known = sources.dictionaries
    if (source, target) in known:
        return known[source, target]
    if (target, source) in known:
        return known[target, source].reversed()
    pairs = ", ".join("-".join(pair) for pair in known) or "none"
    raise DataError(f"procrustes: no dictionary of {source!r} and {target!r}; there are: {pairs}")
