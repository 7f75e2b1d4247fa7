"""The rules by which phrase pairs are extracted from aligned sentences, and kept in a table."""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.core.settings import Settings


class PhraseRules(Settings):
    """Which phrase pairs are extracted from aligned sentences."""

    max_phrase_length: int = Field(
        4,
        ge=1,
        le=8,
        description="Maximum length of a phrase in words, on both sides (ALM, Yang et al. 2020: less than 5).",
    )
    unaligned_borders: bool = Field(
        True,
        description="Allow unaligned words at the borders of phrases, as Moses does; false: all four border words "
        "must have a link.",
    )
    min_confidence: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Minimum confidence of links; others are dropped before extraction.",
    )

    def confident(
        self, links: Ragged, confidence: NDArray[np.floating] | None
    ) -> tuple[Ragged, NDArray[np.floating] | None]:
        """Return the links that reach `min_confidence`, and their (total,) confidence, which a minimum requires."""
        from interlace.alignment.links import select_links

        if not self.min_confidence:
            return links, confidence
        if confidence is None:
            raise DataError(
                f"min_confidence = {self.min_confidence:g}, but these alignments have no confidence; use an aligner "
                "that provides it, or remove the setting"
            )
        kept = confidence >= np.float32(self.min_confidence)
        return select_links(links, kept), confidence[kept]


class TableRules(PhraseRules):
    """Which phrase pairs of an aligned corpus a table holds."""

    min_count: int = Field(
        1,
        ge=1,
        description="Minimum count of a phrase pair. Rarer ones still count in the totals of the scores.",
    )
    top: int = Field(
        0,
        ge=0,
        description="Number of most probable translations to keep per source phrase; 0: all (Moses decodes with 20).",
    )
