"""Sentences within lines: the runs of words that are reordered, and the pieces that move as one.

In Tang et al. (2022) the period ends a sentence (appendix F); their code takes `.`, `!` and `?` and leaves the mark in
place. Both are settings, and so is a line as one sentence, as in their code for tagging and for NLI, which looks at the
last token alone.

They split at blanks, so that `3.5`, `U.S.` and WikiText's `@.@` are words. Other word tokenizers make words of the
marks inside; such marks end no sentence here, and what they join moves as one piece.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from pydantic import Field

from interlace.core.ragged import Ragged
from interlace.derived.common.characters import traits
from interlace.derived.common.layout import TextLayout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text

Split = Literal["marks", "period", "line"]
SPLIT: Split = Field(
    "marks",
    description="What ends a sentence: sentence-final marks (. ! ? and those of other scripts), a period alone (Tang "
    "et al. 2022, appendix F), or the line. A mark counts if it is a word of its own, touches nothing after it but "
    "closing marks or a script without blanks, and does not end an abbreviation with periods inside.",
)
KEEP: bool = Field(
    True,
    description="Whether sentence-final marks, with quotes and brackets closed right after them, stay at the end of "
    "their sentence (code of Tang et al. 2022).",
)


class SentenceRuns(NamedTuple):
    """Runs of words to reorder, each inside one line.

    starts, ends: the first word of each run and the one after its last, over all lines; none is empty.
    joined: (W,) whether a word moves as one piece with the next word.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    joined: NDArray[np.bool_]

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """(W,) the words in no run, which keep their place."""
        steps = np.zeros(len(self.joined) + 1, np.int8)
        steps[self.starts] += 1
        steps[self.ends] -= 1
        stay: NDArray[np.bool_] = np.cumsum(steps[:-1]) == 0
        return stay


def find_sentences(layout: TextLayout, split: Split, *, keep: bool) -> SentenceRuns:
    """Return the sentences of all lines.

    keep: leave sentence-final marks out of them.
    """
    from interlace.derived.common.kernels import find_ends

    ends = np.zeros(len(layout.starts), np.bool_)  # sentence-final marks and closing marks after them
    cuts, joined = ends.copy(), ends.copy()
    find_ends(layout.codes, layout.starts, layout.ends, traits(layout.codes), split == "period", ends, cuts, joined)
    if split == "line":
        cuts[:] = False
        ends = _line_final(ends, layout.offsets) if keep else ends
    bounds = np.unique(np.concatenate([layout.offsets[:-1], np.flatnonzero(cuts) + 1, layout.offsets[-1:]]))
    starts, stops = bounds[:-1], bounds[1:].copy()
    if keep and len(stops):
        trailing = np.concatenate([[0], np.cumsum(ends)])
        stops -= trailing[stops] - trailing[starts]
    full = stops > starts
    return SentenceRuns(starts[full], stops[full], joined)


def with_joined_words(text: Text) -> Text:
    """Return the text with words such as `3.50` and `U.S.` as one word each, whichever word tokenizer split them.

    Then words can be separated by blanks without a mark inside ending a sentence. Text with tags keeps its words.
    """
    if text.tags:
        return text
    layout = TextLayout(text)
    joined = find_sentences(layout, "marks", keep=True).joined
    first = ~np.append(False, joined)[:-1]
    spans = np.stack([text.words.flat[first, 0], text.words.flat[~joined, 1]], axis=1)
    return replace(text, words=Ragged.from_lengths(spans, np.bincount(layout.rows[first], minlength=len(text))))


def _line_final(ends: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(W,) the marks at the end of their line, followed only by marks."""
    if not len(ends):
        return ends
    last = np.maximum.accumulate(np.where(~ends, np.arange(len(ends)), -1))
    behind = np.repeat(offsets[1:], np.diff(offsets))
    return ends & (last[behind - 1] < np.arange(len(ends)))
