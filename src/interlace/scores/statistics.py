"""Confidence intervals, significance tests and effect sizes over runs, in numpy and scipy.

All tests are two-sided. Monte Carlo p-values count the observed arrangement among the drawn ones, (1 + k) / (1 +
draws), so they are never 0 and keep their level (Phipson & Smyth 2010). The caller passes the random generator.
Tests over test examples are in `interlace.scores.examples`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from interlace.core.errors import DataError
from interlace.core.randomness import Generator

Floats = NDArray[np.float64]

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
class Significance:
    """A test statistic with its p-value. min_p: the smallest p-value possible with so few measurements."""

    statistic: float
    p: float
    n: int
    min_p: float = 0.0


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return the mean with Student's t-interval."""
    x = _vector(values, "values")
    mean = float(x.mean())
    if len(x) < 2:
        return Interval(mean, math.nan, math.nan, len(x))
    from scipy.stats import t

    half = float(t.ppf((1 + level) / 2, len(x) - 1)) * float(x.std(ddof=1)) / math.sqrt(len(x))
    return Interval(mean, mean - half, mean + half, len(x))


def difference_interval(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """Return mean(a) - mean(b) with Welch's interval for unpaired samples; `n` is the smaller sample size."""
    x, y = _vector(a, "a"), _vector(b, "b")
    value, n = float(x.mean() - y.mean()), min(len(x), len(y))
    if n < 2:
        return Interval(value, math.nan, math.nan, n)
    if x.var() + y.var() == 0:
        return Interval(value, value, value, n)
    from scipy.stats import ttest_ind

    with warnings.catch_warnings():  # scipy warns of a sample without variance, where the interval is still right
        warnings.simplefilter("ignore", RuntimeWarning)
        found = ttest_ind(x, y, equal_var=False).confidence_interval(level)
    return Interval(value, float(found.low), float(found.high), n)


def permutation_test(a: ArrayLike, b: ArrayLike, rng: Generator, draws: int = DRAWS) -> Significance:
    """Test whether two independent samples have the same mean.

    Exact where there are at most 20,000 splits of the joined values (8 against 8), else over `draws` random splits.
    """
    x, y = _vector(a, "a"), _vector(b, "b")
    joined = np.concatenate([x, y])
    total = math.comb(len(joined), len(x))
    exact = total <= _MAX_EXACT
    if exact:
        chosen = np.array(list(combinations(range(len(joined)), len(x))), np.intp)
    else:
        chosen = np.argsort(rng.random((draws, len(joined))), axis=1)[:, : len(x)]
    means = joined[chosen].mean(1)
    found = float(x.mean() - y.mean())
    p = extreme_share(means - (joined.sum() - means * len(x)) / len(y), found, exact=exact)
    return Significance(found, p, min(len(x), len(y)), _min_p(2 if len(x) == len(y) else 1, total, draws, exact=exact))


def sign_flip_test(differences: ArrayLike, rng: Generator, draws: int = DRAWS) -> Significance:
    """Test whether paired differences are symmetric around 0, over all sign flips (up to 2^14) or `draws` of them.

    With n pairs no p-value is below 2^(1 - n).
    """
    d = _vector(differences, "differences")
    exact = 2 ** len(d) <= _MAX_EXACT
    bits = np.arange(2 ** len(d))[:, None] >> np.arange(len(d)) & 1 if exact else rng.integers(0, 2, (draws, len(d)))
    found = float(d.mean())
    p = extreme_share((1 - 2 * bits.astype(np.float64)) @ d / len(d), found, exact=exact)
    return Significance(found, p, len(d), _min_p(2, 2 ** len(d), draws, exact=exact))


def extreme_share(statistics: Floats, found: float, *, exact: bool) -> float:
    """Return the p-value: the share of arrangements at least as far from 0 as the observed statistic."""
    slack = _TOLERANCE * max(1.0, abs(found))
    extreme = int((~(np.abs(statistics) < abs(found) - slack)).sum())  # undefined statistics count as extreme
    return extreme / len(statistics) if exact else (1 + extreme) / (1 + len(statistics))


def _min_p(extremes: int, arrangements: int, draws: int, *, exact: bool) -> float:
    return max(extremes / arrangements, 0.0 if exact else 1 / (1 + draws))


def min_permutation_p(a: int, b: int) -> float:
    """Return the smallest p-value of an exact permutation test of samples of these sizes."""
    return (2 if a == b else 1) / math.comb(a + b, a)


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


def cohens_d(a: ArrayLike, b: ArrayLike) -> float:
    """Return the difference of means in pooled standard deviations (Cohen 1988); nan without variance or if n < 2."""
    x, y = _vector(a, "a"), _vector(b, "b")
    if min(len(x), len(y)) < 2:
        return math.nan
    pooled = ((len(x) - 1) * x.var(ddof=1) + (len(y) - 1) * y.var(ddof=1)) / (len(x) + len(y) - 2)
    return float((x.mean() - y.mean()) / math.sqrt(pooled)) if pooled > 0 else math.nan


def cliffs_delta(a: ArrayLike, b: ArrayLike) -> float:
    """Return P(a > b) - P(a < b) over all pairs of values, from -1 to 1 (Cliff 1993)."""
    x, y = _vector(a, "a"), np.sort(_vector(b, "b"))
    above, not_below = np.searchsorted(y, x, "left").sum(), np.searchsorted(y, x, "right").sum()
    return float((above - (len(x) * len(y) - not_below)) / (len(x) * len(y)))


def spearman(a: ArrayLike, b: ArrayLike) -> Significance:
    """Return Spearman's rank correlation with its p-value: exact for up to 8 pairs, else from Student's t.

    Equal values share the mean of their ranks. nan where one side has no variance.
    """
    x, y = _vector(a, "a"), _vector(b, "b")
    if len(x) != len(y):
        raise DataError(f"spearman pairs values: found {len(x)} and {len(y)}")
    n = len(x)
    if n < 3 or x.std() == 0 or y.std() == 0:
        return Significance(math.nan, math.nan, n, 1.0)
    from scipy.stats import rankdata, spearmanr

    found = spearmanr(x, y)
    if n > 8:
        return Significance(float(found.statistic), float(found.pvalue), n)
    ranks = rankdata(x) - (n + 1) / 2
    others = (rankdata(y) - (n + 1) / 2)[np.array(list(permutations(range(n))), np.intp)]
    scale = math.sqrt(float(ranks @ ranks) * float(others[0] @ others[0]))
    p = extreme_share(others @ ranks / scale, float(found.statistic), exact=True)
    return Significance(float(found.statistic), p, n, 2 / math.factorial(n))


def _vector(values: ArrayLike, name: str) -> Floats:
    """Return (n,) the values; raise DataError unless they are one row of finite numbers."""
    x = np.asarray(values, np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise DataError(f"{name}: expected a row of finite numbers, found {np.asarray(values)!r:.80}")
    return x
