"""Alignment of contextual word vectors (Cao et al. 2020): aligned words are pulled together, one language is fixed.

alignments  old - alte   doctor - Arzt   reads - liest
before      <s> the old doctor reads </s>     <s> der alte Arzt liest </s>
after       the same, each sentence by itself; "Arzt" moves towards "doctor", "doctor" stays near its initial vector

Legend: B pairs, L tokens of the longest sentence, M words of the longest sentence, H width. A place is an index into
the flattened batch: row * L + column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.ragged import AnyArray, BoolArray, IntArray, Ragged
from interlace.core.randomness import Generator
from interlace.data import Pairs
from interlace.data.layout import Layout, separate_costs, separate_sides
from interlace.objectives import (
    Batch,
    Objective,
    Prepared,
    Preview,
    Term,
    place_texts,
    token_texts,
)
from interlace.objectives.common.sides import side_in

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

ANCHOR = "anchor"


class WordAligned(Objective):
    """Squared distance of aligned words, and of the anchor language's words to their initial vectors.

    The vector of a word is the state of its last token. Links are one-to-one: those that are the unique best of both
    words. Distances are means over the width of a vector, where Cao et al. (2020, section 3.3) use sums, so that they
    are comparable between widths and objectives.

    Reads: pairs with word alignments; the two sides are separate sequences, encoded in one pass.
    Relations: `weam` aligns contextual states with embeddings, this one contextual states with each other.
    Terms: `word_aligned`, a mean over links; `anchor`, a mean over the words of the anchor language.
    Heads: a frozen copy of the initial encoder, so memory grows by its weights (0.7 GB for mBERT) and a step by one
        pass without gradients over the anchored sentences.
    Nothing is masked or drawn: a batch is a function of its examples.
    """

    reads = Pairs
    term = "word_aligned"
    needs = frozenset({"links"})

    anchor_language: str = Field(
        "en",
        description="Language whose words stay near the initial model (Cao et al. 2020: English).",
    )
    anchor_weight: float = Field(
        1.0,
        ge=0,
        description="Weight of `anchor` (Cao et al. 2020: 1); 0: no copy of the initial model.",
    )

    def pair_costs(self, source: AnyArray, target: AnyArray) -> AnyArray:
        """Return (n,) tokens of two sequences, each as long as the longer side."""
        return separate_costs(source, target, self.max_length)

    def batch(self, examples: Pairs, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Lay out the anchor language first, then the other; look up the links of their words.

        Raise a DataError if the pairs have no links, a SettingsError if neither side is in the anchor language.
        """
        anchored_side = 0
        if self.anchor_weight:
            setting = f"{self.name}: anchor_language"
            anchored_side = side_in(self.anchor_language, examples.languages, setting)
        both = (examples.source, examples.target)
        sides = (both[anchored_side], both[1 - anchored_side])
        n = len(examples)
        layout = separate_sides(Pairs(*sides), prepared.vocab, self.max_length)
        links = require_links(examples, self.name)
        places = last_tokens(layout, int(links.flat.max(initial=0)) + 1)
        anchored = places[links.rows(), links.flat[:, anchored_side]]
        aligned = places[links.rows() + n, links.flat[:, 1 - anchored_side]]
        is_kept = one_to_one(links, examples.confidence) & (anchored >= 0) & (aligned >= 0)
        extra = {"anchored": anchored[is_kept], "aligned": aligned[is_kept]}
        counts = {self.term: len(extra["anchored"])}
        if self.anchor_weight:
            anchors = places[:n]
            extra["anchors"] = anchors[anchors >= 0]
            counts[ANCHOR] = len(extra["anchors"])
        batch = Batch.of(
            layout,
            (sides[0].language, sides[1].language),
            prepared,
            at=np.divmod(extra["anchored"], layout.ids.shape[1]),
            labels=layout.ids.reshape(-1)[extra["aligned"]],
            counts=counts,
            extra=extra,
        )
        return replace(batch, sides=None)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """Return the frozen copy of the encoder, if words are anchored."""
        from torch import nn

        from interlace.objectives.common.losses import FrozenEncoder

        return nn.ModuleDict({ANCHOR: FrozenEncoder(backbone)} if self.anchor_weight else {})

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Return the distances of aligned words, and of anchored words to their initial vectors."""
        extra = batch.extra
        states = backbone.encode(batch.inputs).flatten(0, 1)
        distances = _distances(states[extra["anchored"]], states[extra["aligned"]])
        terms = {self.term: Term(distances.sum())}
        if self.anchor_weight:
            frozen: Any = heads[ANCHOR]
            rows = len(batch.inputs["input_ids"]) // 2
            inputs = {name: array[:rows] for name, array in batch.inputs.items()}
            initial_states = frozen.encode(inputs).flatten(0, 1)
            anchors = extra["anchors"]
            drift = _distances(states[anchors], initial_states[anchors])
            terms[ANCHOR] = Term(drift.sum(), self.anchor_weight)
        return terms

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Return the partners of aligned words, and which words are anchored."""
        ids = batch.inputs["input_ids"]
        anchored = batch.extra["anchored"]
        aligned = batch.extra["aligned"]
        width = ids.shape[1]
        words = np.concatenate([anchored, aligned])
        partners = token_texts(vocab, ids.reshape(-1)[np.concatenate([aligned, anchored])])
        lines = {"aligned to": place_texts(words // width, words % width, partners)}
        if self.anchor_weight:
            anchors = batch.extra["anchors"]
            names = ["initial"] * len(anchors)
            lines["anchored"] = place_texts(anchors // width, anchors % width, names)
        return Preview(lines)


def _distances(vectors: Tensor, other_vectors: Tensor) -> Tensor:
    """Return (n,) float32 mean squared differences of (n, H) vectors."""
    differences = vectors.float() - other_vectors.float()
    return differences.square().mean(dim=1)


def last_tokens(layout: Layout, min_words: int = 1) -> IntArray:
    """(2B, M) the place of the last token of each word, -1 for words without a token; M is at least `min_words`."""
    max_words = max(min_words, int(layout.words.max(initial=0)) + 1)
    places = np.full((len(layout.ids), max_words), -1)
    rows, columns = np.nonzero(layout.content)
    words = layout.words[rows, columns]
    # of several tokens of a word, the last assignment remains
    places[rows, words] = rows * layout.ids.shape[1] + columns
    return places


def require_links(pairs: Pairs, name: str) -> Ragged:
    """Return the word alignments of the pairs; raise a DataError that says how to get them."""
    if pairs.links is None:
        raise DataError(
            f"{name} needs word alignments, and these pairs have none; add a section [align] to the recipe, or open "
            "the corpus with ParallelCorpus.annotated"
        )
    return pairs.links


def one_to_one(links: Ragged, confidence: Ragged | None) -> BoolArray:
    """Return (total,) which links are the unique best, by confidence if given, of both their words."""
    is_kept = np.ones(len(links.flat), np.bool_)
    for side in (0, 1):
        words = links.flat[:, side]
        max_words = int(words.max(initial=0)) + 1
        keys = links.rows() * max_words + words
        count = len(links) * max_words
        is_best = np.ones(len(keys), np.bool_)
        if confidence is not None:
            highest = np.zeros(count, confidence.flat.dtype)
            np.maximum.at(highest, keys, confidence.flat)
            is_best = confidence.flat == highest[keys]
        best_count = np.bincount(keys[is_best], minlength=count)
        is_kept &= is_best & (best_count[keys] == 1)
    return is_kept
