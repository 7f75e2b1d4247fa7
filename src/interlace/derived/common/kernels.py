"""Compiled loops (numba) over characters and words: hashes, sentence boundaries, orders, and the derived lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from interlace.derived.common.characters import CLOSER, LETTER, LOOSE, MARK, TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEP = np.uint64(0x9E3779B97F4A7C15)  # splitmix64 (Steele, Lea and Flood 2014)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def mixed(value: np.uint64) -> np.uint64:
    """Return a number whose bits all depend on all bits of another."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def hash_words(
    codes: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64], key: np.uint64, out: NDArray[np.uint64]
) -> None:
    """Fill `out` with 64 bits per word `codes[starts[w]:ends[w]]`, which depend on its letters and the key alone."""
    for word in range(len(starts)):
        value = key
        for place in range(starts[word], ends[word]):
            value = mixed((value ^ np.uint64(codes[place])) + STEP)
        out[word] = value


_BLANK, _LINE_FEED = ord(" "), ord("\n")


@njit(cache=True, nogil=True)
def write_lines(
    codes: NDArray[Any],
    lines: NDArray[np.int64],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    order: NDArray[np.int64],
    spelled: NDArray[Any],
    spelled_starts: NDArray[np.int64],
    spelled_ends: NDArray[np.int64],
    separate: NDArray[np.bool_],
    out: NDArray[Any],
    spans: NDArray[np.int32],
) -> int:
    """Fill `out` with lines, each followed by a line feed, and `spans` with the words' spans in their lines.

    The gap before a word moves with it. The first word of a line has none, so it takes that of the word that becomes
    first: the gaps of a line stay the same as a whole. Words that must not touch get a blank instead of an empty gap.

    codes: characters of all lines, each followed by a line feed; line i is `lines[i]` to `lines[i + 1] - 1`.
    offsets: (lines + 1,) the words of each line. starts, ends: (words,) in `codes`.
    order: (words,) the word at each place; words stay in their line.
    spelled: characters of words; word w is now written as `spelled[spelled_starts[w]:spelled_ends[w]]`.
    separate: (words,) whether the word at a place must not touch the one before it.
    out: large enough for all. Returns the number of characters written.
    """
    at = 0
    for line in range(len(lines) - 1):
        first, last = offsets[line], offsets[line + 1]
        begin, end = lines[line], lines[line + 1] - 1
        base = at
        if first < last:
            for c in range(begin, starts[first]):
                out[at] = codes[c]
                at += 1
        for place in range(first, last):
            word = order[place]
            if place > first:
                gap = order[first] if word == first else word
                if separate[place] and ends[gap - 1] == starts[gap]:
                    out[at] = _BLANK
                    at += 1
                for c in range(ends[gap - 1], starts[gap]):
                    out[at] = codes[c]
                    at += 1
            spans[place, 0] = at - base
            for c in range(spelled_starts[word], spelled_ends[word]):
                out[at] = spelled[c]
                at += 1
            spans[place, 1] = at - base
        for c in range(ends[last - 1] if first < last else begin, end):
            out[at] = codes[c]
            at += 1
        out[at] = _LINE_FEED
        at += 1
    return at


@njit(cache=True, nogil=True)
def replace_letters(
    codes: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64], table: NDArray[np.uint32]
) -> None:
    """Replace the letters of words in place by those of `table` (0x110000,)."""
    for word in range(len(starts)):
        for place in range(starts[word], ends[word]):
            codes[place] = table[codes[place]]


_PERIOD = ord(".")
_ENDS, _INSIDE = 1, 2  # state of a mark or of what closes after it: sentence-final, or inside a word such as 3.5


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

    A mark is inside a word if it touches what follows, unless that is sentence-final itself, or of a script without
    blanks. This depends only on words that move with the mark, so it is recovered after reordering.

    traits: bits of each character (`characters`). periods: whether a period is the only mark.
    stops: sentence-final marks and what closes after them. cuts: the last of each such run.
    joined: whether a word is one piece with the next word.
    """
    kinds = np.zeros(len(starts), np.uint8)  # MARK, CLOSER
    states = np.zeros(len(starts), np.uint8)
    _classify(codes, starts, ends, traits, periods, kinds, states)
    inside = False  # a mark inside a word, or what closes right after one
    for word in range(len(starts)):
        touches = word > 0 and starts[word] == ends[word - 1]
        mark, at_end = kinds[word] & MARK > 0, states[word] == _ENDS
        if mark and at_end and _ends_abbreviation(codes, starts, ends, traits, joined, word):
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
def _classify(
    codes: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    traits: NDArray[np.uint8],
    periods: bool,
    kinds: NDArray[np.uint8],
    states: NDArray[np.uint8],
) -> None:
    """Fill `kinds` and `states` of words made of sentence-final or closing marks; others stay 0."""
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
def _ends_abbreviation(
    codes: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    traits: NDArray[np.uint8],
    joined: NDArray[np.bool_],
    word: int,
) -> bool:
    """Whether a mark is the last period of an abbreviation such as `U.S.`: it follows a letter and a period inside."""
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
    """Reverse the pieces of each run; `order` (W,) is filled within the runs."""
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
    """Permute the pieces of each run by an order that depends on the set of their words alone.

    The sum of the words' bits is the same in any order, so `back` can repeat the draws and restore the order.

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
            inverse = np.empty(count, np.int64)
            for place in range(count):
                inverse[drawn[place]] = place
            drawn = inverse
        at = start
        for place in range(count):
            for word in range(firsts[drawn[place]], firsts[drawn[place] + 1]):
                order[at] = word
                at += 1
