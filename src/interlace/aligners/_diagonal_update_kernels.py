"""Compiled M-step of `diagonal`: variational Bayes for the probabilities, closed sums for the tension's gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from interlace.aligners._cooccurrence_kernels import EMPTY, add_atomically
from interlace.aligners._diagonal_model import FIXED, LEAST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.aligners._diagonal_model import Counts, Model

UNIT = float(FIXED)


@njit(cache=True, nogil=True)
def exp_digamma(x: float) -> float:
    """exp(digamma(x)) for x > 0, which variational Bayes puts in the place of a count; relative error below 1e-9.

    digamma(x) is digamma(x + 5) less the sum of 1 / (x + k) for k = 0 to 4, and exp(digamma(z + 1/2)) has a series
    without logarithms: one exponential and four divisions in all.
    """
    z = x + 4.5
    w = 1.0 / (z * z)
    series = z * (1.0 + w * (1 / 24 + w * (-37 / 5760 + w * (10313 / 2903040 - w * (5509121 / 1393459200)))))
    steps = (2 * x + 1) / (x * (x + 1)) + (2 * x + 5) / ((x + 2) * (x + 3)) + 1.0 / (x + 4)
    return series * math.exp(-steps)


@njit(cache=True, nogil=True)
def exp_digammas(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """`exp_digamma` of each, and at least a number that may be divided by."""
    result = np.empty(len(values), np.float64)
    for place in range(len(values)):
        result[place] = max(exp_digamma(values[place]), 1e-250)
    return result


@njit(cache=True, nogil=True)
def total(
    model: Model,
    counts: Counts,
    first: int,
    last: int,
    source_totals: NDArray[np.int64],
    target_totals: NDArray[np.int64],
) -> None:
    """Sum the counts of the rows first to last by what explains: forward the source type, backward the target type."""
    for row in range(first, last):
        for slot in range(model.starts[row], model.starts[row + 1]):
            if model.targets[slot] != EMPTY:
                source_totals[row] += counts.forward[slot]
                if counts.backward[slot]:
                    add_atomically(target_totals, model.targets[slot], counts.backward[slot])


@njit(cache=True, nogil=True)
def maximise(
    model: Model,
    counts: Counts,
    first: int,
    last: int,
    alpha: float,
    source_scales: NDArray[np.float64],
    target_scales: NDArray[np.float64],
) -> None:
    """New probabilities of the rows first to last, and counts of 0; scales: SCALE over the type's total."""
    never = exp_digamma(alpha)
    for row in range(first, last):
        for slot in range(model.starts[row], model.starts[row + 1]):
            target = model.targets[slot]
            if target != EMPTY:
                count = counts.forward[slot]
                mass = exp_digamma(count / UNIT + alpha) if count else never
                model.forward[slot] = max(mass * source_scales[row], LEAST)
                if counts.backward[slot] != count:
                    count = counts.backward[slot]
                    mass = exp_digamma(count / UNIT + alpha) if count else never
                model.backward[slot] = max(mass * target_scales[target], LEAST)
                counts.forward[slot] = 0
                counts.backward[slot] = 0


@njit(cache=True, nogil=True)
def mean_distance(explained: int, explaining: int, tension: float) -> float:
    """|i/m - j/n| expected of the diagonal alone, summed over the explained words of one pair."""
    result = 0.0
    step = 1.0 / explaining
    for place in range(1, explained + 1):
        below = place * explaining // explained  # words of the other side up to the diagonal
        at = place / explained
        size = weighted = 0.0
        if below:
            size, weighted = _one_side(at - below * step, step, tension, below)
        if below < explaining:
            above = _one_side((below + 1) * step - at, step, tension, explaining - below)
            size += above[0]
            weighted += above[1]
        result += weighted / size
    return result


@njit(cache=True, nogil=True)
def _one_side(distance: float, step: float, tension: float, terms: int) -> tuple[float, float]:
    """Sums of exp(-tension * d) and of d * exp(-tension * d) over d = distance, distance + step, .. in closed form."""
    rest = -math.expm1(-tension * step)  # 1 - ratio, exact where it is small
    gone = -math.expm1(-tension * step * terms)  # 1 - ratio ** terms
    powers = gone / rest  # sum of ratio ** k
    risen = ((1.0 - rest) * powers - terms * (1.0 - gone)) / rest  # sum of k * ratio ** k
    weight = math.exp(-tension * distance)
    return weight * powers, weight * (distance * powers + step * risen)


@njit(cache=True, nogil=True)
def mean_distances(explained: NDArray[np.int64], explaining: NDArray[np.int64], tension: float) -> NDArray[np.float64]:
    """`mean_distance` of each shape."""
    result = np.empty(len(explained), np.float64)
    for shape in range(len(explained)):
        result[shape] = mean_distance(explained[shape], explaining[shape], tension)
    return result
