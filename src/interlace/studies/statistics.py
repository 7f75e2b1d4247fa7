"""Intervals, tests and effect sizes, in numpy; what is random is drawn from a generator that the caller gives.

Every test is two-sided. Monte Carlo p-values count the observed arrangement among the drawn ones, (1 + k) / (1 +
draws), so that they are never 0 and keep their level (Phipson & Smyth 2010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from interlace.errors import DataError
from interlace.studies._arrangements import flips, permutations, splits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from interlace.randomness import Generator

    Floats = NDArray[np.float64]

DRAWS = 10_000
_SLACK = 1e-9  # arrangements that are as extreme as the observed one up to rounding count as such


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval; both are nan where one measurement tells no spread."""

    value: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Tested:
    """What a test says. least: the smallest p that it can give with so few measurements."""

    statistic: float
    p: float
    n: int
    least: float = 0.0


def mean_interval(
    values: ArrayLike,
    level: float = 0.95,
    method: Literal["t", "bootstrap"] = "t",
    rng: Generator | None = None,
    draws: int = DRAWS,
) -> Interval:
    """The mean with Student's t-interval, or with the percentile interval of a bootstrap (needs `rng`).

    With fewer than some ten values the t-interval is the one that keeps its level.
    """
    x = _vector(values, "values")
    mean = float(x.mean())
    if len(x) < 2:
        return Interval(mean, math.nan, math.nan, len(x))
    if method == "t":
        from scipy.stats import t

        half = float(t.ppf((1 + level) / 2, len(x) - 1)) * float(x.std(ddof=1)) / math.sqrt(len(x))
        return Interval(mean, mean - half, mean + half, len(x))
    means = x[_needed(rng).integers(len(x), size=(draws, len(x)))].mean(1)
    return Interval(mean, *_percentiles(means, level), len(x))


def difference_interval(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """Mean of `a` minus mean of `b`, unpaired, with Welch's interval; `n` is the smaller number of values."""
    x, y = _vector(a, "a"), _vector(b, "b")
    value, n = float(x.mean() - y.mean()), min(len(x), len(y))
    if n < 2:
        return Interval(value, math.nan, math.nan, n)
    vx, vy = float(x.var(ddof=1)) / len(x), float(y.var(ddof=1)) / len(y)
    if vx + vy == 0:
        return Interval(value, value, value, n)
    from scipy.stats import t

    freedom = (vx + vy) ** 2 / (vx**2 / (len(x) - 1) + vy**2 / (len(y) - 1))  # Welch-Satterthwaite
    half = float(t.ppf((1 + level) / 2, freedom)) * math.sqrt(vx + vy)
    return Interval(value, value - half, value + half, n)


def permutation_test(a: ArrayLike, b: ArrayLike, rng: Generator, draws: int = DRAWS) -> Tested:
    """Whether two independent samples have one mean: all splits of the joined values, or `draws` of them.

    Exact where there are at most 20,000 splits (8 against 8 values).
    """
    x, y = _vector(a, "a"), _vector(b, "b")
    joined = np.concatenate([x, y])
    found = float(x.mean() - y.mean())
    chosen, exact = splits(len(x), len(y), rng, draws)  # (D, n) indices of the first sample
    means = joined[chosen].mean(1)
    statistics = means - (joined.sum() - means * len(x)) / len(y)
    arrangements = math.comb(len(joined), len(x))
    least = (2 if len(x) == len(y) else 1) / arrangements
    return Tested(found, _share(statistics, found, exact=exact), min(len(x), len(y)), max(least, _floor(draws, exact)))


def sign_flip_test(differences: ArrayLike, rng: Generator, draws: int = DRAWS) -> Tested:
    """Whether paired differences are symmetric around 0: all ways to turn their signs (up to 2^14), or `draws`.

    With n pairs no p is below 2^(1 - n): five seeds cannot give less than 0.0625.
    """
    d = _vector(differences, "differences")
    signs, exact = flips(len(d), rng, draws)  # (D, n) of -1 and 1
    found = float(d.mean())
    return Tested(
        found, _share(signs @ d / len(d), found, exact=exact), len(d), max(2.0 ** (1 - len(d)), _floor(draws, exact))
    )


@dataclass(frozen=True)
class Examples:
    """What one system got on the examples of a test set; the score is `sum(score) / sum(weight)`.

    A share of right words is (right words, words) a sentence; F1 is (2 TP, 2 TP + FP + FN) a sentence.
    """

    score: Floats  # (N,)
    weight: Floats  # (N,)

    @property
    def total(self) -> float:
        """The score on all of them."""
        return float(self.score.sum() / self.weight.sum())


def paired_bootstrap(a: Examples, b: Examples, rng: Generator, level: float = 0.95, draws: int = DRAWS) -> Interval:
    """Score of `a` minus that of `b` on the same examples, with a percentile interval (Koehn 2004).

    Examples are drawn with replacement, the same ones for both.
    """
    _must_pair(a, b)
    n = len(a.score)
    found = np.empty(draws)
    columns = np.stack([a.score, a.weight, b.score, b.weight])  # (4, N)
    for begin in range(0, draws, 256):  # so that memory does not grow with the draws
        some = min(256, draws - begin)
        counts = np.stack([np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(some)])
        sums = columns @ counts.T.astype(np.float64)  # (4, some)
        with np.errstate(invalid="ignore", divide="ignore"):
            found[begin : begin + some] = sums[0] / sums[1] - sums[2] / sums[3]
    return Interval(a.total - b.total, *_percentiles(found[np.isfinite(found)], level), n)


def approximate_randomisation(a: Examples, b: Examples, rng: Generator, draws: int = DRAWS) -> Tested:
    """Whether two systems are alike on the same examples: their outputs are exchanged at random (Noreen 1989)."""
    _must_pair(a, b)
    n = len(a.score)
    found = a.total - b.total
    turn, weigh = b.score - a.score, b.weight - a.weight  # what the first system gains where the two are exchanged
    both = a.score.sum() + b.score.sum(), a.weight.sum() + b.weight.sum()
    statistics = np.empty(draws)
    for begin in range(0, draws, 256):
        some = min(256, draws - begin)
        swapped = rng.integers(0, 2, size=(some, n), dtype=np.int8).astype(np.float64)
        score, weight = a.score.sum() + swapped @ turn, a.weight.sum() + swapped @ weigh
        with np.errstate(invalid="ignore", divide="ignore"):
            statistics[begin : begin + some] = score / weight - (both[0] - score) / (both[1] - weight)
    return Tested(found, _share(statistics, found, exact=False), n, 1 / (1 + draws))


def mcnemar(only_a: int, only_b: int, method: Literal["exact", "chi-square"] = "exact") -> Tested:
    """Whether two systems err alike, from how many examples only one and only the other gets right (McNemar 1947).

    `exact` is binomial; `chi-square` has Edwards' correction and wants 25 such examples or more.
    """
    n = only_a + only_b
    if min(only_a, only_b) < 0:
        raise DataError(f"mcnemar counts examples, found {only_a} and {only_b}")
    if n == 0:
        return Tested(0.0, 1.0, 0, 1.0)
    if method == "exact":
        from scipy.stats import binomtest

        return Tested(float(min(only_a, only_b)), float(binomtest(only_a, n, 0.5).pvalue), n, min(1.0, 2.0 ** (1 - n)))
    from scipy.stats import chi2

    statistic = max(0, abs(only_a - only_b) - 1) ** 2 / n
    return Tested(statistic, float(chi2.sf(statistic, 1)), n)


def holm(ps: Sequence[float]) -> list[float]:
    """p-values adjusted for their number (Holm 1979): rejecting those below alpha errs in alpha of all families.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(ps, kind="stable")
    scaled = np.asarray(ps, float)[order] * np.arange(len(ps), 0, -1)
    adjusted = np.empty(len(ps))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(round(p, 15)) for p in adjusted]


def cohens_d(a: ArrayLike, b: ArrayLike) -> float:
    """Difference of the means in pooled standard deviations (Cohen 1988); nan where nothing varies or n < 2."""
    x, y = _vector(a, "a"), _vector(b, "b")
    if min(len(x), len(y)) < 2:
        return math.nan
    pooled = ((len(x) - 1) * x.var(ddof=1) + (len(y) - 1) * y.var(ddof=1)) / (len(x) + len(y) - 2)
    return float((x.mean() - y.mean()) / math.sqrt(pooled)) if pooled > 0 else math.nan


def cliffs_delta(a: ArrayLike, b: ArrayLike) -> float:
    """How much oftener a value of `a` is above one of `b` than below, from -1 to 1 (Cliff 1993)."""
    x, y = _vector(a, "a"), np.sort(_vector(b, "b"))
    above, not_below = np.searchsorted(y, x, "left").sum(), np.searchsorted(y, x, "right").sum()
    return float((above - (len(x) * len(y) - not_below)) / (len(x) * len(y)))


def spearman(a: ArrayLike, b: ArrayLike) -> Tested:
    """Rank correlation with its p: over all orders for up to 8 pairs, else from Student's t (Spearman 1904).

    Equal values share the mean of their ranks. nan where one side does not vary.
    """
    x, y = ranks(_vector(a, "a")), ranks(_vector(b, "b"))
    if len(x) != len(y):
        raise DataError(f"spearman pairs values: found {len(x)} and {len(y)}")
    n = len(x)
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    if n < 3 or scale == 0:
        return Tested(math.nan, math.nan, n, 1.0)
    rho = float(x @ y) / scale
    if n <= 8:
        return Tested(rho, _share(y[permutations(n)] @ x / scale, rho, exact=True), n, 2 / math.factorial(n))
    from scipy.stats import t

    if 1 - abs(rho) < _SLACK:
        return Tested(math.copysign(1.0, rho), 0.0, n)
    return Tested(rho, float(2 * t.sf(abs(rho) * math.sqrt((n - 2) / (1 - rho**2)), n - 2)), n)


def ranks(values: Floats) -> Floats:
    """(n,) ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: Floats = last - (counts - 1) / 2
    return means[inverse]


def _share(statistics: Floats, found: float, *, exact: bool) -> float:
    """The share of arrangements that are as far from 0 as the observed one."""
    slack = _SLACK * max(1.0, abs(found))
    extreme = int((~(np.abs(statistics) < abs(found) - slack)).sum())  # what cannot be computed counts as extreme
    return extreme / len(statistics) if exact else (1 + extreme) / (1 + len(statistics))


def _floor(draws: int, exact: bool) -> float:
    return 0.0 if exact else 1 / (1 + draws)


def _percentiles(values: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _vector(values: ArrayLike, name: str) -> Floats:
    x = np.asarray(values, np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise DataError(f"{name}: expected a row of finite numbers, found {np.asarray(values)!r:.80}")
    return x


def _must_pair(a: Examples, b: Examples) -> None:
    if len(a.score) != len(b.score):
        raise DataError(f"two systems are compared on the same examples: found {len(a.score)} and {len(b.score)}")


def _needed(rng: Generator | None) -> Generator:
    if rng is None:
        raise DataError("a bootstrap draws: give it a generator")
    return rng
