"""Numba kernels of code-switching, compiled when first used: candidate spans, random choice, assembly of sentences.

Legend: n rows; P phrase pairs and C candidates of all rows. A side is 0 for source, 1 for target, -1 for a row that
is not switched. A candidate is (start, stop, place): a span of the matrix sentence, and the index of its counterpart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.int32]
    Numbers = NDArray[np.int64]


@njit(cache=True, nogil=True)
def best_spans(
    matrix: NDArray[np.int8],
    phrases: Table,
    scores: NDArray[np.float32],
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

    Ties are broken by the probability in the other direction, then by order. A span whose counterpart is the same text
    (a name, a full stop) is omitted.

    Args:
        matrix: (n,) sides.
        phrases: (P, 4) spans.
        scores: (P, 2) probabilities.
        offsets: (n + 1,) of `phrases`.
        counts: (n, 2) words of each side.
        boundaries: whether a sentence can be cut before each word, and after its last.
        starts: (n, 2) index of each row and side in `boundaries`.
        texts: token texts of both sides; empty: phrases are not compared.
        begins: where each word and sentence end is in `texts`, arranged as `boundaries`.
        max_length: maximum words of a phrase, on both sides.
        min_score: minimum probability.

    Returns:
        Array whose first C rows are the candidates, C, and (n,) the number of candidates of each row.
    """
    found = np.zeros(len(matrix), np.int64)
    candidates = np.empty((len(phrases), 3), np.int32)
    best = np.full(max_length * _max_words(counts), -1, np.int64)  # place of the best pair by start and length
    used = 0
    for row in range(len(matrix)):
        side = matrix[row]
        if side < 0:
            continue
        for place in range(offsets[row], offsets[row + 1]):
            if scores[place, side] >= min_score and _can_exchange(
                phrases, place, counts[row], boundaries, starts[row], max_length
            ):
                start, stop = phrases[place, 2 * side], phrases[place, 2 * side + 1]
                at = start * max_length + stop - start - 1
                if best[at] < 0 or _better(scores, place, best[at], side):
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
    phrases: Table, place: int, counts: Numbers, boundaries: NDArray[np.bool_], starts: Numbers, max_length: int
) -> bool:
    """Return whether both spans of a phrase pair are short enough and can be cut out of their sentences."""
    for side in range(2):
        start, stop = phrases[place, 2 * side], phrases[place, 2 * side + 1]
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
        if texts[one + step] != texts[other + step]:
            return False
    return True


@njit(cache=True, nogil=True)
def _max_words(counts: Numbers) -> int:
    most = 0
    for row in range(len(counts)):
        most = max(most, counts[row, 0], counts[row, 1])
    return most


@njit(cache=True, nogil=True)
def _better(scores: NDArray[np.float32], one: int, held: int, side: int) -> bool:
    if scores[one, side] != scores[held, side]:
        return bool(scores[one, side] > scores[held, side])
    return bool(scores[one, 1 - side] > scores[held, 1 - side])


@njit(cache=True, nogil=True)
def draw_spans(
    candidates: Table, offsets: Numbers, allowed: Numbers, limit: int, uniforms: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return (C,) which candidates are taken: in random order, if they overlap no earlier one and fit the limits.

    allowed: (n,) maximum words taken in a row. limit: maximum spans taken in a row. uniforms: (C,) in [0, 1).
    """
    chosen = np.zeros(len(candidates), np.bool_)
    order = np.empty(max(len(candidates), 1), np.int64)
    taken = np.zeros(_max_stop(candidates) + 1, np.bool_)
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
            if stop - start <= words and not _any_set(taken, start, stop):
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


@njit(cache=True, nogil=True)
def _any_set(flags: NDArray[np.bool_], start: int, stop: int) -> bool:
    for at in range(start, stop):  # noqa: SIM110 - a slice or a generator would take seconds to compile
        if flags[at]:
            return True
    return False


@njit(cache=True, nogil=True)
def _max_stop(candidates: Table) -> int:
    last = 0
    for place in range(len(candidates)):
        last = max(last, candidates[place, 1])
    return last


@njit(cache=True, nogil=True)
def assemble(
    bases: NDArray[np.int8], sizes: Numbers, spans: Table, counterparts: Table, offsets: Numbers
) -> tuple[Table, Table, int, Numbers]:
    """Return the pieces of each switched sentence, in order.

    Args:
        bases: (n,) matrix side of each row.
        sizes: (n,) its words.
        spans: taken spans of all rows, in order.
        counterparts: (side, row, start, stop) of each.
        offsets: (n + 1,) of `spans`.

    Returns:
        Arrays whose first rows are (side, row, start, stop) of the pieces and the matrix spans that they replace, the
        number of pieces, and (n,) the number of each row.
    """
    capacity = 2 * len(spans) + len(bases)
    pieces, places = np.empty((capacity, 4), np.int32), np.empty((capacity, 2), np.int32)
    found = np.zeros(len(bases), np.int64)
    used = 0
    for row in range(len(bases)):
        before, at = used, 0
        for number in range(offsets[row], offsets[row + 1]):
            start, stop = spans[number, 0], spans[number, 1]
            if start > at:
                _put_piece(pieces, places, used, bases[row], row, at, start)
                used += 1
            for column in range(4):
                pieces[used, column] = counterparts[number, column]
            places[used, 0], places[used, 1] = start, stop
            used += 1
            at = stop
        if sizes[row] > at:
            _put_piece(pieces, places, used, bases[row], row, at, sizes[row])
            used += 1
        found[row] = used - before
    return pieces, places, used, found


@njit(cache=True, nogil=True)
def _put_piece(pieces: Table, places: Table, used: int, side: int, row: int, start: int, stop: int) -> None:
    pieces[used, 0], pieces[used, 1], pieces[used, 2], pieces[used, 3] = side, row, start, stop
    places[used, 0], places[used, 1] = start, stop
