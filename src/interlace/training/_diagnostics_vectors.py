"""What the vectors of translations tell of a model: how alike the two sides are, by arithmetic alone.

Legend: n translations, H width; row i of one side translates row i of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def cosine_gap(source: NDArray[np.float32], target: NDArray[np.float32]) -> float:
    """Mean cosine of translations minus that of all other combinations, from n rows of length 1 a side.

    All n(n - 1) combinations count, not a sample: the sum over them is a product of two sums. 0: a translation is no
    nearer than any other sentence; a model whose vectors all point one way has 0 too, whatever its cosines.
    """
    own = float((source * target).sum(dtype=np.float64))
    every = float(source.sum(axis=0, dtype=np.float64) @ target.sum(axis=0, dtype=np.float64))
    count = len(source)
    return own / count - (every - own) / (count * (count - 1))


def linear_cka(source: NDArray[np.float32], target: NDArray[np.float32], *, debiased: bool = True) -> float:
    """Linear centred kernel alignment of (n, H) rows, n at least 4 (Kornblith et al. 2019, section 3).

    1: the two sides are the same up to a rotation and one scale; 0: unrelated. As published it nears 1 for any two
    sides with fewer rows than components. Debiased, by the estimator of HSIC of Song et al. (2012) as Nguyen et al.
    (2021) put it in its place, unrelated sides have 0 on the average, whatever n.

    Returns:
        At most 1; debiased it may be a little below 0. 0 where all rows of a side are equal.
    """
    inner = _debiased if debiased else _plain
    one, other = (_gram(side) for side in (source, target))
    square = inner(one, one) * inner(other, other)
    return inner(one, other) / float(np.sqrt(square)) if square > 0 else 0.0


def _gram(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """(n, n) inner products of the rows about their mean; scaled, so that small states do not underflow."""
    rows = rows - rows.mean(axis=0, dtype=np.float64)
    norm = float(np.linalg.norm(rows))
    rows = rows / norm if norm > _NOTHING else np.zeros_like(rows)
    return np.asarray(rows @ rows.T)


_NOTHING = 1e-12


def _plain(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float((one * other).sum())


def _debiased(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Song et al. (2012): what a row has in common with itself is left out."""
    n = len(one)
    one, other = (gram - np.diag(np.diag(gram)) for gram in (one, other))
    sums = one.sum(axis=0), other.sum(axis=0)
    alone = sums[0].sum() * sums[1].sum() / ((n - 1) * (n - 2))
    return float((_plain(one, other) + alone - 2 * (sums[0] @ sums[1]) / (n - 2)) / (n * (n - 3)))
