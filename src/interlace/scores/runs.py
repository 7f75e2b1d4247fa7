"""Would it be so in other runs? Intervals, permutation tests and effect sizes over one number a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from interlace.scores import DRAWS, Interval, Tested
from interlace.scores._arrangements import flips, splits
from interlace.scores._values import floor, share, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from interlace.core.randomness import Generator


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """The mean with Student's t-interval, which keeps its level with few values too."""
    x = vector(values, "values")
    mean = float(x.mean())
    if len(x) < 2:
        return Interval(mean, math.nan, math.nan, len(x))
    from scipy.stats import t

    half = float(t.ppf((1 + level) / 2, len(x) - 1)) * float(x.std(ddof=1)) / math.sqrt(len(x))
    return Interval(mean, mean - half, mean + half, len(x))


def difference_interval(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """Mean of `a` minus mean of `b`, unpaired, with Welch's interval; `n` is the smaller number of values."""
    x, y = vector(a, "a"), vector(b, "b")
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
    x, y = vector(a, "a"), vector(b, "b")
    joined = np.concatenate([x, y])
    found = float(x.mean() - y.mean())
    chosen, exact = splits(len(x), len(y), rng, draws)  # (D, n) indices of the first sample
    means = joined[chosen].mean(1)
    statistics = means - (joined.sum() - means * len(x)) / len(y)
    arrangements = math.comb(len(joined), len(x))
    least = (2 if len(x) == len(y) else 1) / arrangements
    return Tested(found, share(statistics, found, exact=exact), min(len(x), len(y)), max(least, floor(draws, exact)))


def sign_flip_test(differences: ArrayLike, rng: Generator, draws: int = DRAWS) -> Tested:
    """Whether paired differences are symmetric around 0: all ways to turn their signs (up to 2^14), or `draws`.

    With n pairs no p is below 2^(1 - n): five seeds cannot give less than 0.0625.
    """
    d = vector(differences, "differences")
    signs, exact = flips(len(d), rng, draws)  # (D, n) of -1 and 1
    found = float(d.mean())
    return Tested(
        found, share(signs @ d / len(d), found, exact=exact), len(d), max(2.0 ** (1 - len(d)), floor(draws, exact))
    )


def cohens_d(a: ArrayLike, b: ArrayLike) -> float:
    """Difference of the means in pooled standard deviations (Cohen 1988); nan where nothing varies or n < 2."""
    x, y = vector(a, "a"), vector(b, "b")
    if min(len(x), len(y)) < 2:
        return math.nan
    pooled = ((len(x) - 1) * x.var(ddof=1) + (len(y) - 1) * y.var(ddof=1)) / (len(x) + len(y) - 2)
    return float((x.mean() - y.mean()) / math.sqrt(pooled)) if pooled > 0 else math.nan


def cliffs_delta(a: ArrayLike, b: ArrayLike) -> float:
    """How much oftener a value of `a` is above one of `b` than below, from -1 to 1 (Cliff 1993)."""
    x, y = vector(a, "a"), np.sort(vector(b, "b"))
    above, not_below = np.searchsorted(y, x, "left").sum(), np.searchsorted(y, x, "right").sum()
    return float((above - (len(x) * len(y) - not_below)) / (len(x) * len(y)))
