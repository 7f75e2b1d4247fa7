"""Sentence retrieval: is a sentence's nearest neighbor in the other language its translation?

Sentence vectors are compared by cosine (Hu et al. 2020, XTREME's Tatoeba). Nothing is trained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.neighbors import ranks, unit
from interlace.core.ragged import BoolArray, FloatArray, Ragged, distinct_rows
from interlace.data import Pairs
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import ProbeTask, Scores
from interlace.tasks.common.files import (
    Chunks,
    FileQuery,
    Files,
    ReaderSettings,
    encode,
    find_parts,
    read_text,
)
from interlace.tasks.common.prediction import InputLimits
from interlace.tasks.common.vectors import layer_vectors, vector_layer
from interlace.text import TextPairs

if TYPE_CHECKING:
    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

    Vectors = FloatArray


class Retrieval(ProbeTask):
    """P@1 over a parallel test set, in percent: both directions, and their mean.

    A translation only counts if no other sentence is as near, so a sentence that occurs twice in the set cannot be
    found. Lines without text are not found.

    A sentence's vector is the one that the model was trained for, by `contrastive` or `distillation` here or as the
    modules of sentence-transformers in its folder say. Otherwise it is the mean of a layer's states, without special
    tokens. The default layer is two thirds of the way up: the last layers specialise in predicting subwords of their
    own language, and multilingual BERT finds translations best around layer 8 of 12 (Pires et al. 2019, section 5).
    XTREME takes layer 8 of 12, but 14 of 24.
    """

    metric = "p@1"
    further_metrics = ("p@1 into target", "p@1 into source")

    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="Parallel files under the data root: a pattern, or a table by split or 'test.de'. {language} is "
        "the source for one side and the target for the other; without it, both sides are in one file. Tatoeba's are "
        "'tatoeba.{target3}-{source3}.{language3}'.",
    )
    reader: ReaderSettings = Field(
        "lines",
        description="Reader of the files, such as 'lines' or 'tsv'.",
    )
    source: str = Field(
        "en",
        description="The source language of pairs; the target is the language that is scored.",
    )
    layer: int | None = Field(
        None,
        description="Layer of the states: 0 embeddings, -1 the last; none: the vectors that the model was trained "
        "for, without any at two thirds (8 of 12).",
    )
    max_length: int = Field(
        256,
        ge=8,
        description="Maximum sequence length in tokens, at most the model's own.",
    )
    tokens_per_batch: int = Field(
        8192, ge=16, description="Tokens per batch, padding included."
    )

    @property
    def limits(self) -> InputLimits:
        """How sentences are fed to the model."""
        return InputLimits(self.max_length, self.tokens_per_batch)

    def layer_of(self, backbone: Backbone) -> int | None:
        """Return the layer for `layer_vectors`; raise a SettingsError if there is no such layer."""
        return vector_layer("retrieval: layer", self.layer, backbone)

    def vectors(self, backbone: Backbone, vocab: Vocab, sentences: Sentences) -> Vectors:
        """Return the (n, D) vectors of sentences of one language."""
        layer = self.layer_of(backbone)
        return layer_vectors(backbone, vocab, sentences, layer, self.limits)

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> Pairs:
        """Encode both sides, `language` as the target."""
        chunks = self.read_chunks(self.query(split, language, root).require_pair())
        source = encode((chunk.source for _, chunk in chunks), vocab)
        return Pairs(source, encode((chunk.target for _, chunk in chunks), vocab))

    def read_chunks(self, query: FileQuery) -> Chunks[TextPairs]:
        """Read both sides."""
        languages = [query.source, query.language]
        sides = [find_parts(self.files, query, side) for side in languages]
        return read_text(self.name, self.reader, languages, TextPairs, *sides)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Pairs) -> Scores:
        """Return `p@1` (the mean of both directions), `p@1 into target` and `p@1 into source`.

        And `p@1, centered`, the same with each language's mean vector subtracted (Libovický et al. 2020, section 4).
        States of a language share a direction; where models differ in it, the two may rank them differently.
        """
        source = self.vectors(backbone, vocab, examples.source)
        target = self.vectors(backbone, vocab, examples.target)
        scores = both_ways(unit(source), unit(target), examples)
        centered = both_ways(
            unit(source - source.mean(axis=0)),
            unit(target - target.mean(axis=0)),
            examples,
        )
        scores.metrics["p@1, centered"] = centered["p@1"]
        return scores


def both_ways(source: Vectors, target: Vectors, pairs: Pairs) -> Scores:
    """Return `p@1` (the mean of both directions), `p@1 into target` and `p@1 into source`, from vectors of length 1."""
    into_target = find_own(source, target, pairs.target.ids)
    into_source = find_own(target, source, pairs.source.ids)
    target_score = 100 * float(into_target.mean())
    source_score = 100 * float(into_source.mean())
    metrics = {
        "p@1": (target_score + source_score) / 2,
        "p@1 into target": target_score,
        "p@1 into source": source_score,
    }
    both = (into_target.astype(np.float64) + into_source) / 2
    word_counts = []
    for side in (pairs.source, pairs.target):
        if side.word_counts is not None:
            word_counts.append(side.word_counts)
    weight = np.ones(len(both))
    return Scores(metrics, Examples(both, weight, identity_of(*word_counts)))


def find_own(queries: Vectors, candidates: Vectors, ids: Ragged) -> BoolArray:
    """(n,) whether the candidate nearest to a query is the one in its own row.

    ids: the candidates' subwords. Equal sentences are one candidate, so that rounding cannot separate them.
    """
    numbers, first = distinct_rows(ids)
    unique = np.bincount(numbers)[numbers] == 1
    gold = Ragged.from_lengths(numbers, np.ones(len(numbers), np.int64))
    return (ranks(queries, candidates[first], gold) == 1) & unique
