"""Compiled loops over the words of sentences: where sentences end, and their pieces put in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from interlace.derived._borders import CLOSER, LETTER, LOOSE, MARK, TIGHT
from interlace.derived._keys_kernels import STEP, mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PERIOD = ord(".")
_ENDS, _INSIDE = 1, 2  # a mark, or what closes behind it: at the end of a sentence, or inside something


@njit(cache=True, nogil=True)
def find_ends(
    codes: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    traits: NDArray[np.uint8],
    periods: bool,
    stops: NDArray[np.bool_],
    cuts: NDArray[np.bool_],
    joined: NDArray[np.bool_],
) -> None:
    """Fill `stops`, `cuts` and `joined`, all (W,) and False before.

    A mark is inside something if it touches what is behind it, unless that is at an end itself, or of a script without
    blanks. So what a mark is hangs on words that move with it alone, and is found again when their order is changed.

    traits: bits of each character (`_borders`). periods: whether a period is the only mark.
    stops: marks that end a sentence and what closes behind them. cuts: the last of each such run.
    joined: whether a word is one piece with the word behind it.
    """
    kinds = np.zeros(len(starts), np.uint8)  # MARK, CLOSER
    states = np.zeros(len(starts), np.uint8)
    _look(codes, starts, ends, traits, periods, kinds, states)
    inside = False  # a mark that is inside something, or what closes right behind one
    for word in range(len(starts)):
        touches = word > 0 and starts[word] == ends[word - 1]
        mark, at_end = kinds[word] & MARK > 0, states[word] == _ENDS
        if mark and at_end and _abbreviates(codes, starts, ends, traits, joined, word):
            joined[word - 1] = True
            inside = False
            continue
        if touches and (inside or (mark and not at_end and not stops[word - 1])):
            joined[word - 1] = True
        inside = states[word] == _INSIDE and (mark or (inside and touches))
        closes = kinds[word] & CLOSER > 0 and touches and stops[word - 1]
        if at_end and (mark or closes):
            stops[word] = cuts[word] = True
            if closes:
                cuts[word - 1] = False


@njit(cache=True, nogil=True)
def _look(
    codes: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    traits: NDArray[np.uint8],
    periods: bool,
    kinds: NDArray[np.uint8],
    states: NDArray[np.uint8],
) -> None:
    """Fill `kinds` and `states` of words made of marks or of what closes; others stay 0."""
    count = len(starts)
    for word in range(count - 1, -1, -1):
        kind = traits[codes[starts[word]]] & (MARK | CLOSER | LOOSE)
        if kind == 0:
            continue
        only_periods = codes[starts[word]] == _PERIOD
        for place in range(starts[word] + 1, ends[word]):
            kind &= traits[codes[place]]
            only_periods &= codes[place] == _PERIOD
        if periods and not only_periods:
            kind &= CLOSER
        if kind & (MARK | CLOSER) == 0:
            continue
        kinds[word] = kind
        free = word + 1 == count or starts[word + 1] > ends[word] or (kind & MARK and not kind & LOOSE)
        at_end = free or states[word + 1] == _ENDS or traits[codes[starts[word + 1]]] & TIGHT
        states[word] = _ENDS if at_end else _INSIDE


@njit(cache=True, nogil=True)
def _abbreviates(
    codes: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    traits: NDArray[np.uint8],
    joined: NDArray[np.bool_],
    word: int,
) -> bool:
    """Whether a mark is the last period of something like `U.S.`: it touches one letter behind a period inside."""
    if word < 2 or ends[word] - starts[word] > 1 or codes[starts[word]] != _PERIOD:
        return False
    letter, other = word - 1, word - 2
    return bool(
        starts[word] == ends[letter]
        and ends[letter] - starts[letter] == 1
        and traits[codes[starts[letter]]] & LETTER > 0
        and joined[other]
        and ends[other] - starts[other] == 1
        and codes[starts[other]] == _PERIOD
    )


@njit(cache=True, nogil=True)
def reverse(
    starts: NDArray[np.int64], ends: NDArray[np.int64], joined: NDArray[np.bool_], order: NDArray[np.int64]
) -> None:
    """Put the last piece of each run first; `order` (W,) is filled within the runs."""
    for run in range(len(starts)):
        at, last = starts[run], ends[run]
        while last > starts[run]:
            first = last - 1
            while first > starts[run] and joined[first - 1]:
                first -= 1
            for word in range(first, last):
                order[at] = word
                at += 1
            last = first


@njit(cache=True, nogil=True)
def shuffle(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    joined: NDArray[np.bool_],
    hashes: NDArray[np.uint64],
    back: bool,
    order: NDArray[np.int64],
) -> None:
    """Put the pieces of each run into an order that hangs on which words they have, not on how they stand.

    The sum of the words' bits is the same in any order, so the run can be put back by the same draws.

    hashes: (W,) bits of each word. order: (W,) the word at each place; filled within the runs.
    """
    for run in range(len(starts)):
        start, length = starts[run], ends[run] - starts[run]
        state = np.uint64(0)
        firsts = np.empty(length + 1, np.int64)
        count = 0
        for word in range(start, start + length):
            state += hashes[word]
            if word == start or not joined[word - 1]:
                firsts[count] = word
                count += 1
        firsts[count] = start + length
        state += np.uint64(count)
        drawn = np.arange(count)
        for place in range(count - 1, 0, -1):  # Fisher and Yates
            state += STEP
            other = np.int64(mixed(state) % np.uint64(place + 1))
            drawn[place], drawn[other] = drawn[other], drawn[place]
        if back:
            turned = np.empty(count, np.int64)
            for place in range(count):
                turned[drawn[place]] = place
            drawn = turned
        at = start
        for place in range(count):
            for word in range(firsts[drawn[place]], firsts[drawn[place] + 1]):
                order[at] = word
                at += 1
