"""Causal language modelling on running text (Conneau & Lample 2019, section 3.2).

    before  <s> the old doctor reads three letters </s> he works in Berlin </s>
    after   the same sequence, read left to right      predict: the, old, ... letters, </s>, he, works, in, Berlin

Each token is predicted from those before it. The `</s>` between two sentences is part of the text and is predicted;
the one that closes the sequence is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.ragged import BoolArray
from interlace.core.randomness import Generator
from interlace.data.layout import sentence_layout
from interlace.objectives import Batch, Objective, Prepared, Resources, Term

if TYPE_CHECKING:
    from torch import nn

    from interlace.data import Sentences
    from interlace.models.backbone import Backbone


@dataclass(frozen=True, kw_only=True)
class PreparedClm(Prepared):
    """Adds (vocabulary,) which tokens may be predicted: no special ones, except sentence ends."""

    predictable: BoolArray


class Clm(Objective):
    """Predict each token from those to its left.

    Reads: one language per batch, full sequences of consecutive sentences; no state is carried between sequences.
    Relations: `mlm` is bidirectional; a backbone may alternate both (XLM initializes translation from either).
    """

    streams = True
    architecture = "causal"
    term = "clm"

    context_size: int = Field(
        0,
        ge=0,
        description="Number of first tokens of a sequence that are read and not predicted (an option of XLM's code; "
        "its paper, section 3.2, predicts all).",
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that some tokens of a full sequence are predicted."""
        if self.context_size > self.max_length - 3:
            message = f"context_size must leave tokens to predict: at most max_length - 3 = {self.max_length - 3}"
            raise ValueError(f"{message}, found {self.context_size}")

    def prepare(self, resources: Resources) -> PreparedClm:
        """Return which tokens may be predicted."""
        predictable = np.ones(resources.vocab.size, np.bool_)
        predictable[resources.vocab.special_ids] = False
        # inside a sequence, so that generation can stop
        predictable[resources.vocab.end] = True
        return PreparedClm(**vars(super().prepare(resources)), predictable=predictable)

    def batch(
        self,
        examples: Sentences,
        prepared: PreparedClm,
        step: int,  # noqa: ARG002
        rng: Generator,  # noqa: ARG002
    ) -> Batch:
        """Predict every predictable token, from the state of its left neighbor; nothing is drawn."""
        layout = sentence_layout(examples, prepared.vocab, self.max_length)
        columns = np.arange(1, layout.ids.shape[1])
        # of shape (B, L - 1)
        inside = (columns < layout.lengths[:, None] - 1) & (columns > self.context_size)
        rows, before = np.nonzero(inside & prepared.predictable[layout.ids[:, 1:]])
        labels = layout.ids[rows, before + 1]
        counts = {self.term: len(labels)}
        return Batch.of(
            layout,
            (examples.language,),
            prepared,
            at=(rows, before),
            labels=labels,
            counts=counts,
        )

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:  # noqa: ARG002
        """Return the cross-entropy of the tokens to the right of `batch.at`."""
        from interlace.objectives.common.losses import vocabulary_loss

        states = backbone.encode(batch.inputs, causal=True)[batch.at]  # (N, H)
        return {self.term: Term(vocabulary_loss(backbone, states, batch.labels)[0])}
