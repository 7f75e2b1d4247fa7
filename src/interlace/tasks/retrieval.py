"""Sentence retrieval: is a sentence's nearest neighbour in the other language its translation? Nothing is trained.

A sentence's vector is the mean of the states of its subwords in one layer, specials left out, compared by cosine
(Hu et al. 2020, XTREME's Tatoeba). The layer is two thirds of the way up by default: the last layers turn to guessing
subwords of their own language, and multilingual BERT finds translations best around layer 8 of 12 (Pires et al. 2019,
section 5; XTREME takes layer 8 of 12 and 14 of 24).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, SettingsError
from interlace.core.neighbors import Margin, MarginScorer, ranks, unit
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.objectives import BoolOrAuto
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Task
from interlace.tasks._distinct import numbered
from interlace.tasks._encode import encode
from interlace.tasks._files import FileQuery, Files, find
from interlace.tasks._outcomes import Measured
from interlace.tasks._read import read_all
from interlace.text import TextPairs

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


class Retrieval(Task):
    """P@1 over a parallel test set, in percent: both directions, and their mean.

    A translation only counts where no other sentence is as near; a sentence that stands in the set twice can
    therefore not be found. Lines without text count as not found.
    """

    metric: ClassVar[str] = "p@1"
    also: ClassVar[tuple[str, ...]] = ("p@1 into source", "p@1 into target")

    source: str = Field("en", description="The language searched from; the other one is the language asked for.")
    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="Parallel files under the data root: a pattern, or a table by split or 'test.de'. {language} is "
        "the source for one side and the target for the other; without it, both sides are in one file. Tatoeba's are "
        "'tatoeba.{target3}-{source3}.{language3}'.",
    )
    reader: dict[str, Any] | str = Field("lines", description="What reads the files, such as 'lines' or 'tsv'.")
    layer: int | None = Field(
        None, description="Layer whose states are taken: 0 embeddings, -1 the last; none: two thirds up (XTREME: 8/12)."
    )
    centre: bool = Field(
        False, description="Subtract each language's mean vector first (Libovický et al. 2020, section 4)."
    )
    margin: Margin = Field(
        "absolute",
        description="What is compared: the cosine (XTREME), or its 'distance' from or 'ratio' to the mean cosine of "
        "both sentences to their nearest neighbours (Artetxe & Schwenk 2019, section 3.1: ratio is best).",
    )
    neighbours: int = Field(4, ge=1, description="Nearest neighbours of 'distance' and 'ratio' (the same: 4).")
    max_length: int = Field(256, ge=8, description="Longest row in subwords, at most the model's own.")
    tokens_per_batch: int = Field(8192, ge=16, description="Padded subwords in a batch.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Pairs:
        """The two sides, `language` as the target."""
        if language == self.source:
            raise DataError(
                f"retrieval: {language!r} cannot be searched from itself; set another source or leave it out"
            )
        chunks = self._pairs(FileQuery("retrieval", split, language, root, self.source))
        return Pairs(
            encode((chunk.source for chunk in chunks), vocab), encode((chunk.target for chunk in chunks), vocab)
        )

    def texts(self, split: str, language: str, root: Path) -> list[TextPairs]:
        """Both sides; none of the source alone."""
        if language == self.source:
            return []
        return self._pairs(FileQuery("retrieval", split, language, root, self.source))

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Pairs) -> Measured:
        """`p@1` (the mean of both directions), `p@1 into target` and `p@1 into source`."""
        source, target = (self.vectors(backbone, vocab, side) for side in (examples.source, examples.target))
        return both_ways(source, target, examples, self.margin, self.neighbours)

    def layer_of(self, layers: int) -> int:
        """The layer counted from the embeddings (0), of a model with so many layers.

        Raises:
            SettingsError: the model has no such layer.
        """
        if self.layer is None:
            return round(2 * layers / 3)
        if not -layers - 1 <= self.layer <= layers:
            raise SettingsError(f"layer = {self.layer}, but the model has {layers} layers")
        return self.layer % (layers + 1)

    def compared(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n, H) the vectors of one language as they are compared: of length 1, and centred where that is asked for."""
        return unit(vectors - vectors.mean(axis=0) if self.centre else vectors)

    def vectors(self, backbone: Backbone, vocab: Vocab, sentences: Sentences) -> NDArray[np.float32]:
        """(n, H) the vectors of one language as they are compared, in the order of the sentences."""
        from interlace.tasks._vectors import sentence_vectors

        vectors = sentence_vectors(
            backbone,
            vocab,
            sentences,
            layer=self.layer_of(int(backbone.model.config.num_hidden_layers)),
            max_length=self.max_length,
            tokens_per_batch=self.tokens_per_batch,
            language_ids=self.language_ids,
        )
        return self.compared(vectors)

    def _pairs(self, asked: FileQuery) -> list[TextPairs]:
        paths = [find(self.files, asked, side) for side in (self.source, asked.of)]
        paths = paths if paths[0] != paths[1] else paths[:1]
        return read_all("retrieval", self.reader, paths, [self.source, asked.of], TextPairs)


def both_ways(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    pairs: Pairs,
    margin: Margin = "absolute",
    neighbours: int = 4,
) -> Measured:
    """`p@1` (the mean of both directions), `p@1 into target` and `p@1 into source`, from vectors of length 1."""
    into_target = _hits(source, target, pairs.target.ids, margin, neighbours)
    into_source = _hits(target, source, pairs.source.ids, margin, neighbours)
    target_score, source_score = 100 * float(into_target.mean()), 100 * float(into_source.mean())
    scores = {
        "p@1": (target_score + source_score) / 2,
        "p@1 into target": target_score,
        "p@1 into source": source_score,
    }
    both = (into_target.astype(np.float64) + into_source) / 2
    identity = identity_of(*map(words_a_line, (pairs.source, pairs.target)))
    return Measured(scores, Examples(both, np.ones(len(both)), identity))


def words_a_line(sentences: Sentences) -> NDArray[np.int64]:
    """(n,) words of each line, by which it is known again whatever vocabulary cut it."""
    words = sentences.words
    counts = np.zeros(len(words), np.int64)
    filled = np.flatnonzero(words.lengths)
    counts[filled] = words.flat[words.offsets[filled + 1] - words.offsets[0] - 1] + 1
    return counts


def _hits(
    queries: NDArray[np.float32],
    candidates: NDArray[np.float32],
    ids: Ragged,
    margin: Margin = "absolute",
    neighbours: int = 4,
) -> NDArray[np.bool_]:
    """(n,) whether the candidate nearest to a query is the one in its own row.

    ids: the candidates' subwords. Equal sentences are compared as one, so that rounding cannot part them.
    """
    numbers, first = numbered(ids)
    alone = np.bincount(numbers)[numbers] == 1
    gold = Ragged.from_lengths(numbers, np.ones(len(numbers), np.int64))
    distinct = candidates[first]
    found = ranks(queries, distinct, gold, MarginScorer.of(margin, queries, distinct, neighbours))
    hits: NDArray[np.bool_] = (found == 1) & alone
    return hits
