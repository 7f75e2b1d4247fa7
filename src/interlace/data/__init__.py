"""Columnar examples: arrays that are read from a corpus and made into batches.

Shapes: n rows; ids are subword ids without special tokens; a word index counts the words of its row from 0. Of
extractive question answering: q questions, c passages, w windows; spans are (first, last) subwords, both inclusive;
(-1, -1) is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from interlace.core.ragged import (
    AnyArray,
    Int32Array,
    IntArray,
    Ragged,
    ranges,
    row_numbers,
)
from interlace.text import LanguagePair
from interlace.text.columns import TextColumns

RowNumbers = AnyArray | Sequence[int]
PairLayout = Literal["xlm", "roberta", "bert"]  # see `data.layout.pair_layout`


@dataclass(frozen=True)
class _Columns:
    """Columns of n rows."""

    def take(self, rows: RowNumbers) -> Self:
        """Return a copy of the given rows."""
        rows = row_numbers(rows)
        taken: dict[str, Any] = {}
        for name, column in vars(self).items():
            if isinstance(column, np.ndarray):
                taken[name] = column[rows]
            elif isinstance(column, tuple):  # of two sides
                taken[name] = (column[0].take(rows), column[1].take(rows))
            elif not (column is None or isinstance(column, str)):  # optional, or a language
                taken[name] = column.take(rows)
        return replace(self, **taken)


@dataclass(frozen=True)
class Sentences(_Columns):
    """Tokenized lines of one language.

    ids: n rows of int32 subword ids. A stream row (see `data.packing`) holds several sentences with separators.
    words: n rows of int32, the word index of each subword; -1 for a separator inside a stream.
    word_counts: (n,) words of each line, also those without a subword of their own; None: not known.
    """

    ids: Ragged
    words: Ragged
    language: str
    word_counts: IntArray | None = field(default=None, compare=False)

    @classmethod
    def concatenate(cls, parts: Sequence[Sentences]) -> Sentences:
        """Return the rows of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        ids = Ragged.concatenate([part.ids for part in parts])
        words = Ragged.concatenate([part.words for part in parts])
        word_counts = None
        if all(part.word_counts is not None for part in parts):
            word_counts = np.concatenate([part.word_counts for part in parts])
        return cls(
            ids,
            words,
            parts[0].language,
            word_counts,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> IntArray:
        """(n,) subwords per row."""
        return self.ids.lengths


@dataclass(frozen=True)
class KnownPhrases:
    """Spans of one side of n pairs that are phrases of a table, each with its most likely translation.

    The translation need not occur in the pair: the table was counted over the whole corpus.

    spans: n rows of half-open (start, stop) int32 word spans, sorted and unique.
    numbers: (total,) the line of the translation in `counterparts`, each of which is there once.
    """

    spans: Ragged
    numbers: IntArray
    counterparts: TextColumns

    def __len__(self) -> int:
        return len(self.spans)

    def take(self, rows: RowNumbers) -> KnownPhrases:
        """Return a copy of the given rows."""
        spans = self.spans.take(rows)
        starts = self.spans.offsets[row_numbers(rows)] - self.spans.offsets[0]
        index = ranges(starts, spans.lengths)
        return KnownPhrases(spans, self.numbers[index], self.counterparts)


@dataclass(frozen=True)
class Pairs(_Columns):
    """Two sides of n rows: translations, or premise and hypothesis. Optional columns are None.

    links: n rows of (source word, target word) int32 pairs.
    phrases: n rows of half-open word spans (a, b, c, d): source[a:b] translates target[c:d].
    confidence: n rows of float32 in (0, 1], one per link: the aligner's probability.
    scores: n rows of float32 (phi(target|source), phi(source|target), and the two lexical weights), one per phrase.
    known: the phrase table's entries for spans of the source and of the target.
    text: the lines of the source and of the target with all of their words.
    """

    source: Sentences
    target: Sentences
    links: Ragged | None = None
    phrases: Ragged | None = None
    confidence: Ragged | None = None
    scores: Ragged | None = None
    known: tuple[KnownPhrases, KnownPhrases] | None = None
    text: tuple[TextColumns, TextColumns] | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def languages(self) -> LanguagePair:
        """The languages of source and target."""
        return self.source.language, self.target.language

    @property
    def lengths(self) -> IntArray:
        """(n,) subwords of both sides together."""
        return self.source.lengths + self.target.lengths


@dataclass(frozen=True)
class LabeledExamples(_Columns):
    """Examples of a task: sentences or pairs with their labels.

    tags: n rows of int32, a tag per word (-1: not scored), or None.
    labels: (n,) int32, a label per row, or None.
    """

    examples: Sentences | Pairs
    tags: Ragged | None = None
    labels: Int32Array | None = None

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def lengths(self) -> IntArray:
        """(n,) subwords per row."""
        return self.examples.lengths


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
    owners: IntArray
    spans: Int32Array
    characters: Ragged
    texts: list[str]
    answers: list[list[str]]
    ids: list[str]

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def lengths(self) -> IntArray:
        """(q,) subwords of the question and its whole passage."""
        return self.questions.lengths + self.passages.lengths[self.owners]

    def take(self, rows: RowNumbers) -> Questions:
        """Return a copy of the given questions; passages are shared."""
        rows = row_numbers(rows)
        return replace(
            self,
            questions=self.questions.take(rows),
            owners=self.owners[rows],
            spans=self.spans[rows],
            answers=[self.answers[row] for row in rows.tolist()],
            ids=[self.ids[row] for row in rows.tolist()],
        )


@dataclass(frozen=True)
class Windows(_Columns):
    """Rows of a question and a piece of its passage.

    examples: w rows, the question as the source and the piece as the target.
    spans: (w, 2) int32, the answer's span in the piece if the piece contains all of it.
    owners: (w,) the question of each window, ascending.
    firsts: (w,) the index in its passage of the piece's first subword.
    """

    examples: Pairs
    spans: Int32Array
    owners: IntArray
    firsts: IntArray

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def lengths(self) -> IntArray:
        """(w,) subwords of both sides together."""
        return self.examples.lengths


def cut_windows(
    questions: Questions,
    max_length: int,
    max_question: int,
    stride: int,
) -> Windows:
    """Cut passages into overlapping windows that fit next to their question (Devlin et al. 2019, section 4.2).

    Each subword is in at least one window. An answer is trained in windows that contain all of it.

    max_length: subwords of question and piece together, at least 2.
    max_question: longer questions are truncated; never more than half of `max_length`.
    stride: distance between the starts of consecutive windows; at most the length of a window.
    """
    max_question = min(max_question, max_length // 2)
    kept = np.minimum(questions.questions.lengths, max_question)
    space = max_length - kept
    step = np.minimum(stride, space)
    whole = questions.passages.lengths[questions.owners]
    further_windows = np.ceil((whole - space) / step).astype(np.int64)
    counts = 1 + np.maximum(0, further_windows)
    owners = np.repeat(np.arange(len(questions)), counts)
    windows_before = np.cumsum(counts) - counts
    numbers = np.arange(len(owners)) - windows_before[owners]  # in the question
    firsts = numbers * step[owners]
    lengths = np.minimum(space[owners], whole[owners] - firsts)
    pairs = Pairs(
        _pieces(
            questions.questions,
            owners,
            np.zeros_like(firsts),
            kept[owners],
        ),
        _pieces(
            questions.passages,
            questions.owners[owners],
            firsts,
            lengths,
        ),
    )
    answers = questions.spans[owners]
    begins_inside = answers[:, 0] >= firsts
    ends_inside = answers[:, 1] < firsts + lengths
    inside = begins_inside & ends_inside
    spans = np.where(inside[:, None], answers - firsts[:, None], -1).astype(np.int32)
    return Windows(
        pairs,
        spans,
        owners,
        firsts,
    )


def _pieces(
    sentences: Sentences,
    rows: AnyArray,
    firsts: AnyArray,
    lengths: AnyArray,
) -> Sentences:
    """Return `lengths` subwords of each given row, from `firsts` on."""
    index = ranges(sentences.ids.offsets[rows] + firsts, lengths)
    ids = Ragged.from_lengths(sentences.ids.values[index], lengths)
    words = Ragged.from_lengths(sentences.words.values[index], lengths)
    return Sentences(ids, words, sentences.language)
