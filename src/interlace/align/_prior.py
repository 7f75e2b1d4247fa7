"""A lexicon as links that an aligner believes in before it reads any text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.align._folding import Renumbering

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.align._folding import Vocabulary
    from interlace.links.lexicon import Lexicon


@dataclass(frozen=True)
class Prior:
    """Links believed in before any text is read.

    entries: (m, 2) int32 types of a model's vocabularies, each pair once. counts: (m,) links.
    """

    entries: NDArray[np.int32]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, lexicon: Lexicon | None, weight: float, source: Vocabulary, target: Vocabulary) -> Prior:
        """A lexicon in the numbers of vocabularies, which take in its types; counts are times the weight.

        Entries that fold to the same pair are added up.
        """
        if lexicon is None or not len(lexicon) or weight == 0:
            return cls(np.zeros((0, 2), np.int32), np.zeros(0))
        own = lexicon.entries.astype(np.int64)
        numbers = [
            Renumbering(spellings, vocabulary).of(own[:, side], grow=True)
            for side, (spellings, vocabulary) in enumerate(
                ((lexicon.source_types, source), (lexicon.target_types, target))
            )
        ]
        entries, places = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
        counts = np.bincount(places.reshape(-1), lexicon.counts * weight, len(entries))
        return cls(entries, counts.astype(np.float64))
