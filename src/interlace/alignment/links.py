"""Sets of alignment links: sort, compare, select and check them.

Each link becomes one integer key that sorts as the link does: (row * width + source) * width + target.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged


def sorted_links(rows: NDArray[Any], links: NDArray[Any], count: int) -> Ragged:
    """Return `count` rows of links, sorted by source then target, without duplicates.

    rows: (total,) the row of each link, in any order.
    links: (total, 2) source and target word.
    """
    width = _width(links)
    keys = _keys(rows, links, width)
    if not (keys[1:] > keys[:-1]).all():
        rest, target = np.divmod(np.unique(keys), width)
        rows, source = np.divmod(rest, width)
        links = np.stack([source, target], axis=1)
    lengths = np.bincount(rows, minlength=count) if len(rows) else np.zeros(count, np.int64)
    return Ragged.from_lengths(np.ascontiguousarray(links, np.int32), lengths)


def contained_in(links: Ragged, others: Ragged) -> NDArray[np.bool_]:
    """(total,) whether each link is also in the same row of `others`; both are sorted and have as many rows."""
    width = max(_width(links.flat), _width(others.flat))
    keys, known = (_keys(side.rows(), side.flat, width) for side in (links, others))
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: NDArray[np.bool_] = known[places] == keys
    return found


def select_links(links: Ragged, kept: NDArray[np.bool_]) -> Ragged:
    """Return the links (or spans) of each row for which `kept`, shape (total,), holds."""
    return Ragged.from_lengths(links.flat[kept], np.bincount(links.rows()[kept], minlength=len(links)))


def reverse_links(links: Ragged) -> Ragged:
    """Return links as (target, source), sorted again: those of the pairs with their sides exchanged."""
    return sorted_links(links.rows(), links.flat[:, ::-1], len(links))


def check_row_counts(source: int, target: int, links: int) -> None:
    """Raise a `DataError` unless both sides and the links have as many rows."""
    if not source == target == links:
        raise DataError(f"{source} source and {target} target sentences, but {links} rows of links")


def check_links(
    source_lengths: NDArray[np.int64], target_lengths: NDArray[np.int64], links: Ragged, first: int = 0
) -> None:
    """Check that all links are between words of their sentences; a DataError names the first other pair, from 1.

    source_lengths, target_lengths: (n,) words of each sentence. first: the index of the first pair, for the message.
    """
    check_row_counts(len(source_lengths), len(target_lengths), len(links))
    flat = links.flat
    beyond = (flat[:, 0] >= np.repeat(source_lengths, links.lengths)) | (flat.min(axis=1, initial=0) < 0)
    beyond |= flat[:, 1] >= np.repeat(target_lengths, links.lengths)
    if beyond.any():
        at = int(np.argmax(beyond))
        row = int(np.searchsorted(links.offsets - links.offsets[0], at, side="right")) - 1
        raise DataError(
            f"pair {first + row + 1}: link {flat[at, 0]}-{flat[at, 1]}, but the sentences have "
            f"{source_lengths[row]} and {target_lengths[row]} words, counted from 0"
        )


def _width(links: NDArray[Any]) -> int:
    """Return the largest word index plus one."""
    return int(links.max(initial=0)) + 1


def _keys(rows: NDArray[Any], links: NDArray[Any], width: int) -> NDArray[np.int64]:
    keys = rows.astype(np.int64) * width
    keys += links[:, 0]
    keys *= width
    keys += links[:, 1]
    return keys
