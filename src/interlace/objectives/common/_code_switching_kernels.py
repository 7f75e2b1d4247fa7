"""Numba kernels of code-switching, compiled when first used: candidate spans and their random choice.

Legend: n rows; P phrase pairs and C candidates of all rows. A side is 0 for source, 1 for target, -1 for a row that
is not switched. A candidate is (start, stop, place): a span of the matrix sentence, and the index of its counterpart.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Table = NDArray[np.int32]
Numbers = NDArray[np.int64]


@njit(cache=True, nogil=True)
def best_spans(
    matrix: NDArray[np.int8],
    phrases: Table,
    scores: NDArray[np.float32],
    weights: NDArray[np.float32],
    offsets: Numbers,
    counts: Numbers,
    boundaries: NDArray[np.bool_],
    starts: Numbers,
    texts: NDArray[np.int32],
    begins: Numbers,
    max_length: int,
    min_score: float,
) -> tuple[Table, int, Numbers]:
    """Return the distinct spans of each row's matrix side, sorted, with the index of their most probable counterpart.

    Ties are broken by weight, then by order. A span whose counterpart is the same text (name, full stop) is omitted.
    The result is an array whose first C rows are the candidates, C, and (n,) the number of candidates of each row.

    matrix: (n,) sides. phrases: (P, 4) spans. scores: (P, 2) probabilities. weights: (P, 2), by direction as `scores`.
    offsets: (n + 1,) of `phrases`. counts: (n, 2) words of each side.
    boundaries: whether a sentence can be cut before each word, and after its last.
    starts: (n, 2) index of each row and side in `boundaries`.
    texts: text of both sides as numbers; empty: phrases are not compared.
    begins: where each word and sentence end is in `texts`, arranged as `boundaries`.
    max_length: maximum words of a phrase, on both sides. min_score: minimum probability.
    """
    found = np.zeros(len(matrix), np.int64)
    candidates = np.empty((len(phrases), 3), np.int32)
    words = counts.max() if len(counts) else 0
    best = np.full(max_length * words, -1, np.int64)  # place of the best pair by start and length
    used = 0
    for row in range(len(matrix)):
        side = matrix[row]
        if side < 0:
            continue
        for place in range(offsets[row], offsets[row + 1]):
            if scores[place, side] < min_score:
                continue
            if not _can_exchange(phrases[place], counts[row], boundaries, starts[row], max_length):
                continue
            start, stop = phrases[place, 2 * side], phrases[place, 2 * side + 1]
            at = start * max_length + stop - start - 1
            held = best[at]
            gain = scores[place, side] - scores[held, side] if held >= 0 else 1.0
            if gain > 0 or (gain == 0 and weights[place, side] > weights[held, side]):
                best[at] = place
        before = used
        for at in range(counts[row, side] * max_length):
            if best[at] >= 0 and not (len(begins) and _same_text(phrases[best[at]], texts, begins, starts[row])):
                candidates[used, 0] = at // max_length
                candidates[used, 1] = at // max_length + at % max_length + 1
                candidates[used, 2] = best[at]
                used += 1
            best[at] = -1
        found[row] = used - before
    return candidates, used, found


@njit(cache=True, nogil=True)
def _can_exchange(
    phrase: NDArray[np.int32], counts: Numbers, boundaries: NDArray[np.bool_], starts: Numbers, max_length: int
) -> bool:
    """Return whether both spans of a phrase pair are short enough and can be cut out of their sentences."""
    for side in range(2):
        start, stop = phrase[2 * side], phrase[2 * side + 1]
        if stop > counts[side] or stop - start > max_length:
            return False
        if not (boundaries[starts[side] + start] and boundaries[starts[side] + stop]):
            return False
    return True


@njit(cache=True, nogil=True)
def _same_text(phrase: NDArray[np.int32], texts: NDArray[np.int32], begins: Numbers, starts: Numbers) -> bool:
    """Return whether both spans of a phrase pair are the same text."""
    one, end = begins[starts[0] + phrase[0]], begins[starts[0] + phrase[1]]
    other = begins[starts[1] + phrase[2]]
    if begins[starts[1] + phrase[3]] - other != end - one:
        return False
    for step in range(end - one):  # noqa: SIM110 - a generator would take seconds to compile
        if texts[one + step] < 0 or texts[one + step] != texts[other + step]:
            return False
    return True


@njit(cache=True, nogil=True)
def draw_spans(
    candidates: Table, offsets: Numbers, allowed: Numbers, limit: int, uniforms: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return (C,) which candidates are taken: in random order, if they overlap no earlier one and fit the limits.

    allowed: (n,) maximum words taken in a row. limit: maximum spans taken in a row. uniforms: (C,) in [0, 1).
    """
    chosen = np.zeros(len(candidates), np.bool_)
    order = np.empty(max(len(candidates), 1), np.int64)
    taken = np.zeros((candidates[:, 1].max() if len(candidates) else 0) + 1, np.bool_)
    for row in range(len(offsets) - 1):
        first, rest = offsets[row], offsets[row + 1] - offsets[row]
        for number in range(rest):
            order[number] = first + number
        words, spans = allowed[row], limit
        while rest > 0 and words > 0 and spans > 0:
            pick = int(uniforms[first + rest - 1] * rest)
            place = order[pick]
            rest -= 1
            order[pick] = order[rest]
            start, stop = candidates[place, 0], candidates[place, 1]
            fits = stop - start <= words
            for word in range(start, stop):
                fits = fits and not taken[word]
            if fits:
                for word in range(start, stop):
                    taken[word] = True
                chosen[place] = True
                words -= stop - start
                spans -= 1
        for place in range(first, offsets[row + 1]):
            if chosen[place]:
                for word in range(candidates[place, 0], candidates[place, 1]):
                    taken[word] = False
    return chosen
