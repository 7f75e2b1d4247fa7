"""The compiled loop that writes derived lines: words in a new order, or spelt anew, with what stood between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import njit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLANK, _LINE_FEED = ord(" "), ord("\n")


@njit(cache=True, nogil=True)
def write_lines(
    codes: NDArray[Any],
    lines: NDArray[np.int64],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    order: NDArray[np.int64],
    spelt: NDArray[Any],
    spelt_starts: NDArray[np.int64],
    spelt_ends: NDArray[np.int64],
    apart: NDArray[np.bool_],
    out: NDArray[Any],
    spans: NDArray[np.int32],
) -> int:
    """Fill `out` with lines, each followed by a line feed, and `spans` with where words now stand in their line.

    A word takes along what stood before it. The first of a line has nothing before it, so it changes that with the
    word that comes to stand first: what is between words stays the same on the whole. Where that is nothing, and the
    two words must not touch, they get a blank.

    codes: characters of all lines, each followed by a line feed; line i is `lines[i]` to `lines[i + 1] - 1`.
    offsets: (lines + 1,) the words of each line. starts, ends: (words,) in `codes`.
    order: (words,) which word comes to stand at each place; words stay in their line.
    spelt: characters of words; word w is now written as `spelt[spelt_starts[w]:spelt_ends[w]]`.
    apart: (words,) whether the word at a place must not touch the one before it.
    out: room for all. Returns how much of it is filled.
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
                if apart[place] and ends[gap - 1] == starts[gap]:
                    out[at] = _BLANK
                    at += 1
                for c in range(ends[gap - 1], starts[gap]):
                    out[at] = codes[c]
                    at += 1
            spans[place, 0] = at - base
            for c in range(spelt_starts[word], spelt_ends[word]):
                out[at] = spelt[c]
                at += 1
            spans[place, 1] = at - base
        for c in range(ends[last - 1] if first < last else begin, end):
            out[at] = codes[c]
            at += 1
        out[at] = _LINE_FEED
        at += 1
    return at


@njit(cache=True, nogil=True)
def change_letters(
    codes: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64], table: NDArray[np.uint32]
) -> None:
    """Exchange the letters of words in place; `table` (0x110000,) says for what."""
    for word in range(len(starts)):
        for place in range(starts[word], ends[word]):
            codes[place] = table[codes[place]]
