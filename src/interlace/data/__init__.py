"""Columnar examples: the arrays between a corpus and a batch.

Shapes: n rows; ids are subword ids without special tokens; a word index counts the words of its row from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged

RowNumbers = NDArray[Any] | Sequence[int]


@dataclass(frozen=True)
class Sentences:
    """Tokenized lines of one language.

    ids: n rows of int32 subword ids. A stream row (see `data.packing`) holds several sentences with separators.
    words: n rows of int32, the word index of each subword; -1 for a separator inside a stream.
    """

    ids: Ragged
    words: Ragged
    language: str

    @classmethod
    def concatenate(cls, parts: Sequence[Sentences]) -> Sentences:
        """Return the rows of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        ids, words = (Ragged.concatenate([getattr(part, name) for part in parts]) for name in ("ids", "words"))
        return cls(ids, words, parts[0].language)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) subwords per row."""
        return self.ids.lengths

    @property
    def side_lengths(self) -> tuple[NDArray[np.int64], ...]:
        """(n,) subwords per row of the only side."""
        return (self.ids.lengths,)

    def take(self, rows: RowNumbers) -> Sentences:
        """Return a copy of the given rows."""
        return replace(self, ids=self.ids.take(rows), words=self.words.take(rows))


@dataclass(frozen=True)
class KnownPhrases:
    """Spans of one side of n pairs that are phrases of a table, each with its most likely translation.

    The translation need not occur in the pair: the table was counted over the whole corpus.

    spans: n rows of half-open (start, stop) int32 word spans, sorted and unique.
    scores: (total,) float32, the translation's probability given the phrase.
    counterparts: a row per span, the translation as subwords inside a line with their word indices.
    """

    spans: Ragged
    scores: NDArray[np.float32]
    counterparts: Sentences

    def __len__(self) -> int:
        return len(self.spans)

    def take(self, rows: RowNumbers) -> KnownPhrases:
        """Return a copy of the given rows."""
        index = replace(self.spans, values=np.arange(len(self.spans.values))).take(rows).flat
        return KnownPhrases(self.spans.take(rows), self.scores[index], self.counterparts.take(index))


@dataclass(frozen=True)
class Pairs:
    """Two sides of n rows: translations, or premise and hypothesis. Optional columns are None.

    links: n rows of (source word, target word) int32 pairs.
    phrases: n rows of half-open word spans (a, b, c, d): source[a:b] translates target[c:d].
    confidence: n rows of float32 in (0, 1], one per link: the aligner's probability.
    scores: n rows of float32 (phi(target|source), phi(source|target)), two per phrase.
    known: the phrase table's entries for spans of the source and of the target.
    """

    source: Sentences
    target: Sentences
    links: Ragged | None = None
    phrases: Ragged | None = None
    confidence: Ragged | None = None
    scores: Ragged | None = None
    known: tuple[KnownPhrases, KnownPhrases] | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def languages(self) -> tuple[str, str]:
        """The languages of source and target."""
        return self.source.language, self.target.language

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) subwords of both sides together."""
        return self.source.lengths + self.target.lengths

    @property
    def side_lengths(self) -> tuple[NDArray[np.int64], ...]:
        """(n,) subwords of the source, and (n,) of the target."""
        return self.source.lengths, self.target.lengths

    def take(self, rows: RowNumbers) -> Pairs:
        """Return a copy of the given rows."""
        columns = {
            name: getattr(self, name) for name in ("source", "target", "links", "phrases", "confidence", "scores")
        }
        taken = {name: column.take(rows) for name, column in columns.items() if column is not None}
        known = None if self.known is None else (self.known[0].take(rows), self.known[1].take(rows))
        return Pairs(**taken, known=known)


@dataclass(frozen=True)
class LabeledExamples:
    """Examples of a task: sentences or pairs with their labels.

    tags: n rows of int32, a tag per word (-1: not scored), or None.
    labels: (n,) int32, a label per row, or None.
    left_out: tagged words that do not occur in the text of these sentences; None if they were not counted.
    """

    examples: Sentences | Pairs
    tags: Ragged | None = None
    labels: NDArray[np.int32] | None = None
    left_out: int | None = None

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) subwords per row."""
        return self.examples.lengths

    def take(self, rows: RowNumbers) -> LabeledExamples:
        """Return a copy of the given rows."""
        return LabeledExamples(
            self.examples.take(rows),
            None if self.tags is None else self.tags.take(rows),
            None if self.labels is None else self.labels[rows],
        )
