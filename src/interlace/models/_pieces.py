"""Lines that are longer than a model reads, in pieces that it does.

A piece ends where a sentence does, else at another mark, else at a blank, else between two characters: the best of
these that comes late enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.text.scripts import UNSPACED, scripts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

_SENTENCE = frozenset(".!?…。．！？｡।॥؟۔։።")
_PART = frozenset(",;:،؛、，；：—–")
_CLOSING = frozenset("\"'”“’‘»«)]}」』）】〉》")
_LATE = 3  # a mark counts in the last two thirds of a piece


def pieces(line: str, starts: NDArray[np.int64], most: int) -> list[str]:
    """The line cut into pieces of at most `most` subwords, blanks at their ends left out; none is empty.

    Args:
        line: the line.
        starts: (n,) the character with which each of its subwords begins.
        most: subwords of a piece.
    """
    places: list[int] = starts.tolist()
    cuts, begin = [0], 0
    while len(places) - begin > most:
        end = _cut(line, places, begin, begin + most)
        cuts.append(places[end])
        begin = end
    cut = [line[start:stop].strip() for start, stop in zip(cuts, [*cuts[1:], len(line)], strict=True)]
    return [piece for piece in cut if piece]


def joined(translations: list[str], language: str) -> str:
    """The translations of a line's pieces as one line of this language."""
    scripts = scripts_of(language)
    return ("" if scripts and scripts <= UNSPACED else " ").join(translations)


def _cut(line: str, starts: list[int], begin: int, end: int) -> int:
    """The subword with which the next piece begins, behind `begin` and not behind `end`."""
    late = begin + max(1, (end - begin) // _LATE)
    places = [place for place in range(end, begin, -1) if starts[place] > starts[place - 1]]
    for at_mark in (_SENTENCE, _PART, None):
        for place in places:
            if place >= late and _is_good(line, starts[begin], starts[place], at_mark):
                return place
    return places[0] if places else end


def _is_good(line: str, first: int, start: int, marks: frozenset[str] | None) -> bool:
    """Whether a piece from character `first` may end before `start`: behind one of these marks; none: at a blank.

    Only the piece is looked at, and of it blanks and closing marks from the end: a line may be a whole document.
    """
    last = _before(line, first, start, str.isspace)
    spaced = last < start or line[start : start + 1].isspace()
    if marks is None:
        return spaced
    last = _before(line, first, last, _CLOSING.__contains__)
    return last > first and line[last - 1] in marks and (spaced or not line[last - 1].isascii())


def _before(line: str, first: int, stop: int, is_left_out: Callable[[str], bool]) -> int:
    """Where the characters of `line[first:stop]` end that are not left out at its end."""
    while stop > first and is_left_out(line[stop - 1]):
        stop -= 1
    return stop
