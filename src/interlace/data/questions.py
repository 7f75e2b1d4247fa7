"""Questions on passages as columns, and the windows in which a model reads them (Devlin et al. 2019, section 4.2).

A row that a model reads is a question and as much of its passage as fits. Longer passages are read in overlapping
windows; an answer is learnt where it stands in a window as a whole, and may be found in any of them.

Legend: q questions, c passages, w windows. Spans are (first, last) subwords, both inside; (-1, -1) is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Questions:
    """Questions, a row each, and the passages they ask of.

    questions: q rows. passages: c rows, each passage once.
    owners: (q,) the passage of each question.
    spans: (q, 2) int32 where in its passage the answer stands.
    characters: c rows of (start, end) characters of each subword of a passage.
    texts: the c passages. answers: q lists of texts that count as right. ids: what the file calls each question.
    """

    questions: Sentences
    passages: Sentences
    owners: NDArray[np.int64]
    spans: NDArray[np.int32]
    characters: Ragged
    texts: list[str]
    answers: list[list[str]]
    ids: list[str]

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(q,) subwords of the question and all of its passage."""
        return self.questions.lengths + self.passages.lengths[self.owners]

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Questions:
        """The named questions, copied; passages are shared."""
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64, copy=False)
        return replace(
            self,
            questions=self.questions.take(rows),
            owners=self.owners[rows],
            spans=self.spans[rows],
            answers=[self.answers[row] for row in rows.tolist()],
            ids=[self.ids[row] for row in rows.tolist()],
        )


@dataclass(frozen=True)
class Windows:
    """What a model reads of `Questions`: a question and a piece of its passage a row.

    examples: w rows, the question as the source and the piece as the target.
    spans: (w, 2) int32 where in the piece the answer stands, if all of it does.
    owners: (w,) the question of each window, ascending.
    firsts: (w,) which subword of its passage the piece begins with.
    """

    examples: Pairs
    spans: NDArray[np.int32]
    owners: NDArray[np.int64]
    firsts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(w,) subwords of both sides together."""
        return self.examples.lengths

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Windows:
        """The named windows, copied."""
        return Windows(self.examples.take(rows), self.spans[rows], self.owners[rows], self.firsts[rows])


def windows(questions: Questions, room: int, most_question: int, stride: int) -> Windows:
    """Cut passages in windows that fit beside their question; each subword stands in one window at least.

    Args:
        questions: q questions, each of which gets one window or more.
        room: subwords of question and piece together, at least 2.
        most_question: longer questions are cut behind so many subwords; never more than half of the room.
        stride: from the beginning of a window to that of the next; less where a window is shorter.
    """
    asked = np.minimum(questions.questions.lengths, min(most_question, room // 2))
    space = room - asked
    step = np.minimum(stride, space)
    whole = questions.passages.lengths[questions.owners]
    counts = 1 + np.maximum(0, -(-(whole - space) // step))
    owners = np.repeat(np.arange(len(questions)), counts)
    firsts = (np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)) * step[owners]
    lengths = np.minimum(space[owners], whole[owners] - firsts)
    pairs = Pairs(
        _pieces(questions.questions, owners, np.zeros_like(firsts), asked[owners]),
        _pieces(questions.passages, questions.owners[owners], firsts, lengths),
    )
    return Windows(pairs, _within(questions.spans[owners], firsts, lengths), owners, firsts)


def _pieces(sentences: Sentences, rows: NDArray[Any], firsts: NDArray[Any], lengths: NDArray[Any]) -> Sentences:
    """Of each named row `lengths` subwords from `firsts` on."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    index = np.repeat(sentences.ids.offsets[rows] + firsts - offsets[:-1], lengths) + np.arange(offsets[-1])
    ids, words = (Ragged(column.values[index], offsets) for column in (sentences.ids, sentences.words))
    return Sentences(ids, words, sentences.language)


def _within(spans: NDArray[np.int32], firsts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int32]:
    """The spans counted from the beginning of each piece; (-1, -1) where a piece does not hold all of one."""
    inside = (spans[:, 0] >= firsts) & (spans[:, 1] < firsts + lengths)
    return np.where(inside[:, None], spans - firsts[:, None], -1).astype(np.int32)
