"""Sentences within lines: which runs of words change their order among themselves, and what moves as one piece.

Tang et al. (2022) say that the period ends a sentence (appendix F); their code takes `.`, `!` and `?` and leaves the
mark where it is. Both readings are settings, and so is a line as one sentence: their code has it for a tagged sentence
(POS) and for a side of NLI, where it looks at the last token alone.

They split at blanks, so that `3.5`, `U.S.` and WikiText's `@.@` are words. Other word tokenizers make words of the marks in
them; such marks end nothing here, and what they stand between stays one piece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from pydantic import Field

from interlace.derived._borders import traits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.derived._layout import Layout

Split = Literal["marks", "period", "line"]
SPLIT: Split = Field(
    "marks",
    description="What ends a sentence: a word of end marks (. ! ? and those of other scripts), a period alone (Tang et "
    "al. 2022, appendix F), or the line. A mark counts where it is a word of its own that touches nothing behind it "
    "but closing marks or a script without blanks, and does not end an abbreviation with periods inside.",
)
KEEP: bool = Field(
    True,
    description="Whether end marks, with quotes and brackets closed right behind them, stay at the end of their "
    "sentence (code of Tang et al. 2022).",
)


class Sentences(NamedTuple):
    """Runs of words that change their order, all inside one line.

    starts, ends: the first word of each run and the one behind its last, over all lines; none is empty.
    joined: (W,) whether a word moves as one piece with the word behind it.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    joined: NDArray[np.bool_]

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """(W,) the words in no run, which stay where they are."""
        steps = np.zeros(len(self.joined) + 1, np.int8)  # no two runs begin, or end, at one word
        steps[self.starts] += 1
        steps[self.ends] -= 1
        stay: NDArray[np.bool_] = np.cumsum(steps[:-1]) == 0
        return stay


def sentences(layout: Layout, split: Split, *, keep: bool) -> Sentences:
    """The sentences of all lines.

    keep: leave the marks that end a sentence out of it.
    """
    from interlace.derived._sentences_kernels import find_ends

    ends = np.zeros(len(layout.starts), np.bool_)  # words that end a sentence or close behind such a word
    cuts, joined = ends.copy(), ends.copy()
    find_ends(layout.codes, layout.starts, layout.ends, traits(layout.codes), split == "period", ends, cuts, joined)
    if split == "line":
        cuts[:] = False
        ends = _last(ends, layout.offsets) if keep else ends
    bounds = np.unique(np.concatenate([layout.offsets[:-1], np.flatnonzero(cuts) + 1, layout.offsets[-1:]]))
    starts, stops = bounds[:-1], bounds[1:].copy()
    if keep and len(stops):
        trailing = np.concatenate([[0], np.cumsum(ends)])
        stops -= trailing[stops] - trailing[starts]
    full = stops > starts
    return Sentences(starts[full], stops[full], joined)


def _last(ends: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(W,) the marks that stand at the end of their line, with nothing but marks behind them."""
    if not len(ends):
        return ends
    last = np.maximum.accumulate(np.where(~ends, np.arange(len(ends)), -1))
    behind = np.repeat(offsets[1:], np.diff(offsets))
    return ends & (last[behind - 1] < np.arange(len(ends)))
