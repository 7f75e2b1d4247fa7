"""Rows of numbers, checked, and the shares of them that p-values and intervals are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

SLACK = 1e-9  # arrangements that are as extreme as the observed one up to rounding count as such


def share(statistics: Floats, found: float, *, exact: bool) -> float:
    """The share of arrangements that are as far from 0 as the observed one."""
    slack = SLACK * max(1.0, abs(found))
    extreme = int((~(np.abs(statistics) < abs(found) - slack)).sum())  # what cannot be computed counts as extreme
    return extreme / len(statistics) if exact else (1 + extreme) / (1 + len(statistics))


def floor(draws: int, exact: bool) -> float:
    """The least p that so many draws can give; of all arrangements, their number says it."""
    return 0.0 if exact else 1 / (1 + draws)


def percentiles(values: Floats, level: float) -> tuple[float, float]:
    """The ends of the middle `level` of the values."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def vector(values: ArrayLike, name: str) -> Floats:
    """(n,) the values.

    Raises:
        DataError: they are no row of finite numbers.
    """
    x = np.asarray(values, np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise DataError(f"{name}: expected a row of finite numbers, found {np.asarray(values)!r:.80}")
    return x
