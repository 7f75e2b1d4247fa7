"""Causal language modelling over streams of running text (Conneau & Lample 2019, section 3.2).

    before  <s> the old doctor reads three letters </s> he works in Berlin </s>
    after   the same row, read from left to right      predict: the, old, ... letters, </s>, he, works, in, Berlin

Each subword is guessed from those before it alone. The `</s>` between two sentences belongs to the text and is guessed
too; the one that closes the row belongs to the row and is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.objectives import (
    Batch,
    BoolOrAuto,
    Objective,
    Prepared,
    Term,
    encoder_inputs,
    resolve_language_ids,
    tokens_by_language,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from interlace.core.randomness import Generator
    from interlace.data.layout import Layout
    from interlace.models.backbone import Backbone
    from interlace.objectives import Resources


@dataclass(frozen=True)
class PreparedClm(Prepared):
    """Adds what may be predicted and whether language ids are fed.

    predictable: (vocabulary,) False for specials, but for the end of a sentence where it is predicted.
    """

    predictable: NDArray[np.bool_]
    language_ids: bool


class Clm(Objective):
    """Predict each subword from those to its left.

    Reads: one language a batch, full rows of any number of consecutive sentences; nothing is carried from row to row.
    Relations: `mlm` sees both sides; a backbone may learn by both in turn (XLM starts translation from either).
    """

    reads = Sentences
    streams = True
    architecture = "causal"
    stochastic = False
    term: ClassVar[str] = "clm"

    context_size: int = Field(
        0,
        ge=0,
        description="First subwords of a row that are read and not predicted, for want of context (an option of XLM's "
        "code; its paper, section 3.2, predicts them all).",
    )
    ends: bool = Field(
        True, description="Predict where a sentence of a stream ends (XLM's code); without it no text would stop."
    )
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    def model_post_init(self, _context: Any) -> None:
        """Some subwords of a full row must be left to predict."""
        if self.context_size > self.max_length - 3:
            message = f"context_size must leave something to predict: at most max_length - 3 = {self.max_length - 3}"
            raise ValueError(f"{message}, found {self.context_size}")

    def prepare(self, resources: Resources) -> PreparedClm:
        """What may be predicted."""
        predictable = np.ones(resources.vocab.size, np.bool_)
        predictable[resources.vocab.special_ids] = False
        predictable[resources.vocab.end] = self.ends
        language_ids = resolve_language_ids(self.language_ids, resources.traits, "clm")
        return PreparedClm(resources.vocab, resources.traits, predictable, language_ids)

    def batch(self, examples: Sentences, prepared: PreparedClm, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """All that is there to predict; nothing is drawn, so `step` and `rng` change nothing."""
        layout = sentence_layout(examples, prepared.vocab, self.max_length)
        rows, columns = self._predicting(layout, prepared.predictable)
        languages = (examples.language,)
        return Batch(
            inputs=encoder_inputs(layout, prepared.traits, languages, language_ids=prepared.language_ids),
            at=(rows, columns),
            labels=layout.ids[rows, columns + 1],
            counts={self.term: len(rows)},
            tokens=layout.tokens,
            languages=tokens_by_language(layout, languages),
        )

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:  # noqa: ARG002
        """Sum of cross-entropies of the subwords to the right of `batch.at`, nearly all there are."""
        from interlace.objectives._smoothed import smoothed_entropy

        states = backbone.encode(batch.inputs, causal=True)[batch.at]  # (N, H)
        return {self.term: Term(smoothed_entropy(backbone, states, batch.labels, 0.0)[0])}

    def _predicting(self, layout: Layout, predictable: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
        """(N,) rows and columns of the subwords whose right neighbour is predicted."""
        columns = np.arange(1, layout.ids.shape[1])
        inside = (columns < layout.lengths[:, None] - 1) & (columns > self.context_size)  # (B, L - 1)
        rows, before = np.nonzero(inside & predictable[layout.ids[:, 1:]])
        return rows, before
