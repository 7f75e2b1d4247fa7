"""Identical: map each language onto the pivot by the words that both spell alike, then refine.

An unsupervised start that is hard to beat for languages with a common script (Søgaard et al. 2018, section 4).
"""

import numpy as np

from interlace.core.errors import DataError
from interlace.core.progress import Progress
from interlace.embeddings import EmbeddingSources
from interlace.embeddings.common.mapping import MappedPair, MappingMethod, Start


class Identical(MappingMethod):
    """Uses names, numbers and loans as the dictionary."""

    def start(self, pair: MappedPair, sources: EmbeddingSources, progress: Progress) -> Start:  # noqa: ARG002
        """Map by all words that both languages have; raise a DataError if there are none."""
        target_rows = pair.target.find(pair.source.words)  # (n,) -1: none
        rows = np.flatnonzero(target_rows >= 0)
        if not len(rows):
            raise DataError(
                f"identical: {pair.source.language!r} and {pair.target.language!r} have no word in common; procrustes "
                "uses a dictionary, and muse needs neither"
            )
        rotation = pair.solve(rows, target_rows[rows])
        return Start(pair.refine(rotation), {"entries": len(rows)})
