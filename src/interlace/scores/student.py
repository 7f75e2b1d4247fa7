"""Student's t distribution, for any degrees of freedom: scipy has it too, but takes 140 MB."""

import math
from functools import cache

_HALVINGS = 60  # until an interval holds one number


def two_sided_p(t: float, freedom: float) -> float:
    """Return the probability of a value at least as far from 0 as t: I_x(f / 2, 1 / 2) for x = f / (f + t^2).

    >>> round(two_sided_p(12.706204736, 1), 9)
    0.05
    """
    square = t * t
    if math.isinf(square):
        return 0.0
    x = freedom / (freedom + square)
    rest = square / (freedom + square)  # 1 - x, without rounding
    a = freedom / 2
    b = 0.5
    if x < (a + 1) / (a + b + 2):
        return _incomplete_beta(a, b, x, rest)
    return 1 - _incomplete_beta(b, a, rest, x)


@cache
def critical_value(level: float, freedom: float) -> float:
    """Return the t whose two-sided p-value is the level, by halving an interval."""
    high = 1.0
    while two_sided_p(high, freedom) > level:
        high *= 2
    low = high / 2 if high > 1 else 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if two_sided_p(middle, freedom) > level:
            low = middle
        else:
            high = middle
    return high


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b) by its continued fraction (DLMF 8.17.22).

    rest: 1 - x.
    """
    if x == 0:
        return 0.0
    terms = 30 + 2 * math.isqrt(int(max(a, b)))  # until it has converged
    fraction = 1.0
    for m in range(terms, 0, -1):
        place = a + 2 * m
        even_divisor = (place - 1) * place
        odd_divisor = (place - 2) * (place - 1)
        even = m * (b - m) * x / even_divisor
        odd = -(a + m - 1) * (a + b + m - 1) * x / odd_divisor
        fraction = 1 + odd / (1 + even / fraction)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    log_powers = a * math.log(x) + b * math.log(rest)
    front = math.exp(log_powers - log_beta) / a
    return front / fraction
