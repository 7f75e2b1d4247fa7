"""Sentences within lines: the runs of words that are reordered, and the pieces that move as one.

In Tang et al. (2022) the period ends a sentence (appendix F); their code takes `.`, `!` and `?` and leaves the mark in
place. Both are settings, and so is a line as one sentence, as in their code for tagging and for NLI, which looks at the
last token alone.

They split at blanks, so that `3.5`, `U.S.` and WikiText's `@.@` are words. Other word tokenizers make words of the
marks inside; such marks end no sentence here, and what they join moves as one piece.
"""

from abc import abstractmethod
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from interlace.derived import DerivedText, Transformation
from interlace.derived.common.arrays import Flags, Ints
from interlace.derived.common.characters import TRAITS
from interlace.derived.common.layout import WordSpans, reorder
from interlace.text import Text

Split = Literal["marks", "period", "line"]


class SentenceRuns(NamedTuple):
    """Runs of words to reorder, each inside one line.

    starts, ends: the first word of each run and the one after its last, over all lines; none is empty.
    joined: (W,) whether a word moves as one piece with the next word.
    """

    starts: Ints
    ends: Ints
    joined: Flags


class SentenceOrder(Transformation):
    """Puts the words of each sentence in another order."""

    sentence_split: Split = Field(
        "marks",
        description="What ends a sentence: sentence-final marks (. ! ? and those of other scripts), a period alone "
        "(Tang et al. 2022, appendix F), or the line. A mark counts if it is a word of its own, touches nothing after "
        "it but closing marks or a script without blanks, and does not end an abbreviation with periods inside.",
    )
    keep_final_punct: bool = Field(
        True,
        description="Whether sentence-final marks, with quotes and brackets closed right after them, stay at the end "
        "of their sentence (code of Tang et al. 2022).",
    )

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines; a name whose words are no longer adjacent is split, and counted."""
        words = WordSpans.of(text)
        order = np.arange(len(words.starts))
        runs = find_sentences(words, self.sentence_split, keep=self.keep_final_punct)
        self.fill(order, words, runs, key)
        steps = np.zeros(len(order) + 1, np.int8)
        steps[runs.starts] += 1
        steps[runs.ends] -= 1
        left_out = np.cumsum(steps[:-1]) == 0
        return reorder(text, words, order, left_out)

    @abstractmethod
    def fill(
        self,
        order: Ints,
        words: WordSpans,
        runs: SentenceRuns,
        key: int,
    ) -> None:
        """Fill `order` (W,), the word at each place, within the runs."""


def find_sentences(words: WordSpans, split: Split, *, keep: bool) -> SentenceRuns:
    """Return the sentences of all lines; `keep`: without sentence-final marks."""
    from interlace.derived.common.kernels import find_ends

    offsets = words.offsets
    count = len(words.starts)
    # ends: sentence-final marks and closing marks after them
    ends, cuts, joined = np.zeros((3, count), np.bool_)
    find_ends(words, TRAITS.table(words.codes), split == "period", ends, cuts, joined)
    if split == "line":
        cuts[:] = False
        if keep and count:  # marks at the end of their line, followed only by marks
            numbers = np.arange(count)
            last_word = np.maximum.accumulate(np.where(ends, -1, numbers))
            line_ends = np.repeat(offsets[1:], np.diff(offsets))  # (W,)
            ends &= last_word[line_ends - 1] < numbers
    cut_bounds = np.flatnonzero(cuts) + 1
    bounds = np.unique(np.concatenate([offsets, cut_bounds]))
    starts = bounds[:-1]
    stops = bounds[1:].copy()
    if keep and len(stops):
        trailing = np.append(0, np.cumsum(ends))
        stops -= trailing[stops] - trailing[starts]
    full = stops > starts
    return SentenceRuns(starts[full], stops[full], joined)
