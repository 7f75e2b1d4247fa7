"""Nearest neighbours by cosine, in blocks so that the whole table of similarities never stands in memory.

Legend: n queries, m candidates, H width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.vectors._neighbours import CELLS, unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from interlace.ragged import Ragged

__all__ = ["CELLS", "hits", "numbered", "unit"]


def hits(
    queries: NDArray[np.float32],
    candidates: NDArray[np.float32],
    gold: Ragged,
    barred: Ragged | None = None,
    adjust: Callable[[NDArray[np.float32], slice], NDArray[np.float32]] | None = None,
) -> NDArray[np.bool_]:
    """(n,) whether the nearest candidate is a right one. Where a wrong one is exactly as near, it is no hit.

    queries, candidates: rows of length 1. Equal candidates should be one candidate.
    gold: n rows of the right candidates, at least one each.
    barred: n rows of candidates that do not count for that query; never right ones.
    adjust: makes what is compared from the cosines (block, m) of a slice of the queries; none: the cosines.
    """
    found = np.zeros(len(queries), np.bool_)
    block = max(1, CELLS // max(len(candidates), 1))
    for start in range(0, len(queries), block):
        rows = slice(start, min(start + block, len(queries)))
        likeness = queries[rows] @ candidates.T  # (block, m)
        likeness = likeness if adjust is None else adjust(likeness, rows)
        right = gold.slice(rows.start, rows.stop)
        best = np.maximum.reduceat(likeness[right.rows(), right.flat], right.offsets[:-1] - right.offsets[0])
        likeness[right.rows(), right.flat] = -np.inf
        if barred is not None:
            out = barred.slice(rows.start, rows.stop)
            likeness[out.rows(), out.flat] = -np.inf
        found[rows] = best > likeness.max(axis=1, initial=-np.inf)
    return found


def numbered(rows: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of each row among the distinct ones, by first appearance, and where each of those appears first."""
    seen: dict[bytes, int] = {}
    numbers = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows], np.int64)
    return numbers, np.unique(numbers, return_index=True)[1].astype(np.int64)
