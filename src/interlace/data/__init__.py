"""Columnar examples: the arrays that flow from a corpus to a batch.

Legend: n rows; ids are subwords without specials; a word index counts the words of its row from 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged


@dataclass(frozen=True)
class Sentences:
    """Tokenised lines of one language.

    ids: n rows of int32 subwords. A stream row (see `data.packing`) holds several sentences with separators between.
    words: n rows of int32, for each subword the word it belongs to; -1 for a separator inside a stream.
    """

    ids: Ragged
    words: Ragged
    language: str

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) subwords a row."""
        return self.ids.lengths

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Sentences:
        """The named rows, copied."""
        return replace(self, ids=self.ids.take(rows), words=self.words.take(rows))


@dataclass(frozen=True)
class KnownPhrases:
    """Spans of one side of n pairs that are phrases of a table, each with the table's likeliest translation.

    It need not stand in the pair: the table knows it from the whole corpus.

    spans: n rows of half-open (start, stop) int32 word spans, sorted, each once.
    scores: (total,) float32, the translation's probability given the phrase.
    counterparts: a row a span, the translation as subwords that stand inside a line, with the word of each in it.
    """

    spans: Ragged
    scores: NDArray[np.float32]
    counterparts: Sentences

    def __len__(self) -> int:
        return len(self.spans)

    def take(self, rows: NDArray[Any] | Sequence[int]) -> KnownPhrases:
        """The named rows, copied."""
        places = replace(self.spans, values=np.arange(len(self.spans.values))).take(rows).flat
        return KnownPhrases(self.spans.take(rows), self.scores[places], self.counterparts.take(places))


@dataclass(frozen=True)
class Pairs:
    """Two sides of n rows: translations, or premise and hypothesis.

    links: n rows of (source word, target word) int32 pairs, or None.
    phrases: n rows of half-open word spans (a, b, c, d): source[a:b] translates target[c:d], or None.
    confidence: n rows of float32 in (0, 1], one a link: the aligner's probability of it; or None.
    scores: n rows of float32 (phi(target|source), phi(source|target)), two a phrase; or None.
    known: what the phrase table knows of the source and of the target; or None.
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
    def lengths(self) -> NDArray[np.int64]:
        """(n,) subwords of both sides together."""
        return self.source.lengths + self.target.lengths

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Pairs:
        """The named rows, copied."""

        def taken(column: Ragged | None) -> Ragged | None:
            return None if column is None else column.take(rows)

        return Pairs(
            self.source.take(rows),
            self.target.take(rows),
            taken(self.links),
            taken(self.phrases),
            taken(self.confidence),
            taken(self.scores),
            None if self.known is None else (self.known[0].take(rows), self.known[1].take(rows)),
        )


@dataclass(frozen=True)
class LabeledExamples:
    """Examples of a task: sentences or pairs with what is to be predicted.

    tags: n rows of int32, a tag a word (-1: not scored), or None.
    labels: (n,) int32, a label a row, or None.
    left_out: words of these sentences that have a tag and stand nowhere in them; None where nobody counted them.
    """

    examples: Sentences | Pairs
    tags: Ragged | None = None
    labels: NDArray[np.int32] | None = None
    left_out: int | None = None

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) subwords a row."""
        return self.examples.lengths

    def take(self, rows: NDArray[Any] | Sequence[int]) -> LabeledExamples:
        """The named rows, copied."""
        return LabeledExamples(
            self.examples.take(rows),
            None if self.tags is None else self.tags.take(rows),
            None if self.labels is None else self.labels[rows],
        )
