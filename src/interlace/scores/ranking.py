"""Do two measures go together? Spearman's rank correlation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.scores import Tested
from interlace.scores._arrangements import permutations
from interlace.scores._values import SLACK, share, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def spearman(a: ArrayLike, b: ArrayLike) -> Tested:
    """Rank correlation with its p: over all orders for up to 8 pairs, else from Student's t (Spearman 1904).

    Equal values share the mean of their ranks. nan where one side does not vary.
    """
    x, y = ranks(vector(a, "a")), ranks(vector(b, "b"))
    if len(x) != len(y):
        raise DataError(f"spearman pairs values: found {len(x)} and {len(y)}")
    n = len(x)
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    if n < 3 or scale == 0:
        return Tested(math.nan, math.nan, n, 1.0)
    rho = float(x @ y) / scale
    if n <= 8:
        return Tested(rho, share(y[permutations(n)] @ x / scale, rho, exact=True), n, 2 / math.factorial(n))
    from scipy.stats import t

    if 1 - abs(rho) < SLACK:
        return Tested(math.copysign(1.0, rho), 0.0, n)
    return Tested(rho, float(2 * t.sf(abs(rho) * math.sqrt((n - 2) / (1 - rho**2)), n - 2)), n)


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: NDArray[np.float64] = last - (counts - 1) / 2
    return means[inverse]
