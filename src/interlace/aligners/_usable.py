"""Which pairs an aligner can work on: those with words on both sides."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from interlace.core.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.alignment import WordPairs

log = logging.getLogger(__name__)

MOST_CELLS = 1 << 22  # source words x target words of a pair that is learnt from; 2,048 words on both sides
TOO_LONG = (
    f"nothing is learnt from one of more than {MOST_CELLS:,} source words times target words; split into sentences"
)


def two_sided(pairs: WordPairs) -> NDArray[np.bool_]:
    """(n,) whether a pair has words on both sides."""
    both: NDArray[np.bool_] = (pairs.source.lengths > 0) & (pairs.target.lengths > 0)
    return both


def check_usable(pairs: WordPairs, name: str) -> NDArray[np.bool_]:
    """The same for all pairs of a corpus, before something is learnt from it; says what gets no links.

    Raises:
        DataError: no pair has words on both sides.
    """
    both = two_sided(pairs)
    if not both.any():
        found = f"the {len(pairs)} pairs hold" if len(pairs) else "there are no pairs, so"
        raise DataError(f"{name}: {found} none with words on both sides; there is nothing to align")
    if skipped := int((~both).sum()):
        log.warning("%s: %d of %d pairs lack words on a side and get no links", name, skipped, len(pairs))
    return both
