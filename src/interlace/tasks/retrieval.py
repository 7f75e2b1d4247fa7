"""Sentence retrieval: is a sentence's nearest neighbor in the other language its translation?

Sentence vectors are compared by cosine (Hu et al. 2020, XTREME's Tatoeba). Nothing is trained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.neighbors import Margin, MarginScorer, ranks
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Scores
from interlace.tasks.common.files import Files, find_file
from interlace.tasks.common.reading import ReaderSettings, encode, read_all
from interlace.tasks.common.vectors import SentenceVectorTask, distinct_rows, words_per_line
from interlace.text import TextPairs

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


class Retrieval(SentenceVectorTask):
    """P@1 over a parallel test set, in percent: both directions, and their mean.

    A translation only counts if no other sentence is as near, so a sentence that occurs twice in the set cannot be
    found. Lines without text are not found.
    """

    metric: ClassVar[str] = "p@1"
    same_scale: ClassVar[tuple[str, ...]] = ("p@1 into source", "p@1 into target")

    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="Parallel files under the data root: a pattern, or a table by split or 'test.de'. {language} is "
        "the source for one side and the target for the other; without it, both sides are in one file. Tatoeba's are "
        "'tatoeba.{target3}-{source3}.{language3}'.",
    )
    reader: ReaderSettings = Field("lines", description="Reader of the files, such as 'lines' or 'tsv'.")

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Pairs:
        """Encode both sides, `language` as the target."""
        if language == self.source:
            raise DataError(f"{self.name}: source and target are both {language!r}; set another source or leave it out")
        chunks = self.texts(split, language, root)
        return Pairs(
            encode((chunk.source for chunk in chunks), vocab), encode((chunk.target for chunk in chunks), vocab)
        )

    def texts(self, split: str, language: str, root: Path) -> list[TextPairs]:
        """Return both sides; nothing for the source language."""
        if language == self.source:
            return []
        query = self.query(split, language, root)
        paths = list(dict.fromkeys(find_file(self.files, query, side) for side in (self.source, language)))
        return read_all(self.name, self.reader, paths, [self.source, language], TextPairs)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Pairs) -> Scores:
        """Return `p@1` (the mean of both directions), `p@1 into target` and `p@1 into source`."""
        source, target = (self.vectors(backbone, vocab, side) for side in (examples.source, examples.target))
        return both_ways(source, target, examples, self.margin, self.neighbors)


def both_ways(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    pairs: Pairs,
    margin: Margin = "absolute",
    neighbors: int = 4,
) -> Scores:
    """Return `p@1` (the mean of both directions), `p@1 into target` and `p@1 into source`, from vectors of length 1."""
    into_target = _hits(source, target, pairs.target.ids, margin, neighbors)
    into_source = _hits(target, source, pairs.source.ids, margin, neighbors)
    target_score, source_score = 100 * float(into_target.mean()), 100 * float(into_source.mean())
    metrics = {
        "p@1": (target_score + source_score) / 2,
        "p@1 into target": target_score,
        "p@1 into source": source_score,
    }
    both = (into_target.astype(np.float64) + into_source) / 2
    identity = identity_of(*map(words_per_line, (pairs.source, pairs.target)))
    return Scores(metrics, Examples(both, np.ones(len(both)), identity))


def _hits(
    queries: NDArray[np.float32],
    candidates: NDArray[np.float32],
    ids: Ragged,
    margin: Margin,
    neighbors: int,
) -> NDArray[np.bool_]:
    """(n,) whether the candidate nearest to a query is the one in its own row.

    ids: the candidates' subwords. Equal sentences are one candidate, so that rounding cannot separate them.
    """
    numbers, first = distinct_rows(ids)
    unique = np.bincount(numbers)[numbers] == 1
    gold = Ragged.from_lengths(numbers, np.ones(len(numbers), np.int64))
    distinct = candidates[first]
    found = ranks(queries, distinct, gold, MarginScorer.of(margin, queries, distinct, neighbors))
    hits: NDArray[np.bool_] = (found == 1) & unique
    return hits
