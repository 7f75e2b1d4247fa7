"""Compiled E-step of the reparameterised IBM model 2, both directions of a pair in one pass; see `_diagonal_model`.

A cell's weight is theta * d, where d = exp(-tension * |i/m - j/n|) favours the diagonal. The posterior of a link is its
weight over the sum of its column's weights and of odds * (sum of the column's d) * null theta, the null word's share.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from interlace.aligners._cooccurrence_kernels import add_atomically, first_slot, slot_from
from interlace.aligners._diagonal_model import FIXED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.aligners._diagonal_model import Counts, Model, Rows

UNIT = float(FIXED)
TINY = 0.5 / UNIT


class Curves(NamedTuple):
    """Exponentials of the relative places of both sides' words, (2, words) each: for forward and backward.

    exp(-|x - y|) is the lesser of exp(x) * exp(-y) and exp(-x) * exp(y), so that a pair of lines needs an exponential a
    word and none a cell.
    """

    source_rise: NDArray[np.float64]
    source_fall: NDArray[np.float64]
    target_rise: NDArray[np.float64]
    target_fall: NDArray[np.float64]


class Cells(NamedTuple):
    """Registry for the cells of one pair, (m * n,) by source place, then target place.

    met: the target type in the first slot tried. forward, backward: weights.
    """

    slots: NDArray[np.int64]
    met: NDArray[np.int32]
    forward: NDArray[np.float64]
    backward: NDArray[np.float64]


class Sums(NamedTuple):
    """Sums over what explains each word: (words,) of the weights and of the bare d, forward and backward."""

    target_weights: NDArray[np.float64]
    target_sizes: NDArray[np.float64]
    source_weights: NDArray[np.float64]
    source_sizes: NDArray[np.float64]


@njit(cache=True, nogil=True)
def curves(m: int, n: int) -> Curves:
    """Registry for sides of at most so many words."""
    return Curves(np.empty((2, m)), np.empty((2, m)), np.empty((2, n)), np.empty((2, n)))


@njit(cache=True, nogil=True)
def draw(into: Curves, m: int, n: int, tensions: NDArray[np.float64]) -> None:
    """Fill the curves for a pair of m and n words."""
    for way in range(2):
        for i in range(m):
            into.source_rise[way, i] = math.exp(tensions[way] * (i + 1) / m)
            into.source_fall[way, i] = 1.0 / into.source_rise[way, i]
        for j in range(n):
            into.target_rise[way, j] = math.exp(tensions[way] * (j + 1) / n)
            into.target_fall[way, j] = 1.0 / into.target_rise[way, j]


@njit(cache=True, nogil=True)
def nearness(of: Curves, way: int, i: int, j: int) -> float:
    """exp(-tension * |i/m - j/n|)."""
    over, under = of.source_rise[way, i] * of.target_fall[way, j], of.source_fall[way, i] * of.target_rise[way, j]
    return float(min(over, under))


@njit(cache=True, nogil=True)
def expect(rows: Rows, first: int, last: int, model: Model, counts: Counts, agree: bool) -> NDArray[np.int64]:
    """Add the expected counts of the pairs first to last, none of them empty on a side or beyond MOST_CELLS.

    agree: each link counts the geometric mean of its posteriors, once; else each direction counts its own.

    Returns:
        (2, 2) forward and backward: expected links, and their distances from the diagonal, both in units of 1 / FIXED.
    """
    m, n, most = _largest(rows, first, last)
    ends = curves(m, n)
    cells = Cells(np.empty(most, np.int64), np.empty(most, np.int32), np.empty(most), np.empty(most))
    sums = Sums(np.empty(n), np.empty(n), np.empty(m), np.empty(m))
    found = np.zeros((2, 2), np.int64)
    for row in range(first, last):
        source = rows.source[rows.source_offsets[row] : rows.source_offsets[row + 1]]
        target = rows.target[rows.target_offsets[row] : rows.target_offsets[row + 1]]
        draw(ends, len(source), len(target), model.tensions)
        _look_up(source, target, model, cells)
        _weigh(len(source), len(target), model, ends, cells, sums)
        _invert(target, model.odds[0], model.target_null, sums.target_weights, sums.target_sizes)
        _invert(source, model.odds[0], model.source_null, sums.source_weights, sums.source_sizes)
        _count_links(len(source), len(target), cells, sums, counts, agree, found)
        _count_null(target, sums.target_sizes, counts.target_null)
        _count_null(source, sums.source_sizes, counts.source_null)
    return found


@njit(cache=True, nogil=True)
def _largest(rows: Rows, first: int, last: int) -> tuple[int, int, int]:
    """The most source words, target words and cells of any of the pairs."""
    m = n = most = 0
    for row in range(first, last):
        words = rows.source_offsets[row + 1] - rows.source_offsets[row]
        others = rows.target_offsets[row + 1] - rows.target_offsets[row]
        m, n, most = max(m, words), max(n, others), max(most, words * others)
    return m, n, most


@njit(cache=True, nogil=True)
def _look_up(source: NDArray[np.int32], target: NDArray[np.int32], model: Model, cells: Cells) -> None:
    """The slots of all cells of a pair.

    The first slots to try are fetched for a whole row before any is looked at: the processor then waits for all of
    them at once, where a search that ends unforeseen would have it wait for one after the other.
    """
    n = len(target)
    for i in range(len(source)):
        low, high = model.starts[source[i]], model.starts[source[i] + 1]
        for j in range(n):
            slot = first_slot(low, high, target[j])
            cells.slots[i * n + j] = slot
            cells.met[i * n + j] = model.targets[slot]
    for i in range(len(source)):
        low, high = model.starts[source[i]], model.starts[source[i] + 1]
        for j in range(n):
            cell = i * n + j
            if cells.met[cell] != target[j]:
                cells.slots[cell] = slot_from(cells.slots[cell], low, high, model.targets, target[j])


@njit(cache=True, nogil=True)
def _weigh(m: int, n: int, model: Model, ends: Curves, cells: Cells, sums: Sums) -> None:
    """Weights of all cells of a pair and their sums."""
    sums.target_weights[:n] = 0.0
    sums.target_sizes[:n] = 0.0
    for i in range(m):
        weights = sizes = 0.0
        for j in range(n):
            cell = i * n + j
            slot = cells.slots[cell]
            near = nearness(ends, 0, i, j)
            cells.forward[cell] = model.forward[slot] * near
            sums.target_weights[j] += cells.forward[cell]
            sums.target_sizes[j] += near
            near = nearness(ends, 1, i, j)
            cells.backward[cell] = model.backward[slot] * near
            weights += cells.backward[cell]
            sizes += near
        sums.source_weights[i] = weights
        sums.source_sizes[i] = sizes


@njit(cache=True, nogil=True)
def _invert(
    words: NDArray[np.int32],
    odds: float,
    theta: NDArray[np.float32],
    weights: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    """Turn each sum of weights into one over the sum with the null word, and each size into 1, what is to be shared."""
    for place in range(len(words)):
        weights[place] = 1.0 / (weights[place] + odds * sizes[place] * theta[words[place]])
        sizes[place] = 1.0


@njit(cache=True, nogil=True)
def _count_links(
    m: int, n: int, cells: Cells, sums: Sums, counts: Counts, agree: bool, found: NDArray[np.int64]
) -> None:
    """Count the links of a pair; posteriors that round to nothing, most of them in later passes, are left out."""
    links, far = np.zeros(2), np.zeros(2)
    for i in range(m):
        for j in range(n):
            cell = i * n + j
            forward = cells.forward[cell] * sums.target_weights[j]
            backward = cells.backward[cell] * sums.source_weights[i]
            if agree:
                forward = backward = math.sqrt(forward * backward)
            if max(forward, backward) < TINY:
                continue
            distance = abs((i + 1) / m - (j + 1) / n)
            links[0] += forward
            links[1] += backward
            far[0] += forward * distance
            far[1] += backward * distance
            sums.target_sizes[j] -= forward
            sums.source_sizes[i] -= backward
            add_atomically(counts.forward, cells.slots[cell], np.int64(forward * UNIT + 0.5))
            if not agree:
                add_atomically(counts.backward, cells.slots[cell], np.int64(backward * UNIT + 0.5))
    for way in range(2):
        found[way, 0] += np.int64(links[way] * UNIT + 0.5)
        found[way, 1] += np.int64(far[way] * UNIT + 0.5)


@njit(cache=True, nogil=True)
def _count_null(words: NDArray[np.int32], left: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
    """Count for the null word what no link took of each word."""
    for place in range(len(words)):
        add_atomically(counts, words[place], np.int64(max(left[place], 0.0) * UNIT + 0.5))
