"""Links as numbers, one a link, that sort as the links do: how sets of links are put in order and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ordered(rows: NDArray[Any], links: NDArray[Any], count: int) -> Ragged:
    """`count` rows of links, sorted by source then target, each once.

    rows: (total,) the row of each link, in any order.
    links: (total, 2) source and target word.
    """
    links = links.reshape(-1, 2)  # rows made of nothing have no second axis
    keys, width = _keys(rows, links)
    if not _increase(keys):
        keys = np.unique(keys)
        rows, links = _taken_apart(keys, width)
    lengths = np.bincount(rows, minlength=count) if len(rows) else np.zeros(count, np.int64)
    return Ragged.from_lengths(np.ascontiguousarray(links, np.int32), lengths)


def found_in(links: Ragged, others: Ragged) -> NDArray[np.bool_]:
    """(total,) which links stand in the same row of `others`; both of as many rows, sorted, each link once."""
    width = max(_width(links.flat), _width(others.flat))
    keys, known = (_packed(side.rows(), side.flat, width) for side in (links, others))
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: NDArray[np.bool_] = known[places] == keys
    return found


def _keys(rows: NDArray[Any], links: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    width = _width(links)
    return _packed(rows, links, width), width


def _width(links: NDArray[Any]) -> int:
    """One more than the greatest word."""
    return int(links.max(initial=0)) + 1


def _packed(rows: NDArray[Any], links: NDArray[Any], width: int) -> NDArray[np.int64]:
    keys = rows.astype(np.int64) * width
    keys += links[:, 0]
    keys *= width
    keys += links[:, 1]
    return keys


def _taken_apart(keys: NDArray[np.int64], width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and links of keys."""
    rest, target = np.divmod(keys, width)
    rows, source = np.divmod(rest, width)
    return rows, np.stack([source, target], axis=1)


def _increase(keys: NDArray[np.int64]) -> bool:
    return bool((keys[1:] > keys[:-1]).all())
