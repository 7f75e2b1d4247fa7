"""Numba kernels of `diagonal`: expected counts, new probabilities, and Viterbi alignments.

Legend: m source words and n target words of a pair, i and j their positions. "Forward" explains each target word by a
source word, "backward" each source word by a target word. The probabilities of both directions are in the same slots of
a `Cooccurrence`, so that one lookup serves both.

The weight of a cell is theta * d, where d = exp(-tension * |i/m - j/n|) favors the diagonal. The posterior of a link is
its weight over the sum of its column's weights and the null word's share, odds * (sum of the column's d) * null theta.

All kernels release the GIL and are cached on disk.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from interlace.aligners.diagonal.cooccurrence import (
    EMPTY,
    Cooccurrence,
    add_atomically,
    first_slot,
    place_in_row,
    slot_from,
)
from interlace.core.kernels import compiled, inner
from interlace.core.ragged import DoubleArray, FloatArray, Int32Array, IntArray, Ragged

Types = Int32Array
Thetas = FloatArray
Counts = IntArray
Floats = DoubleArray

# expected counts are integers in units of 1 / FIXED, so that sums do not depend on their order
FIXED = 1 << 30
# factor of probabilities, so that float32 reaches down to 1e-66; posteriors do not change
SCALE = 2.0**100
MIN_PROBABILITY = 2.0**-120  # of a scaled probability, so that no sum is zero
UNIT = float(FIXED)
TINY = 0.5 / UNIT
UNSEEN = 1e-6 * SCALE  # of unknown types and pairs; better on new text than fast_align's 1e-9
UNSEEN_SLOT = -1
NULL = -1


class Rows(NamedTuple):
    """Words of pairs as types of the model, -1 for unknown words. Offsets begin at 0."""

    source: Types
    source_offsets: Counts
    target: Types
    target_offsets: Counts

    @classmethod
    def of(cls, source: Ragged, target: Ragged) -> Rows:
        """Return both sides of pairs."""
        return cls(source.values, source.offsets, target.values, target.offsets)


class DiagonalModel(NamedTuple):
    """Probabilities, times SCALE.

    starts, targets: the slots; see `Cooccurrence`.
    forward, backward: (slots,) of the target type given the source type, and vice versa.
    source_null, target_null: (types,) of a type given the null word.
    tensions: (2,) how strongly links favor the diagonal, forward and backward.
    odds: (1,) of the null word, p0 / (1 - p0).
    """

    starts: Counts
    targets: Types
    forward: Thetas
    backward: Thetas
    source_null: Thetas
    target_null: Thetas
    tensions: Floats
    odds: Floats

    @classmethod
    def of(
        cls, table: Cooccurrence, nulls: tuple[Thetas, Thetas], tensions: Floats, null: float
    ) -> DiagonalModel:
        """Return views of a table; nulls: of source and target; null: the probability of the null word."""
        forward = table.slots["forward"]
        backward = table.slots["backward"]
        odds = np.array([null / (1 - null)])
        return cls(table.starts, table.targets, forward, backward, *nulls, tensions, odds)


class ExpectedCounts(NamedTuple):
    """Expected counts in units of 1 / FIXED.

    links: (slots,) of both directions, which learn from the geometric mean of their posteriors.
    source_null, target_null: (types,) of the null word.
    """

    links: Counts
    source_null: Counts
    target_null: Counts


class Curves(NamedTuple):
    """Exponentials of the relative positions x = i/m and y = j/n of words, (2, words) each: forward and backward.

    exp(-|x - y|) is the minimum of exp(x) * exp(-y) and exp(-x) * exp(y), so exponentials are computed per word, not
    per cell.
    """

    source_rise: Floats
    source_fall: Floats
    target_rise: Floats
    target_fall: Floats


class Cells(NamedTuple):
    """Buffers for the cells of one pair, (m * n,) by source position, then target position.

    met: the target type in the first slot probed. forward, backward: weights.
    """

    slots: Counts
    met: Types
    forward: Floats
    backward: Floats


class Sums(NamedTuple):
    """Sums over the candidates of each word: (words,) of the weights and of d, forward and backward."""

    target_weights: Floats
    target_sizes: Floats
    source_weights: Floats
    source_sizes: Floats


# ---- E-step ----


@inner
def fill_curves(curves: Curves, m: int, n: int, tensions: Floats) -> None:
    """Compute the curves of a pair of m and n words."""
    for way in range(2):
        tension = tensions[way]
        for i in range(m):
            rise = math.exp(tension * (i + 1) / m)
            curves.source_rise[way, i] = rise
            curves.source_fall[way, i] = 1.0 / rise
        for j in range(n):
            rise = math.exp(tension * (j + 1) / n)
            curves.target_rise[way, j] = rise
            curves.target_fall[way, j] = 1.0 / rise


@inner
def nearness(curves: Curves, way: int, i: int, j: int) -> float:
    """Return exp(-tension * |i/m - j/n|)."""
    below = curves.source_rise[way, i] * curves.target_fall[way, j]
    above = curves.source_fall[way, i] * curves.target_rise[way, j]
    return float(min(below, above))


@compiled
def expect(
    rows: Rows, first: int, last: int, model: DiagonalModel, counts: ExpectedCounts
) -> Counts:
    """Add the expected counts of the pairs first to last; no side is empty, no pair has more than MAX_CELLS cells.

    A link counts as the geometric mean of its posteriors in both directions.

    Returns:
        (2,) expected links, and their distances from the diagonal, in units of 1 / FIXED.
    """
    curves, cells, sums = _buffers(rows, first, last)
    totals = np.zeros(2, np.int64)
    odds = model.odds[0]
    for row in range(first, last):
        source = rows.source[rows.source_offsets[row] : rows.source_offsets[row + 1]]
        target = rows.target[rows.target_offsets[row] : rows.target_offsets[row + 1]]
        fill_curves(curves, len(source), len(target), model.tensions)
        _look_up(source, target, model, cells)
        _weigh(len(source), len(target), model, curves, cells, sums)
        _invert(target, odds, model.target_null, sums.target_weights, sums.target_sizes)
        _invert(source, odds, model.source_null, sums.source_weights, sums.source_sizes)
        _count_links(len(source), len(target), cells, sums, counts.links, totals)
        _count_null(target, sums.target_sizes, counts.target_null)
        _count_null(source, sums.source_sizes, counts.source_null)
    return totals


@inner
def _buffers(rows: Rows, first: int, last: int) -> tuple[Curves, Cells, Sums]:
    """Return memory for the largest of the pairs first to last."""
    m = 0
    n = 0
    most = 0  # cells
    for row in range(first, last):
        source_words = rows.source_offsets[row + 1] - rows.source_offsets[row]
        target_words = rows.target_offsets[row + 1] - rows.target_offsets[row]
        m = max(m, source_words)
        n = max(n, target_words)
        most = max(most, source_words * target_words)
    slots = np.empty(most, np.int64)
    met = np.empty(most, np.int32)
    return (
        Curves(np.empty((2, m)), np.empty((2, m)), np.empty((2, n)), np.empty((2, n))),
        Cells(slots, met, np.empty(most), np.empty(most)),
        Sums(np.empty(n), np.empty(n), np.empty(m), np.empty(m)),
    )


@inner
def _look_up(source: Types, target: Types, model: DiagonalModel, cells: Cells) -> None:
    """Find the slots of all cells of a pair, UNSEEN_SLOT for type pairs that the model lacks.

    The first slots to probe are fetched for a whole row before any is compared, so that the cache misses overlap.
    """
    n = len(target)
    for i in range(len(source)):
        low, high = model.starts[source[i]], model.starts[source[i] + 1]
        for j in range(n):
            if source[i] < 0 or target[j] < 0:
                cells.slots[i * n + j] = UNSEEN_SLOT
                cells.met[i * n + j] = target[j]
                continue
            slot = first_slot(low, high, target[j])
            cells.slots[i * n + j] = slot
            cells.met[i * n + j] = model.targets[slot]
    for i in range(len(source)):
        low, high = model.starts[source[i]], model.starts[source[i] + 1]
        for j in range(n):
            cell = i * n + j
            if cells.met[cell] != target[j]:
                slot = slot_from(cells.slots[cell], low, high, model.targets, target[j])
                cells.slots[cell] = UNSEEN_SLOT if model.targets[slot] == EMPTY else slot


@inner
def _weigh(
    m: int, n: int, model: DiagonalModel, curves: Curves, cells: Cells, sums: Sums
) -> None:
    """Compute the weights of all cells of a pair and their sums."""
    sums.target_weights[:n] = 0.0
    sums.target_sizes[:n] = 0.0
    for i in range(m):
        weights = sizes = 0.0
        for j in range(n):
            cell = i * n + j
            slot = cells.slots[cell]
            forward = backward = UNSEEN
            if slot != UNSEEN_SLOT:
                forward = model.forward[slot]
                backward = model.backward[slot]
            near = nearness(curves, 0, i, j)
            cells.forward[cell] = forward * near
            sums.target_weights[j] += cells.forward[cell]
            sums.target_sizes[j] += near
            near = nearness(curves, 1, i, j)
            cells.backward[cell] = backward * near
            weights += cells.backward[cell]
            sizes += near
        sums.source_weights[i] = weights
        sums.source_sizes[i] = sizes


@inner
def _invert(words: Types, odds: float, theta: Thetas, weights: Floats, sizes: Floats) -> None:
    """Replace each sum of weights by its inverse, null word included, and each size by 1, the mass to distribute."""
    for place in range(len(words)):
        weights[place] = 1.0 / (weights[place] + odds * sizes[place] * theta[words[place]])
        sizes[place] = 1.0


@inner
def _fixed(count: float) -> np.int64:
    """Return a count in units of 1 / FIXED."""
    return np.int64(count * UNIT + 0.5)


@inner
def _count_links(
    m: int, n: int, cells: Cells, sums: Sums, counts: Counts, totals: Counts
) -> None:
    """Count the links of a pair; posteriors that round to zero, most of them in later passes, are skipped."""
    links = 0.0
    far = 0.0
    for i in range(m):
        for j in range(n):
            cell = i * n + j
            forward = cells.forward[cell] * sums.target_weights[j]
            backward = cells.backward[cell] * sums.source_weights[i]
            posterior = math.sqrt(forward * backward)
            if posterior < TINY:
                continue
            links += posterior
            far += posterior * abs((i + 1) / m - (j + 1) / n)
            sums.target_sizes[j] -= posterior
            sums.source_sizes[i] -= posterior
            add_atomically(counts, cells.slots[cell], np.int64(posterior * UNIT + 0.5))
    totals[0] += np.int64(links * UNIT + 0.5)
    totals[1] += np.int64(far * UNIT + 0.5)


@inner
def _count_null(words: Types, remaining: Floats, counts: Counts) -> None:
    """Count the remaining mass of each word for the null word."""
    for word in range(len(words)):
        mass = max(remaining[word], 0.0)
        add_atomically(counts, words[word], _fixed(mass))


# ---- M-step ----


@compiled
def exp_digamma(x: float) -> float:
    """Return exp(digamma(x)) for x > 0, which replaces a count in variational Bayes; relative error below 1e-9.

    digamma(x) is digamma(x + 5) less the sum of 1 / (x + k) for k = 0 to 4, and exp(digamma(z + 1/2)) has a series
    without logarithms: one exponential and four divisions in total.
    """
    z = x + 4.5
    w = 1.0 / (z * z)
    terms = 10313 / 2903040 - w * (5509121 / 1393459200)
    terms = 1 / 24 + w * (-37 / 5760 + w * terms)
    series = z * (1.0 + w * terms)
    steps = (2 * x + 1) / (x * (x + 1)) + (2 * x + 5) / ((x + 2) * (x + 3)) + 1.0 / (x + 4)
    return series * math.exp(-steps)


@compiled
def exp_digammas(values: Floats) -> Floats:
    """Return `exp_digamma` of each value, at least 1e-250 so that it can be a divisor."""
    result = np.empty(len(values), np.float64)
    for number in range(len(values)):
        result[number] = max(exp_digamma(values[number]), 1e-250)
    return result


@compiled
def total(
    model: DiagonalModel,
    counts: ExpectedCounts,
    first: int,
    last: int,
    source_totals: Counts,
    target_totals: Counts,
) -> None:
    """Add the counts of the rows first to last to the totals: forward by source type, backward by target type."""
    for row in range(first, last):
        for slot in range(model.starts[row], model.starts[row + 1]):
            links = counts.links[slot]  # 0 in an empty slot
            if links:
                source_totals[row] += links
                add_atomically(target_totals, model.targets[slot], links)


@compiled
def maximize(
    model: DiagonalModel,
    counts: ExpectedCounts,
    first: int,
    last: int,
    alpha: float,
    source_scales: Floats,
    target_scales: Floats,
) -> None:
    """Set new probabilities of the rows first to last and reset counts to 0; scales: SCALE over the type's total."""
    uncounted = exp_digamma(alpha)
    for row in range(first, last):
        for slot in range(model.starts[row], model.starts[row + 1]):
            target = model.targets[slot]
            if target != EMPTY:
                count = counts.links[slot]
                mass = exp_digamma(count / UNIT + alpha) if count else uncounted
                model.forward[slot] = max(mass * source_scales[row], MIN_PROBABILITY)
                model.backward[slot] = max(mass * target_scales[target], MIN_PROBABILITY)
                counts.links[slot] = 0


@inner
def _one_side(distance: float, step: float, tension: float, terms: int) -> tuple[float, float]:
    """Return the sums of exp(-tension * d) and d * exp(-tension * d) over d = distance, distance + step, .."""
    rest = -math.expm1(-tension * step)  # 1 - ratio, exact for small values
    gone = -math.expm1(-tension * step * terms)  # 1 - ratio ** terms
    powers = gone / rest  # sum of ratio ** k
    risen = ((1.0 - rest) * powers - terms * (1.0 - gone)) / rest  # sum of k * ratio ** k
    weight = math.exp(-tension * distance)
    return weight * powers, weight * (distance * powers + step * risen)


@compiled
def mean_distances(explained: Counts, explaining: Counts, tension: float) -> Floats:
    """(shapes,) the expected |i/m - j/n| of the diagonal alone, summed over the explained words of one pair."""
    result = np.zeros(len(explained), np.float64)
    for shape in range(len(explained)):
        words = explained[shape]
        candidates = explaining[shape]
        step = 1.0 / candidates
        for number in range(1, words + 1):
            below = number * candidates // words  # candidates before the diagonal
            position = number / words
            size = 0.0
            weighted = 0.0
            if below:
                size, weighted = _one_side(position - below * step, step, tension, below)
            if below < candidates:
                above = _one_side(
                    (below + 1) * step - position, step, tension, candidates - below
                )
                size += above[0]
                weighted += above[1]
            result[shape] += weighted / size
    return result


# ---- Viterbi alignments ----


class Decisions(NamedTuple):
    """Results for the words of a text, (source words,) or (target words,).

    partners: positions in the other sentence, NULL if the null word is as good. sums: of all weights of a word, the
    null word's included.
    """

    source_partners: Types
    target_partners: Types
    source_sums: Floats
    target_sums: Floats

    @classmethod
    def empty(cls, source_words: int, target_words: int) -> Decisions:
        """Return arrays to fill in."""
        partners = (np.empty(source_words, np.int32), np.empty(target_words, np.int32))
        return cls(*partners, np.empty(source_words), np.empty(target_words))


@compiled
def decide(
    rows: Rows, first: int, last: int, model: DiagonalModel, decisions: Decisions
) -> None:
    """Find the best partner of every word of the pairs first to last."""
    curves, cells, sums = _buffers(rows, first, last)
    odds = model.odds[0]
    for row in range(first, last):
        source_words = slice(rows.source_offsets[row], rows.source_offsets[row + 1])
        target_words = slice(rows.target_offsets[row], rows.target_offsets[row + 1])
        source = rows.source[source_words]
        target = rows.target[target_words]
        m = len(source)
        n = len(target)
        fill_curves(curves, m, n, model.tensions)
        _look_up(source, target, model, cells)
        _weigh(m, n, model, curves, cells, sums)
        _add_null(source, odds, model.source_null, sums.source_weights, sums.source_sizes)
        _add_null(target, odds, model.target_null, sums.target_weights, sums.target_sizes)
        backward = cells.backward[: m * n].reshape(m, n)
        forward = cells.forward[: m * n].reshape(m, n)
        _choose(backward, sums.source_sizes, decisions.source_partners[source_words])
        _choose(forward.T, sums.target_sizes, decisions.target_partners[target_words])
        # a slice that is assigned to a slice compiles for seconds
        for i in range(m):
            decisions.source_sums[source_words.start + i] = sums.source_weights[i]
        for j in range(n):
            decisions.target_sums[target_words.start + j] = sums.target_weights[j]


@inner
def _add_null(words: Types, odds: float, theta: Thetas, weights: Floats, sizes: Floats) -> None:
    """Replace each size by the weight of the null word, and add it to the sum of weights."""
    for word in range(len(words)):
        probability = theta[words[word]] if words[word] >= 0 else UNSEEN
        sizes[word] = odds * sizes[word] * probability
        weights[word] += sizes[word]


@inner
def _choose(weights: Floats, null_weights: Floats, partners: Types) -> None:
    """Find the first of the best partners of each word, a row of weights; NULL if the null word is as good."""
    for word in range(len(partners)):
        best = null_weights[word]
        partners[word] = NULL
        for partner in range(weights.shape[1]):
            weight = weights[word, partner]
            if weight > best:
                best = weight
                partners[word] = partner


@inner
def _thetas(model: DiagonalModel, source: int, target: int) -> tuple[float, float]:
    """Return the probabilities of a pair of types, forward and backward."""
    if source < 0 or target < 0:
        return UNSEEN, UNSEEN
    slot = place_in_row(model.starts, model.targets, source, target)
    if model.targets[slot] == EMPTY:
        return UNSEEN, UNSEEN
    return float(model.forward[slot]), float(model.backward[slot])


@compiled
def confidence(
    rows: Rows, first: int, last: int, model: DiagonalModel, decisions: Decisions, links: Types, offsets: Counts,
    out: Thetas,
) -> None:  # fmt: skip
    """Fill in the geometric mean of the forward and backward posterior of each link."""
    for row in range(first, last):
        source_start = rows.source_offsets[row]
        target_start = rows.target_offsets[row]
        m = rows.source_offsets[row + 1] - source_start
        n = rows.target_offsets[row + 1] - target_start
        for link in range(offsets[row], offsets[row + 1]):
            i = links[link, 0]
            j = links[link, 1]
            source_word = source_start + i
            target_word = target_start + j
            thetas = _thetas(model, rows.source[source_word], rows.target[target_word])
            distance = abs((i + 1) / m - (j + 1) / n)
            forward_near = math.exp(-model.tensions[0] * distance)
            backward_near = math.exp(-model.tensions[1] * distance)
            forward = thetas[0] * (forward_near / decisions.target_sums[target_word])
            backward = thetas[1] * (backward_near / decisions.source_sums[source_word])
            mean = math.sqrt(forward) * math.sqrt(backward)
            out[link] = max(min(mean, 1.0), 1e-30)
