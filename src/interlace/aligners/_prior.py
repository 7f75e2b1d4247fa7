"""A lexicon as links that an aligner believes in before it reads any text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners._folding import Renumbering
from interlace.core.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.aligners._folding import Vocabulary
    from interlace.alignment.lexicon import Lexicon

MOST = 1e9  # links that a prior may give a type


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

        Entries that fold to the same pair are added up. Where a type would have more than MOST links, all counts are
        lowered in the same measure: aligners count in whole numbers of 64 bits.

        Raises:
            DataError: a count is negative, or no number; names the entry.
        """
        if lexicon is None or not len(lexicon) or weight == 0:
            return cls(np.zeros((0, 2), np.int32), np.zeros(0))
        if (wrong := ~(np.isfinite(lexicon.counts) & (lexicon.counts >= 0))).any():
            one, other, count = lexicon[int(wrong.argmax())]
            raise DataError(f"priors: {one!r} - {other!r} has the count {count}; expected a number of at least 0")
        own = lexicon.entries.astype(np.int64)
        numbers = [
            Renumbering(spellings, vocabulary).of(own[:, side], grow=True)
            for side, (spellings, vocabulary) in enumerate(
                ((lexicon.source_types, source), (lexicon.target_types, target))
            )
        ]
        entries, places = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
        largest = float(lexicon.counts.max())
        links = lexicon.counts * (weight if largest * weight <= MOST else MOST / largest)
        counts = np.bincount(places.reshape(-1), links, len(entries)).astype(np.float64)
        most = max(float(np.bincount(entries[:, side], counts).max()) for side in (0, 1))
        return cls(entries, counts if most <= MOST else counts * (MOST / most))
