"""Confidence intervals and significance tests over runs.

All tests are two-sided. Monte Carlo p-values count the observed arrangement among the drawn ones, (1 + k) / (1 +
draws), so they are never 0 and keep their level (Phipson & Smyth 2010). The caller passes the random generator.
Tests over test examples are in `interlace.scores.examples`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from interlace.core.errors import DataError
from interlace.core.ragged import DoubleArray
from interlace.core.randomness import Generator
from interlace.scores.student import critical_value, two_sided_p

Floats = DoubleArray

ALPHA = 0.05  # differences with a p-value below it are significant
DRAWS = 10_000
_MAX_EXACT = 20_000  # arrangements that permutation tests enumerate; of more, `draws` are drawn
_TOLERANCE = 1e-9  # arrangements as extreme as the observed one up to rounding count as such


@dataclass(frozen=True)
class Interval:
    """A value with a confidence interval; `low` and `high` are nan where a single measurement has no spread."""

    value: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation of n pairs with its p-value."""

    rho: float
    p: float
    n: int


def mean_interval(values: ArrayLike) -> Interval:
    """Return the mean with Student's 95 % t-interval."""
    x = _vector(values, "values")
    mean = float(x.mean())
    if len(x) < 2:
        return Interval(
            mean,
            math.nan,
            math.nan,
            len(x),
        )
    deviation = float(x.std(ddof=1))
    half = critical_value(ALPHA, len(x) - 1) * deviation / math.sqrt(len(x))
    return Interval(
        mean,
        mean - half,
        mean + half,
        len(x),
    )


def difference_interval(a: ArrayLike, b: ArrayLike) -> Interval:
    """Return mean(a) - mean(b) with Welch's 95 % interval; `n` is the smaller sample.

    Whether a difference is significant is up to `permutation_test`.
    """
    x = _vector(a, "a")
    y = _vector(b, "b")
    value = float(x.mean() - y.mean())
    n = min(len(x), len(y))
    if n < 2:
        return Interval(
            value,
            math.nan,
            math.nan,
            n,
        )
    if x.var() + y.var() == 0:
        return Interval(value, value, value, n)
    error, freedom = _welch_error(x, y)
    half = critical_value(ALPHA, freedom) * error
    return Interval(value, value - half, value + half, n)


def permutation_test(a: ArrayLike, b: ArrayLike, rng: Generator) -> float:
    """Return the p-value of equal means of two independent samples: the larger one of those of two tests.

    1. A permutation test of Welch's t, which keeps its level where both samples have the same distribution (Janssen
       1997, "Studentized permutation tests for non-i.i.d. hypotheses"). It is exact where there are at most 20,000
       splits of the joined values (8 against 8), else over random splits.
    2. Welch's t-test, which keeps it about where the variances differ. With few values the permutation test does not:
       of true nulls with 3 values of variance 9 against 10 of variance 1 it rejects 13 % at 5 %.

    With a single value in a sample, only the first one is possible.
    """
    x = _vector(a, "a")
    y = _vector(b, "b")
    size = len(x) + len(y)
    is_exact = math.comb(size, len(x)) <= _MAX_EXACT
    if is_exact:
        splits = _all_splits(size, len(x))
    else:
        splits = np.argsort(rng.random((DRAWS, size)), axis=1)[:, : len(x)]
    observed = _welch_t(x, y, np.arange(len(x))[None])[0]
    p = extreme_share(_welch_t(x, y, splits), observed, exact=is_exact)
    if min(len(x), len(y)) > 1 and x.var() + y.var() > 0:
        error, freedom = _welch_error(x, y)
        p = max(p, two_sided_p(float(x.mean() - y.mean()) / error, freedom))
    return p


def _welch_error(x: Floats, y: Floats) -> tuple[float, float]:
    """Return the standard error of a difference of means, and Satterthwaite's degrees of freedom."""
    x_variance = float(x.var(ddof=1)) / len(x)
    y_variance = float(y.var(ddof=1)) / len(y)
    variance = x_variance + y_variance
    spread = x_variance**2 / (len(x) - 1) + y_variance**2 / (len(y) - 1)
    return math.sqrt(variance), variance**2 / spread


@cache
def _all_splits(size: int, side: int) -> NDArray[np.intp]:
    """Return (S, side) members of the first side in every split of `size` values."""
    return np.array(list(combinations(range(size), side)), np.intp)


def _welch_t(
    x: Floats,
    y: Floats,
    splits: NDArray[np.intp],
) -> Floats:
    """Return (S,) Welch's t of the splits: the difference of means over its standard error.

    t = (m1 - m2) / sqrt(s1^2 / n1 + s2^2 / n2), where the second side is the rest of the joined values. A side with one
    value adds no variance. Without variance on both sides t is infinite, or 0 for equal means.

    Of x = (1, 3) and y = (2, 6), the split (0, 1) has means 2 and 4 with squared errors 1 and 4: t = -2 / sqrt(5). The
    split (0, 2) has means 1.5 and 4.5 with squared errors 0.25 and 2.25: t = -3 / sqrt(2.5).
    """
    joined = np.concatenate([x, y])
    joined = joined - joined.mean()  # against rounding
    squares = joined**2
    split_sums = joined[splits].sum(1)  # (S,)
    split_squares = squares[splits].sum(1)
    x_mean, x_error = _mean_and_squared_error(
        split_sums,
        split_squares,
        len(x),
    )
    y_mean, y_error = _mean_and_squared_error(
        joined.sum() - split_sums, squares.sum() - split_squares, len(y)
    )
    # of differences and errors that are 0 up to rounding
    noise = _TOLERANCE * np.abs(joined).max()
    difference = x_mean - y_mean
    difference[np.abs(difference) <= noise] = 0.0
    error = np.sqrt(x_error + y_error)
    t = np.copysign(math.inf, difference)  # without variance
    t[difference == 0] = 0.0
    np.divide(
        difference,
        error,
        out=t,
        where=error > noise,
    )
    return t


def _mean_and_squared_error(
    sums: Floats,
    squares: Floats,
    count: int,
) -> tuple[Floats, Floats]:
    """Return (S,) means and (S,) squared standard errors of `count` values, from their sums and sums of squares."""
    means = sums / count
    if count == 1:
        return means, np.zeros_like(means)
    variances = np.maximum(squares - count * means**2, 0.0) / (count - 1)
    return means, variances / count


def extreme_share(
    statistics: Floats,
    observed: float,
    *,
    exact: bool,
) -> float:
    """Return the p-value: the share of arrangements at least as far from 0 as the observed statistic."""
    slack = _TOLERANCE * max(1.0, abs(observed)) if math.isfinite(observed) else 0.0
    # never of an undefined statistic
    is_less_extreme = np.abs(statistics) < abs(observed) - slack
    extreme = int((~is_less_extreme).sum())
    if exact:
        return extreme / len(statistics)
    return (1 + extreme) / (1 + len(statistics))


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple testing (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(ps, kind="stable")
    scaled = np.asarray(ps, float)[order] * np.arange(len(ps), 0, -1)
    adjusted = np.empty(len(ps))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(round(p, 15)) for p in adjusted]


def spearman(a: ArrayLike, b: ArrayLike, rng: Generator) -> Correlation:
    """Return Spearman's rank correlation of n pairs, or its average within the rows of two tables, with its p-value.

    A row of a table (conditions, n) is one condition, a column what is compared in all of them. Values are ranked
    within their condition, so differences between conditions do not correlate (a partial rank correlation given the
    condition). The test permutes columns as wholes, because the values of one column depend on each other; it is exact
    for up to 8, else over random permutations. Equal values share the mean of their ranks. nan without variance.

    rho = sum(r s) / sqrt(sum(r^2) sum(s^2)) of ranks r and s whose mean in each row is 0. Of a = (1, 2, 3) and
    b = (5, 4, 9), the ranks are (-1, 0, 1) and (0, -1, 1): rho = 1 / sqrt(2 * 2) = 0.5.
    """
    x = np.atleast_2d(np.asarray(a, np.float64))  # (conditions, n)
    y = np.atleast_2d(np.asarray(b, np.float64))
    n = x.shape[1]
    x_ranks = _centered_ranks(x)
    y_ranks = _centered_ranks(y)
    scale = math.sqrt(float((x_ranks**2).sum() * (y_ranks**2).sum()))
    if n < 3 or scale == 0:
        return Correlation(math.nan, math.nan, n)
    is_exact = n <= 8
    if is_exact:
        orders = np.array(list(permutations(range(n))), np.intp)  # (orders, n)
    else:
        orders = np.argsort(rng.random((DRAWS, n)), axis=1)
    rho = float((x_ranks * y_ranks).sum() / scale)
    products = x_ranks.T @ y_ranks  # (n, n): what a column of y contributes in another position
    permuted = products[np.arange(n), orders].sum(axis=1) / scale
    return Correlation(
        rho,
        extreme_share(permuted, rho, exact=is_exact),
        n,
    )


def _centered_ranks(values: Floats) -> Floats:
    """Return the ranks of values within their row, with a mean of 0; equal values share the mean of their ranks."""
    signs = np.sign(values[:, :, None] - values[:, None, :])
    return np.asarray(signs.sum(axis=2) / 2, np.float64)


def rank_correlation(
    points: Mapping[Any, Mapping[Any, tuple[float, float]]], rng: Generator
) -> tuple[Correlation, int]:
    """Return Spearman's correlation within conditions, and how many conditions there are.

    points: by condition and system. Conditions with a single system, and systems that do not occur in every other
    condition, are left out.
    """
    conditions = [by_system for by_system in points.values() if len(by_system) > 1]
    if not conditions:
        return Correlation(math.nan, math.nan, 0), 0
    shared = [system for system in conditions[0] if all(system in row for row in conditions)]
    table = np.zeros((len(conditions), len(shared), 2))
    for row, by_system in enumerate(conditions):
        for column, system in enumerate(shared):
            table[row, column] = by_system[system]
    return spearman(table[..., 0], table[..., 1], rng), len(conditions)


def _vector(values: ArrayLike, name: str) -> Floats:
    """Return (n,) the values; raise DataError unless they are one row of finite numbers."""
    x = np.asarray(values, np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise DataError(
            f"{name}: expected a row of finite numbers, found {np.asarray(values)!r:.80}"
        )
    return x
