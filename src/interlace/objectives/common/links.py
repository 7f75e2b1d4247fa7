"""Word alignment links of pairs, for objectives that need `links`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from interlace.data import Pairs


def require_links(pairs: Pairs, name: str) -> Ragged:
    """Return the word alignments of the pairs.

    Raises:
        DataError: there are none; the message says how to get them.
    """
    if pairs.links is None:
        raise DataError(
            f"{name} needs word alignments, and these pairs have none; add a section [align] to the recipe, or open "
            "the corpus with ParallelCorpus.with_alignments"
        )
    return pairs.links


def one_to_one(links: Ragged, confidence: Ragged | None) -> NDArray[np.bool_]:
    """Return (total,) which links are the unique best of both their words; without confidences the only one of both.

    links: n rows of (source word, target word). confidence: a number per link, or None.
    """
    rows, flat = links.rows(), links.flat
    keep = np.ones(len(flat), np.bool_)
    for side in (0, 1):
        keys = rows * (int(flat[:, side].max(initial=0)) + 1) + flat[:, side]
        top = np.ones(len(keys), np.bool_)
        if confidence is not None:
            best = np.zeros(int(keys.max(initial=0)) + 1, confidence.flat.dtype)
            np.maximum.at(best, keys, confidence.flat)
            top = confidence.flat == best[keys]
        keep &= top & (np.bincount(keys[top], minlength=int(keys.max(initial=0)) + 1)[keys] == 1)
    return keep
