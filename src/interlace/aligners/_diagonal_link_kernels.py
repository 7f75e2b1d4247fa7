"""Compiled Viterbi links of `diagonal`, and how sure they are; memory grows with a pair's words, not its cells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from interlace.aligners._cooccurrence_kernels import EMPTY, place_in_row
from interlace.aligners._diagonal_kernels import curves, draw, nearness
from interlace.aligners._diagonal_model import SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.aligners._diagonal_kernels import Curves
    from interlace.aligners._diagonal_model import Model, Rows

UNSEEN = 1e-6 * SCALE  # of types never seen together, or never at all: on new text better than fast_align's 1e-9
NULL = -1


@njit(cache=True, nogil=True)
def decide(
    rows: Rows,
    first: int,
    last: int,
    model: Model,
    partners: tuple[NDArray[np.int32], NDArray[np.int32]],
    sums: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """The best partner of every word of the pairs first to last.

    partners: (source words,) target places and (target words,) source places, NULL where the null word is as good.
    sums: (source words,) and (target words,) all weights that explain a word, the null word's among them.
    """
    m = n = 0
    for row in range(first, last):
        m = max(m, rows.source_offsets[row + 1] - rows.source_offsets[row])
        n = max(n, rows.target_offsets[row + 1] - rows.target_offsets[row])
    ends = curves(m, n)
    best, sizes = np.empty((2, max(m, n))), np.empty((2, max(m, n)))
    for row in range(first, last):
        a, b = rows.source_offsets[row], rows.source_offsets[row + 1]
        c, d = rows.target_offsets[row], rows.target_offsets[row + 1]
        draw(ends, b - a, d - c, model.tensions)
        own = (partners[0][a:b], partners[1][c:d])
        whole = (sums[0][a:b], sums[1][c:d])
        _best(rows.source[a:b], rows.target[c:d], model, ends, own, whole, best, sizes)
        _against_null(rows.source[a:b], model.odds[0], model.source_null, own[0], whole[0], best[1], sizes[1])
        _against_null(rows.target[c:d], model.odds[0], model.target_null, own[1], whole[1], best[0], sizes[0])


@njit(cache=True, nogil=True)
def _best(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    model: Model,
    ends: Curves,
    partners: tuple[NDArray[np.int32], NDArray[np.int32]],
    sums: tuple[NDArray[np.float64], NDArray[np.float64]],
    best: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    """The first of the best partners of each word, its weight, and the sums of all weights and nearnesses."""
    partners[0][:] = NULL
    partners[1][:] = NULL
    sums[0][:] = 0.0
    sums[1][:] = 0.0
    best[:] = -1.0
    sizes[:] = 0.0
    for i in range(len(source)):
        for j in range(len(target)):
            forward, backward = _thetas(model, source[i], target[j])
            near = nearness(ends, 0, i, j)
            sizes[0, j] += near
            forward *= near
            sums[1][j] += forward
            if forward > best[0, j]:
                best[0, j], partners[1][j] = forward, i
            near = nearness(ends, 1, i, j)
            sizes[1, i] += near
            backward *= near
            sums[0][i] += backward
            if backward > best[1, i]:
                best[1, i], partners[0][i] = backward, j


@njit(cache=True, nogil=True)
def _against_null(
    words: NDArray[np.int32],
    odds: float,
    theta: NDArray[np.float32],
    partners: NDArray[np.int32],
    sums: NDArray[np.float64],
    best: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    """Unlink the words that the null word explains as well as their partner does."""
    for place in range(len(words)):
        share = odds * sizes[place] * (theta[words[place]] if words[place] >= 0 else UNSEEN)
        sums[place] += share
        if share >= best[place]:
            partners[place] = NULL


@njit(cache=True, nogil=True)
def _thetas(model: Model, source: int, target: int) -> tuple[float, float]:
    """Probabilities of a pair of types, forward and backward."""
    if source < 0 or target < 0:
        return UNSEEN, UNSEEN
    slot = place_in_row(model.starts, model.targets, source, target)
    if model.targets[slot] == EMPTY:
        return UNSEEN, UNSEEN
    return float(model.forward[slot]), float(model.backward[slot])


@njit(cache=True, nogil=True)
def confidence(
    rows: Rows,
    first: int,
    last: int,
    model: Model,
    links: NDArray[np.int32],
    offsets: NDArray[np.int64],
    sums: tuple[NDArray[np.float64], NDArray[np.float64]],
    into: NDArray[np.float32],
) -> None:
    """The geometric mean of the forward and the backward posterior of each link."""
    for row in range(first, last):
        a, c = rows.source_offsets[row], rows.target_offsets[row]
        m, n = rows.source_offsets[row + 1] - a, rows.target_offsets[row + 1] - c
        for link in range(offsets[row], offsets[row + 1]):
            i, j = links[link, 0], links[link, 1]
            forward, backward = _thetas(model, rows.source[a + i], rows.target[c + j])
            distance = abs((i + 1) / m - (j + 1) / n)
            forward *= math.exp(-model.tensions[0] * distance) / sums[1][c + j]
            backward *= math.exp(-model.tensions[1] * distance) / sums[0][a + i]
            into[link] = max(min(math.sqrt(forward) * math.sqrt(backward), 1.0), 1e-30)
