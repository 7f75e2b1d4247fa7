"""Links through a text in the middle: from the words of one side to those of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray


def joined_links(first: Ragged, second: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Each link i-j of `first` with each link j-k of `second` in the same row: rows and links i-k, in any order.

    second: sorted by its first word, as links are.
    """
    rows = first.rows()
    width = _width(first.flat[:, 1], second.flat[:, 0])
    wanted = rows * width + first.flat[:, 1]
    there = second.rows() * width + second.flat[:, 0]
    starts = np.searchsorted(there, wanted, "left")
    counts = np.searchsorted(there, wanted, "right") - starts
    spread = Ragged.from_lengths(np.empty(0), counts)
    at = np.repeat(starts - spread.offsets[:-1], counts) + np.arange(spread.offsets[-1])
    links = np.stack([np.repeat(first.flat[:, 0], counts), second.flat[at, 1]], axis=1)
    return np.repeat(rows, counts), links.astype(np.int32)


def are_one_to_one(first: Ragged, second: Ragged) -> bool:
    """Whether in both, every word of the left side has one link, and both have as many words."""
    return np.array_equal(first.lengths, second.lengths) and all(
        bool((links.flat[:, 0] == links.columns()).all()) for links in (first, second)
    )


def turned(links: Ragged) -> Ragged:
    """Links from target to source, sorted."""
    order = np.lexsort((links.flat[:, 0], links.flat[:, 1], links.rows()))
    return Ragged(np.ascontiguousarray(links.flat[order][:, ::-1]), links.offsets - links.offsets[0])


def _width(*words: NDArray[np.int32]) -> int:
    return max(int(side.max(initial=0)) for side in words) + 1
