"""A dictionary that nobody wrote: words of two languages whose vectors are each other's nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.alignment.lexicon import Lexicon
from interlace.core.neighbors import mutual, unit

if TYPE_CHECKING:
    from interlace.embeddings import WordVectors


def induced(source: WordVectors, target: WordVectors, *, most: int = 15_000, neighbours: int = 10) -> Lexicon:
    """Words that are each other's nearest by CSLS (Conneau et al. 2018, section 2.3), in order of the source's words.

    Vectors of one space, such as those of `identical` and `muse`, which saw no translation: then neither did these
    entries. Words without a letter are left out.

    most: words of each language that are looked at, the most frequent. neighbours: k of CSLS.
    """
    source, target = source.top(most), target.top(most)
    rows, others = mutual(unit(source.vectors), unit(target.vectors), neighbours)
    found = zip(rows.tolist(), others.tolist(), strict=True)
    return Lexicon.of((source.words[row], target.words[other], 1.0) for row, other in found).words()
