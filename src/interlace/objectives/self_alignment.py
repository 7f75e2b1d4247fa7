"""Self-alignment: aligned words get a high probability in a softmax over all words of the other sentence.

alignments  old - alte   doctor - Arzt   reads - liest
reads       <s> the old doctor reads </s>     <s> der alte Arzt liest </s>, each sentence by itself
predicts    "alte" from "old" among the words of the German sentence, "old" from "alte" among those of the English one

Dou & Neubig (2021, section 2.2) train an encoder on the links of its own softmax. Here a target is the mean of its
probability and of the aligner's confidence: see `interlace.aligners.common.self_alignment`, which the aligner
`self_trained` shares.

Legend: B pairs, L tokens of the longest sentence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.aligners.common.self_alignment import (
    TEMPERATURE,
    self_alignment_loss,
    word_confidences,
)
from interlace.core.ragged import AnyArray
from interlace.core.randomness import Generator
from interlace.data import Pairs
from interlace.data.layout import separate_costs, separate_sides
from interlace.models.settings import layer_number
from interlace.objectives import (
    Batch,
    Objective,
    Prepared,
    Preview,
    Term,
    place_texts,
    token_texts,
)
from interlace.objectives.word_aligned import last_tokens, require_links

if TYPE_CHECKING:
    from torch import nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


class SelfAlignment(Objective):
    """Predict the aligned words of each word by the similarity of their states.

    Reads: pairs with word alignments, and their confidence if there is one; the two sides are separate sequences,
        encoded in one pass.
    Relations: `word_aligned` pulls aligned words together; this one also pushes other words of the sentence away, and
        doubts links that the model does not expect.
    Terms: `self_alignment`, a mean over the subwords of aligned words.
    Nothing is masked or drawn: a batch is a function of its examples.
    """

    reads = Pairs
    term = "self_alignment"
    needs = frozenset({"links"})

    layer: int | None = Field(
        None,
        description="Layer whose states are compared: 0 embeddings, -1 the last; none: at two thirds (8 of 12).",
    )
    temperature: float = Field(
        TEMPERATURE, gt=0, description="Divisor of cosines before the softmax."
    )

    def pair_costs(self, source: AnyArray, target: AnyArray) -> AnyArray:
        """Return (n,) tokens of two sequences, each as long as the longer side."""
        return separate_costs(source, target, self.max_length)

    def batch(self, examples: Pairs, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Lay out both sides, and look up the confidences of their words' links.

        A label is the last token of the word that a token's word is most surely linked to; the loss does not read it.
        Raise a DataError if the pairs have no links.
        """
        layout = separate_sides(examples, prepared.vocab, self.max_length)
        links = require_links(examples, self.name)
        confidence = None if examples.confidence is None else examples.confidence.flat
        confidences = word_confidences(links, confidence, layout)
        source, target = np.split(layout.words, 2)  # (B, L) each
        rows = np.arange(len(examples))[:, None]
        partners = np.concatenate(
            [confidences.argmax(2)[rows, source], confidences.argmax(1)[rows, target]]
        )
        highest = np.concatenate(
            [confidences.max(2)[rows, source], confidences.max(1)[rows, target]]
        )
        sequences, columns = np.nonzero(highest)
        partner_sequences = (sequences + len(examples)) % len(layout.ids)
        label_places = last_tokens(layout)[partner_sequences, partners[sequences, columns]]
        batch = Batch.of(
            layout,
            examples.languages,
            prepared,
            at=(sequences, columns),
            labels=layout.ids.reshape(-1)[label_places],
            counts={self.term: len(sequences)},
            extra={"words": layout.words, "confidences": confidences},
        )
        return replace(batch, sides=None)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """Return no heads; raise a SettingsError if the model lacks the layer."""
        self._layer(backbone)
        return super().modules(backbone)

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:  # noqa: ARG002
        """Return the negative log-probability of each word's links."""
        states = backbone.hidden_states(batch.inputs)[self._layer(backbone)]
        extra = batch.extra
        total = self_alignment_loss(
            states, extra["words"], extra["confidences"], self.temperature
        )
        return {self.term: Term(total)}

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Return the surest partner of each aligned word."""
        return Preview({"aligned to": place_texts(*batch.at, token_texts(vocab, batch.labels))})

    def _layer(self, backbone: Backbone) -> int:
        """Return the index of the layer, counted from the embeddings (0)."""
        return layer_number(
            f"{self.name}: layer", self.layer, int(backbone.model.config.num_hidden_layers)
        )
