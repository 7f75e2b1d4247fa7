"""Sentence retrieval: is a sentence's nearest neighbor in the other language its translation?

Sentence vectors are compared by cosine (Hu et al. 2020, XTREME's Tatoeba). Nothing is trained.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.neighbors import Margin, MarginScorer, ranks
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Scores
from interlace.tasks.common.files import Chunks, FileQuery, Files, ReaderSettings, encode, find_parts, read_text
from interlace.tasks.common.vectors import SentenceVectorTask, distinct_rows, words_per_line
from interlace.text import TextPairs

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

    Vectors = NDArray[np.float32]


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
        chunks = [chunk for _, chunk in self.read_chunks(self.query(split, language, root).require_pair())]
        source, target = (encode((getattr(chunk, side) for chunk in chunks), vocab) for side in ("source", "target"))
        return Pairs(source, target)

    def read_chunks(self, query: FileQuery) -> Chunks[TextPairs]:
        """Read both sides."""
        languages = [query.source, query.language]
        sides = [find_parts(self.files, query, side) for side in languages]
        return read_text(self.name, self.reader, languages, TextPairs, *sides)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Pairs) -> Scores:
        """Return `p@1` (the mean of both directions), `p@1 into target` and `p@1 into source`."""
        source, target = (self.vectors(backbone, vocab, side) for side in (examples.source, examples.target))
        return both_ways(source, target, examples, self.margin, self.neighbors)


def both_ways(
    source: Vectors, target: Vectors, pairs: Pairs, margin: Margin = "absolute", neighbors: int = 4
) -> Scores:
    """Return `p@1` (the mean of both directions), `p@1 into target` and `p@1 into source`, from vectors of length 1."""
    into_target = find_own(source, target, pairs.target.ids, margin, neighbors)
    into_source = find_own(target, source, pairs.source.ids, margin, neighbors)
    target_score, source_score = 100 * float(into_target.mean()), 100 * float(into_source.mean())
    metrics = {
        "p@1": (target_score + source_score) / 2,
        "p@1 into target": target_score,
        "p@1 into source": source_score,
    }
    both = (into_target.astype(np.float64) + into_source) / 2
    identity = identity_of(*map(words_per_line, (pairs.source, pairs.target)))
    return Scores(metrics, Examples(both, np.ones(len(both)), identity))


def find_own(queries: Vectors, candidates: Vectors, ids: Ragged, margin: Margin, neighbors: int) -> NDArray[np.bool_]:
    """(n,) whether the candidate nearest to a query is the one in its own row.

    ids: the candidates' subwords. Equal sentences are one candidate, so that rounding cannot separate them.
    """
    numbers, first = distinct_rows(ids)
    unique = np.bincount(numbers)[numbers] == 1
    gold = Ragged.from_lengths(numbers, np.ones(len(numbers), np.int64))
    distinct = candidates[first]
    found = ranks(queries, distinct, gold, MarginScorer.of(margin, queries, distinct, neighbors))
    return np.asarray((found == 1) & unique)
