"""Extractive question answering as columns, and windows of long passages (Devlin et al. 2019, section 4.2).

A model reads a question and as much of its passage as fits. Longer passages are cut into overlapping windows; an answer
is trained in windows that contain all of it, and may be predicted in any window.

Shapes: q questions, c passages, w windows. Spans are (first, last) subwords, both inclusive; (-1, -1) is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.data import Pairs, RowNumbers, Sentences


@dataclass(frozen=True)
class Questions:
    """Questions and their passages.

    questions: q rows. passages: c rows without repetitions.
    owners: (q,) the passage of each question.
    spans: (q, 2) int32, the answer's span in its passage.
    characters: c rows of (start, end) characters of each subword of a passage.
    texts: the c passages. answers: q lists of texts that count as correct. ids: the file's id of each question.
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
        """(q,) subwords of the question and its whole passage."""
        return self.questions.lengths + self.passages.lengths[self.owners]

    def take(self, rows: RowNumbers) -> Questions:
        """Return a copy of the given questions; passages are shared."""
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
    """Rows of a question and a piece of its passage.

    examples: w rows, the question as the source and the piece as the target.
    spans: (w, 2) int32, the answer's span in the piece if the piece contains all of it.
    owners: (w,) the question of each window, ascending.
    firsts: (w,) the index in its passage of the piece's first subword.
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

    def take(self, rows: RowNumbers) -> Windows:
        """Return a copy of the given windows."""
        return Windows(self.examples.take(rows), self.spans[rows], self.owners[rows], self.firsts[rows])


def cut_windows(questions: Questions, max_length: int, max_question: int, stride: int) -> Windows:
    """Cut passages into windows that fit next to their question; each subword is in at least one window.

    Args:
        questions: q questions, each of which gets at least one window.
        max_length: subwords of question and piece together, at least 2.
        max_question: longer questions are truncated; never more than half of `max_length`.
        stride: distance between the starts of consecutive windows; at most the length of a window.
    """
    kept = np.minimum(questions.questions.lengths, min(max_question, max_length // 2))
    space = max_length - kept
    step = np.minimum(stride, space)
    whole = questions.passages.lengths[questions.owners]
    counts = 1 + np.maximum(0, -(-(whole - space) // step))
    owners = np.repeat(np.arange(len(questions)), counts)
    firsts = (np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)) * step[owners]
    lengths = np.minimum(space[owners], whole[owners] - firsts)
    pairs = Pairs(
        _pieces(questions.questions, owners, np.zeros_like(firsts), kept[owners]),
        _pieces(questions.passages, questions.owners[owners], firsts, lengths),
    )
    answers = questions.spans[owners]
    inside = (answers[:, 0] >= firsts) & (answers[:, 1] < firsts + lengths)
    spans = np.where(inside[:, None], answers - firsts[:, None], -1).astype(np.int32)
    return Windows(pairs, spans, owners, firsts)


def _pieces(sentences: Sentences, rows: NDArray[Any], firsts: NDArray[Any], lengths: NDArray[Any]) -> Sentences:
    """Return `lengths` subwords of each given row, from `firsts` on."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    index = np.repeat(sentences.ids.offsets[rows] + firsts - offsets[:-1], lengths) + np.arange(offsets[-1])
    ids, words = (Ragged(column.values[index], offsets) for column in (sentences.ids, sentences.words))
    return Sentences(ids, words, sentences.language)
