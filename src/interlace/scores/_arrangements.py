"""The arrangements that permutation tests go through: all of them where they are few, else as many as are drawn."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.randomness import Generator

_MOST = 20_000


def splits(first: int, second: int, rng: Generator, draws: int) -> tuple[NDArray[np.intp], bool]:
    """(D, first) which of the joined values come first, and whether that is all ways."""
    total = first + second
    if math.comb(total, first) <= _MOST:
        return np.array(list(combinations(range(total), first)), np.intp).reshape(-1, first), True
    return np.argsort(rng.random((draws, total)), axis=1)[:, :first], False


def flips(count: int, rng: Generator, draws: int) -> tuple[NDArray[np.float64], bool]:
    """(D, count) of -1 and 1, and whether that is all ways."""
    if 2**count <= _MOST:
        bits = np.arange(2**count)[:, None] >> np.arange(count) & 1
        return 1 - 2 * bits.astype(np.float64), True
    return 1 - 2 * rng.integers(0, 2, size=(draws, count)).astype(np.float64), False


@cache
def permutations(count: int) -> NDArray[np.intp]:
    """(count!, count) all orders of `count` things, built by putting the last at every place of the others' orders."""
    if count == 1:
        return np.zeros((1, 1), np.intp)
    smaller = permutations(count - 1)
    found = [np.insert(smaller, place, count - 1, axis=1) for place in range(count)]
    return np.concatenate(found)
