"""Compiled arithmetic of a log-linear model over orders, in which each pair of things has a weight for its order.

p(order) is proportional to exp of the sum, over all pairs, of the weight of the first of both before the other. An
order is built from its first thing on, so sums over all orders are sums over all ways through the sets of things: 2^n
sets stand for n! orders, and nothing is approximated.

Legend: n things, s sets as bits; before (n, n) the weight of i before j.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from interlace.derived._keys_kernels import mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)


_STRONGEST = 10.0  # so that products over all pairs of twelve things stay within a float64


@njit(cache=True, nogil=True)
def _next(before: NDArray[np.float64]) -> NDArray[np.float64]:
    """(2^n, n) the factor of putting j behind all of a set."""
    count = len(before)
    single = np.exp(np.minimum(np.maximum(before, -_STRONGEST), _STRONGEST))
    for i in range(count):
        for j in range(count):
            if before[i, j] == -np.inf:
                single[i, j] = 0.0
    factors = np.ones((1 << count, count))
    for found in range(1, 1 << count):
        lowest = 0
        while not found >> lowest & 1:
            lowest += 1
        rest = found & (found - 1)
        for thing in range(count):
            factors[found, thing] = factors[rest, thing] * single[lowest, thing]
    return factors


@njit(cache=True, nogil=True)
def _sums(factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """(2^n,) the sum over all orders of a set."""
    sums = np.zeros(len(factors))
    sums[0] = 1.0
    for found in range(len(factors)):
        for thing in range(factors.shape[1]):
            if not found >> thing & 1:
                sums[found | 1 << thing] += sums[found] * factors[found, thing]
    return sums


@njit(cache=True, nogil=True)
def draw_order(before: NDArray[np.float64], bits: np.uint64, order: NDArray[np.int64]) -> None:
    """Fill `order` (n,) with an order drawn from the model, its last thing first; `bits` are all it hangs on.

    A weight of minus infinity is a bound: i never comes before j. Some order must keep all of these.
    """
    factors = _next(before)
    sums = _sums(factors)
    left = len(factors) - 1
    for place in range(len(before) - 1, -1, -1):
        bits += _STEP
        uniform = np.float64(mixed(bits) >> np.uint64(11)) / 2.0**53 * sums[left]
        chosen = -1
        for thing in range(len(before)):
            if not left >> thing & 1:
                continue
            rest = left ^ 1 << thing
            share = sums[rest] * factors[rest, thing]
            if share > 0:
                chosen = thing  # the last one that is possible, where rounding leaves a rest
            uniform -= share
            if uniform < 0:
                break
        order[place] = chosen
        left ^= 1 << chosen


@njit(cache=True, nogil=True)
def expect(
    keys: NDArray[np.int64],
    offsets: NDArray[np.int64],
    counts: NDArray[np.float64],
    weights: NDArray[np.float64],
    expected: NDArray[np.float64],
) -> float:
    """Add to `expected` (K, K) how often a comes before b in the model; returns the log of the sums over all orders.

    keys: what the things of each group are, `keys[offsets[g]:offsets[g + 1]]`. counts: how often each group was seen.
    weights: (K, K) for a before b.
    """
    total = 0.0
    for group in range(len(offsets) - 1):
        own = keys[offsets[group] : offsets[group + 1]]
        count = len(own)
        before = np.empty((count, count))
        for i in range(count):
            for j in range(count):
                before[i, j] = weights[own[i], own[j]]
        factors = _next(before)
        ahead = _sums(factors)
        full = len(ahead) - 1
        total += counts[group] * np.log(ahead[full])
        behind = np.zeros(len(ahead))
        behind[full] = 1.0
        for found in range(full - 1, -1, -1):
            share = counts[group] * ahead[found] / ahead[full]
            for thing in range(count):
                if found >> thing & 1:
                    continue
                step = factors[found, thing] * behind[found | 1 << thing]
                behind[found] += step
                for other in range(count):
                    if found >> other & 1:
                        expected[own[other], own[thing]] += share * step
    return total
