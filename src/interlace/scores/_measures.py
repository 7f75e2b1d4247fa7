"""How counts that are summed over examples make a score: what a bootstrap computes again for every draw.

A measure takes (C, ...) sums and gives (...) scores, nan where they cannot be computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ORDERS = 4  # of n-grams
BLEU_COLUMNS = 2 + 2 * ORDERS  # length, reference length, n-grams that match, n-grams there are


def ratio(sums: Floats) -> Floats:
    """(2, ...) sums of scores and of weights."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[0] / sums[1], np.float64)


def bleu(sums: Floats) -> Floats:
    """BLEU (Papineni et al. 2002), 0 to 100, of (10, ...) sums: both lengths, matching n-grams, n-grams there are.

    An order without a match counts as half a match, the next such order as a quarter (smoothing "exp" of sacreBLEU,
    NIST's). Where nothing matches, or the output has no n-gram of some order, the score is 0.
    """
    length, reference = sums[0], sums[1]
    correct, total = sums[2 : 2 + ORDERS], sums[2 + ORDERS :]
    smoothed = np.where(correct > 0, correct, 0.5 ** np.cumsum((correct <= 0) & (total > 0), axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(smoothed) - np.log(total)
        penalty = np.minimum(0.0, 1 - reference / length)
        score = 100 * np.exp(penalty + logs.mean(axis=0))
    return np.where((correct > 0).any(axis=0) & (total > 0).all(axis=0), score, 0.0)


def perplexity(sums: Floats) -> Floats:
    """The exponential of the ratio: (2, ...) sums of nats and of what is predicted; beyond e^50 a model broke down."""
    return np.asarray(np.exp(np.minimum(ratio(sums), 50.0)), np.float64)


MEASURES: dict[str, Callable[[Any], Floats]] = {"ratio": ratio, "bleu": bleu, "perplexity": perplexity}
