"""Compiled draws: numbers that hang on a key and on the letters of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEP = np.uint64(0x9E3779B97F4A7C15)  # splitmix64 (Steele, Lea and Flood 2014)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def mixed(value: np.uint64) -> np.uint64:
    """A number whose bits all hang on all bits of another."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def hash_words(
    codes: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64], key: np.uint64, out: NDArray[np.uint64]
) -> None:
    """Fill `out` with 64 bits for each word `codes[starts[w]:ends[w]]`, which hang on its letters and the key alone."""
    for word in range(len(starts)):
        value = key
        for place in range(starts[word], ends[word]):
            value = mixed((value ^ np.uint64(codes[place])) + STEP)
        out[word] = value
