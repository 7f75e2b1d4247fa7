"""Answers that stand in a line: where their words went."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged
    from interlace.text import Text

NOWHERE = (-1, -1)
APART = "answers whose words stand apart now, which have no place any more"

Span = tuple[int, int]


def moved_answers(text: Text, words: Ragged, to: NDArray[np.int64]) -> tuple[list[Span] | None, dict[str, int]]:
    """Where the answer of each line stands now; and how many lost their place.

    words: spans in the derived lines. to: (W,) the place in its derived line that each word went to.
    """
    if text.answers is None:
        return None, {}
    offsets = (text.words.offsets - text.words.offsets[0]).tolist()
    answers = []
    for line, answer in enumerate(text.answers):
        own = slice(offsets[line], offsets[line + 1])
        answers.append(moved_span(answer, text.words[line], words[line], to[own]))
    lost = sum(old != NOWHERE and new == NOWHERE for old, new in zip(text.answers, answers, strict=True))
    return answers, {APART: lost}


def moved_span(answer: Span, old: NDArray[np.int32], new: NDArray[np.int32], to: NDArray[np.int64]) -> Span:
    """A span of characters in one line after its words moved; nowhere if they stand apart, or there was no word in it.

    An answer that begins or ends within a word still does where words kept their order and that word its length, or
    where it lies in one word; else it gets the whole of it.

    old, new: spans of the line's words before, and of the derived line's words. to: the place each word went to.
    """
    start, end = answer
    touched = np.flatnonzero((old[:, 1] > start) & (old[:, 0] < end)) if answer != NOWHERE else np.zeros(0, np.int64)
    if not len(touched):
        return NOWHERE
    places = to[touched]
    if places.max() - places.min() >= len(touched):
        return NOWHERE
    first, last = new[places.min()], new[places.max()]
    begin, stop = int(first[0]), int(last[1])
    if (np.diff(places) > 0).all():
        before, after = start - int(old[touched[0]][0]), int(old[touched[-1]][1]) - end
        begin += before if before > 0 and _as_long(old[touched[0]], first) else 0
        stop -= after if after > 0 and _as_long(old[touched[-1]], last) else 0
    return begin, stop


def _as_long(one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    return bool(one[1] - one[0] == other[1] - other[0])
