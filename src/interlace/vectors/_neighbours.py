"""Nearest neighbours by cosine and by CSLS, in blocks so that the whole table of similarities never stands in memory.

CSLS (Conneau et al. 2018, section 2.3): 2 cos(x, y) - r(x) - r(y), where r is the mean cosine of a vector to its
nearest neighbours on the other side. It pushes back hubs: vectors that are near to everything.

Legend: n queries, m candidates, H width, k neighbours. Vectors are rows of length 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from interlace.ragged import Ragged

CELLS = 1 << 24  # similarities held at a time: 64 MiB of float32
TIE = 1e-6  # equal vectors may differ by that much after rounding; what is no farther away ties


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """(n, H) rows of length 1; a row of zeros stays one, and is like nothing."""
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny), np.float32)


def hubness(vectors: NDArray[np.float32], others: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """(n,) r: the mean cosine of each vector to its k nearest among the others (all, where there are fewer)."""
    k = min(k, len(others))
    found = np.zeros(len(vectors), np.float32)
    for rows, likeness in _blocks(vectors, others):
        found[rows] = np.partition(likeness, len(others) - k, axis=1)[:, len(others) - k :].mean(axis=1)
    return found


def nearest(
    queries: NDArray[np.float32], candidates: NDArray[np.float32], hubs: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(n,) the nearest candidate of each query, the first of equals; and its cosine.

    hubs: (m,) `hubness` of the candidates: nearest by CSLS. None: by cosine. r of a query is the same for all of its
        candidates, so it decides nothing.
    """
    best, cosines = np.zeros(len(queries), np.int64), np.zeros(len(queries), np.float32)
    for rows, likeness in _blocks(queries, candidates):
        best[rows] = (likeness if hubs is None else likeness - hubs / 2).argmax(axis=1)
        cosines[rows] = likeness[np.arange(len(likeness)), best[rows]]
    return best, cosines


def ranks(
    queries: NDArray[np.float32],
    candidates: NDArray[np.float32],
    gold: Ragged,
    hubs: NDArray[np.float32] | None = None,
) -> NDArray[np.int64]:
    """(n,) the place, from 1, of the best right candidate of each query. A wrong one that is as near goes first.

    gold: n rows of the right candidates, at least one each; others of them are no rivals.
    hubs: as in `nearest`.
    """
    found = np.zeros(len(queries), np.int64)
    for rows, likeness in _blocks(queries, candidates):
        scores = likeness if hubs is None else likeness - hubs / 2
        right = gold.slice(rows.start, rows.stop)
        best = np.maximum.reduceat(scores[right.rows(), right.flat], right.offsets[:-1] - right.offsets[0])
        scores[right.rows(), right.flat] = -np.inf
        found[rows] = 1 + (scores >= best[:, None] - TIE).sum(axis=1)
    return found


def mutual(one: NDArray[np.float32], other: NDArray[np.float32], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """(pairs,) rows of both sides that are each other's nearest by CSLS (Conneau et al. 2018, section 2.3)."""
    forward, _ = nearest(one, other, hubness(other, one, k))
    backward, _ = nearest(other, one, hubness(one, other, k))
    rows = np.flatnonzero(backward[forward] == np.arange(len(one)))
    return rows, forward[rows]


def _blocks(
    queries: NDArray[np.float32], candidates: NDArray[np.float32]
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Cosines of some queries to all candidates, block by block: (block, m)."""
    size = max(1, CELLS // max(len(candidates), 1))
    for start in range(0, len(queries), size):
        rows = slice(start, min(start + size, len(queries)))
        yield rows, queries[rows] @ candidates.T
