"""How large a part of an objective's batches each of its corpora gets: by temperature, and never too many passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def capped(shares: NDArray[np.float64], limits: NDArray[Any]) -> NDArray[np.float64]:
    """The shares with none above its limit; what is cut off goes to the others in proportion (as in UniMax, 2023).

    Limits that add up to less than all leave nowhere to go; they are then scaled up together.
    """
    positive = np.where(shares > 0, limits, 0.0)
    if positive.sum() <= shares.sum():
        return np.asarray(shares.sum() * positive / positive.sum())
    at_limit = np.zeros(len(shares), np.bool_)
    found = shares
    while (over := ~at_limit & (found > limits)).any():
        at_limit |= over
        left = shares.sum() - limits[at_limit].sum()
        rest = shares[~at_limit].sum()
        found = np.where(at_limit, limits, shares * (left / rest if rest else 0.0))
    return found
