"""Numba kernels of `sampling`: keyed permutations, computed number by number, and cuts of batches.

An unbalanced Feistel network permutes the numbers below a power of two. A number that it maps outside the range is
mapped again until it falls inside (cycle walking; Black & Rogaway 2002, section 4), which again is a permutation.
"""

from typing import Any

import numpy as np

from interlace.core.kernels import compiled, inner
from interlace.core.ragged import AnyArray, IntArray

Numbers = IntArray

_MIN_BITS = 8  # smaller networks cannot reach all permutations
_ROUNDS = 8


@compiled
def permuted(
    first: int,
    last: int,
    size: int,
    key: int,
) -> Numbers:
    """Return the images of the numbers `first` to `last - 1` in the permutation of `range(size)` that `key` names."""
    images = np.empty(last - first, np.int64)
    bits = _bits(size)
    for index in range(last - first):
        images[index] = _image(
            first + index,
            size,
            bits,
            np.uint64(key),
        )
    return images


@compiled
def permuted_within(
    numbers: Numbers,
    starts: Numbers,
    key: int,
) -> Numbers:
    """Return the images of ascending numbers in a permutation that keeps each number in its group.

    starts: first number of each group, ascending, and the end of the last one. With the starts 0, 2 and 5 the numbers
    0 and 1 change places or not, and so do 2, 3 and 4.
    """
    images = np.empty(len(numbers), np.int64)
    group = 0
    if len(numbers):
        group = np.searchsorted(starts, numbers[0], side="right") - 1
    for index in range(len(numbers)):
        number = numbers[index]
        while number >= starts[group + 1]:
            group += 1
        start = starts[group]
        size = starts[group + 1] - start
        group_key = _mixed(np.uint64(key), int(group))
        images[index] = start + _image(
            number - start,
            size,
            _bits(size),
            group_key,
        )
    return images


@compiled
def cuts(ascending: AnyArray, budget: int) -> Numbers:
    """Return the borders of batches of ascending lengths whose longest one times their number is within the budget.

    The lengths 2, 3 and 4 with a budget of 6 give the borders 0, 2 and 3: 3 * 2 is within it, 4 * 3 is not.
    """
    borders = np.zeros(len(ascending) + 1, np.int64)
    batch = 0
    for row in range(len(ascending)):
        rows = row + 1 - borders[batch]
        if rows > 1 and np.int64(ascending[row]) * rows > budget:
            batch += 1
            borders[batch] = row
    borders[batch + 1] = len(ascending)
    return borders[: batch + 2].copy()


@inner
def _bits(size: Any) -> int:
    """Return the bits of the smallest network that permutes `size` numbers."""
    bits = _MIN_BITS
    while (1 << bits) < size:
        bits += 1
    return bits


@inner
def _image(
    number: Any,
    size: Any,
    bits: int,
    key: Any,
) -> Any:
    """Return the image of a number: in turn each half of its bits is changed by a hash of the other half."""
    low = bits // 2
    low_mask = np.uint64((1 << low) - 1)
    high_mask = np.uint64((1 << (bits - low)) - 1)
    while True:
        right = np.uint64(number) & low_mask
        left = np.uint64(number) >> np.uint64(low)
        for round_ in range(0, _ROUNDS, 2):
            left ^= _mixed(key + right, round_) & high_mask
            right ^= _mixed(key + left, round_ + 1) & low_mask
        number = np.int64(left << np.uint64(low) | right)
        if number < size:
            return number


@compiled
def _mixed(value: Any, salt: int) -> Any:
    """Return 64 well-mixed bits: the finalizer of SplitMix64 (Steele et al. 2014)."""
    value += np.uint64(salt + 1) * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
