"""Compiled loops of the Gibbs sampler: one sweep over all links of a text in one direction.

Inside, arrays are passed one by one: taking one out of a bundle counts a reference, which costs more than a cell.

Legend: in one direction each of the J words of one side of a pair (`to`) draws one of the I words of the other (`by`)
or none. A cell is a word `j` with a candidate `i`; the cells of a pair lie row by row, `cells[first + j * I + i]`
holding the number of the pair of word types. Counts are whole numbers in units of the Dirichlet prior: one link is
`unit` of them, so a type pair without links counts 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS, JUMPS, FERTILITY = 1, 2, 3  # what weighs a candidate: its translation; also its place; also how much it has
NONE = -1


class Words(NamedTuple):
    """A text in one direction: types of both sides with the offsets of rows, and the numbers of type pairs by cell.

    twins: by word of `by`, the place of the next word of its type in the pair, of the first after the last.
    """

    by: NDArray[np.int32]
    by_starts: NDArray[np.int64]
    to: NDArray[np.int32]
    to_starts: NDArray[np.int64]
    cells: NDArray[np.uint32]
    cell_starts: NDArray[np.int64]
    twins: NDArray[np.int32]


class Counts(NamedTuple):
    """What is linked now: by type pair, by type of `by`, by type of `to` without a partner, and all of these."""

    pairs: NDArray[np.int32 | np.int64]
    words: NDArray[np.int64]
    alone: NDArray[np.int64]
    all_alone: NDArray[np.int64]
    unit: int


class Tables(NamedTuple):
    """Probabilities that stay for a sweep.

    ahead[middle + d]: of a jump by d places. back: the same read backwards. fertility[type, n]: how much likelier n + 1
    links are than n. null: odds of no partner. model: what weighs a candidate.
    """

    ahead: NDArray[np.float32]
    back: NDArray[np.float32]
    middle: int
    fertility: NDArray[np.float32]
    null: float
    model: int


class Found(NamedTuple):
    """What a sweep counts: jumps by width, types by number of links, and (if `keep`) posteriors summed by cell."""

    jumps: NDArray[np.int64]
    fertility: NDArray[np.int32]
    posterior: NDArray[np.float32]
    keep: bool


@njit(cache=True, nogil=True, error_model="numpy")
def _score(words: Any, fertility: Any, kind: int, links: int, model: int) -> np.float32:
    """What speaks for a candidate whichever word asks: 1 / its count, times how likely one more link is."""
    score = np.float32(1) / np.float32(words[kind])
    if model == FERTILITY:
        score *= fertility[kind, min(links, fertility.shape[1] - 1)]
    return score


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _weigh_words(weight: Any, score: Any, pairs: Any, cells: Any, first: int, many: int) -> np.float32:
    """Weights of all candidates by translation alone; their sum. Unsigned places let the compiler drop its checks."""
    total = np.float32(0)
    start = np.uint64(first)
    for i in range(np.uint64(many)):
        now = np.float32(pairs[cells[start + i]]) * score[i]
        weight[i] = now
        total += now
    return total


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _weigh_places(
    weight: Any, score: Any, pairs: Any, cells: Any, ahead: Any, back: Any, first: int, many: int,
    jumps: tuple[int, int],
) -> np.float32:  # fmt: skip
    """Weights of all candidates by translation and by the jumps to and from them; their sum.

    jumps: where the jumps to and from the first candidate stand in their tables.
    """
    total = np.float32(0)
    start, to, away = np.uint64(first), np.uint64(jumps[0]), np.uint64(jumps[1])
    for i in range(np.uint64(many)):
        now = np.float32(pairs[cells[start + i]]) * score[i] * ahead[to + i] * back[away + i]
        weight[i] = now
        total += now
    return total


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _keep(weight: Any, posterior: Any, first: int, many: int, share: np.float32) -> None:
    """Add the probabilities of all candidates to their cells."""
    start = np.uint64(first)
    for i in range(np.uint64(many)):
        posterior[start + i] += weight[i] * share


@njit(cache=True, nogil=True)
def next_random(state: np.uint64) -> np.uint64:
    """The state of a xorshift generator after one draw (Marsaglia 2003)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@njit(cache=True, nogil=True)
def below_one(state: np.uint64) -> np.float32:
    """A number in [0, 1) from the upper bits of a state."""
    return np.float32(state >> np.uint64(40)) * np.float32(1.0 / 16777216.0)


@njit(cache=True, nogil=True)
def draw(weight: Any, many: int, total: np.float32, point: np.float32) -> int:
    """The candidate at a point of the stacked weights, NONE beyond their sum."""
    if point >= total:
        return NONE
    i, reached = 0, weight[0]
    while reached <= point and i < many - 1:
        i += 1
        reached += weight[i]
    return i


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep_pair(
    by: Any, to: Any, cells: Any, twins: Any, chosen: Any, pairs: Any, words: Any, alone: Any, all_alone: Any,
    unit: int, ahead: Any, back: Any, fertility: Any, jumps: Any, posterior: Any, weight: Any, score: Any, links: Any,
    following: Any, place: tuple[int, int, int, int, int], odds: np.float32, model: int, keep: bool, state: np.uint64,
) -> np.uint64:  # fmt: skip
    """Draw every word of a pair anew.

    place: its first word of `by`, how many there are, its first word of `to`, their end, and its first cell.
    """
    first, many, begin, end, cell = place
    middle, before, types = len(ahead) // 2, -1, np.float32(len(alone))
    for word in range(begin, end):
        old, other, after = chosen[word], to[word], following[word - begin]
        if old == NONE:
            alone[other] -= unit
            all_alone[0] -= unit
        else:
            kind = by[first + old]
            pairs[cells[cell + old]] -= unit
            words[kind] -= unit
            links[old] -= 1
            score[old], twin = _score(words, fertility, kind, links[old], model), twins[first + old]
            while twin != old:
                score[twin], twin = _score(words, fertility, kind, links[twin], model), twins[first + twin]
        none = odds * np.float32(alone[other] + 1) / (np.float32(all_alone[0]) + types)
        if model == WORDS:
            total = _weigh_words(weight, score, pairs, cells, cell, many)
            none *= np.float32(many)
        else:
            places = (middle - before, middle - after)
            total = _weigh_places(weight, score, pairs, cells, ahead, back, cell, many, places)
            none *= ahead[middle + after - before]
        full = total + none
        if keep:
            _keep(weight, posterior, cell, many, np.float32(1) / full)
        state = next_random(state)
        new = draw(weight, many, total, below_one(state) * full)
        chosen[word] = new
        if new == NONE:
            alone[other] += unit
            all_alone[0] += unit
        else:
            kind = by[first + new]
            pairs[cells[cell + new]] += unit
            words[kind] += unit
            links[new] += 1
            score[new], twin = _score(words, fertility, kind, links[new], model), twins[first + new]
            while twin != new:
                score[twin], twin = _score(words, fertility, kind, links[twin], model), twins[first + twin]
            jumps[middle + new - before] += 1
            before = new
        cell += many
    jumps[middle + many - before] += 1
    return state


@njit(cache=True, nogil=True)
def followers(chosen: Any, links: Any, following: Any, begin: int, end: int, many: int) -> None:
    """What the next linked word after each word has (`many` after the last), and how often each candidate is linked."""
    links[:many] = 0
    after = many
    for word in range(end - 1, begin - 1, -1):
        following[word - begin] = after
        if chosen[word] != NONE:
            after = chosen[word]
            links[after] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(text: Any, chosen: Any, counts: Any, tables: Any, found: Any, state: np.uint64) -> np.uint64:
    """Draw the partner of every word once, given all others; returns the generator's state.

    chosen: by word of `to`, its partner's place in the pair or NONE; changed in place, as are counts and found.
    """
    by, by_starts, to, to_starts, cells, cell_starts, twins = text
    pairs, words, alone, all_alone, unit = counts
    ahead, back, middle, fertility, null, model = tables
    jumps, fertilities, posterior, keep = found
    odds, most = np.float32(null), fertilities.shape[1] - 1
    weight, score = np.empty(middle, np.float32), np.empty(middle, np.float32)
    links, following = np.empty(middle, np.int32), np.empty(middle, np.int32)
    for row in range(len(by_starts) - 1):
        first, many = by_starts[row], by_starts[row + 1] - by_starts[row]
        begin, end = to_starts[row], to_starts[row + 1]
        if many == 0 or begin == end:
            continue
        followers(chosen, links, following, begin, end, many)
        for i in range(many):
            score[i] = _score(words, fertility, by[first + i], links[i], model)
        state = _sweep_pair(
            by, to, cells, twins, chosen, pairs, words, alone, all_alone, unit,
            ahead, back, fertility, jumps, posterior, weight, score, links,
            following, (first, many, begin, end, cell_starts[row]), odds, model, keep, state,
        )  # fmt: skip
        for i in range(many):
            fertilities[by[first + i], min(links[i], most)] += 1
    return state
