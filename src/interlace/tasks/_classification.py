"""A class a row: a sentence, or two joined, read off one vector of the last layer.

    row     <s> he plays the piano </s> she sings </s>
    at       *                                            predict: contradiction

XLM and ALM read the first state, whatever the tokenizer calls that token; the mean and the largest of the states are
there to compare (Conneau & Lample 2019 found them no better).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.data import Pairs
from interlace.data.layout import pair_layout, sentence_layout
from interlace.objectives import Batch, BoolOrAuto, Prepared, Resources, Term, encoder_inputs, resolve_language_ids
from interlace.tasks import TaskHead
from interlace.tasks._head import apply_head, make_head

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from interlace.core.randomness import Generator
    from interlace.data import LabeledExamples
    from interlace.models.backbone import Backbone

Pooling = Literal["first", "mean", "max"]


class Classifier(TaskHead):
    """Dropout and a linear layer on one vector of each row."""

    term: ClassVar[str] = "classification"

    classes: int = Field(ge=2, description="Number of classes.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of the vector dropped before the linear layer.")
    pooling: Pooling = Field("first", description="The row's vector: its first state, or the mean or largest of all.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    def prepare(self, resources: Resources) -> Prepared:
        """Refuse language ids where the model has none."""
        resolve_language_ids(self.language_ids, resources.traits, "classification")
        return super().prepare(resources)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """The head."""
        return make_head(backbone.width, self.classes, self.dropout)

    def batch(self, examples: LabeledExamples, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Ask for the class of every row that has one; positions run on over both sides; nothing is random."""
        if examples.labels is None:
            raise DataError("classification: these examples have no labels")
        inner: Any = examples.examples
        pairs = isinstance(inner, Pairs)
        lay_out: Any = pair_layout if pairs else sentence_layout
        layout = lay_out(inner, prepared.vocab, min(self.max_length, prepared.traits.max_length))
        languages = (inner.source.language, inner.target.language) if pairs else (inner.language,)
        language_ids = resolve_language_ids(self.language_ids, prepared.traits, "classification")
        rows = np.flatnonzero(examples.labels >= 0)
        return Batch(
            inputs=encoder_inputs(layout, prepared.traits, languages, language_ids=language_ids),
            at=(rows, np.zeros_like(rows)),
            labels=examples.labels[rows].astype(np.int64),
            counts={self.term: float(len(rows))},
            tokens=layout.tokens,
            extra={} if self.pooling == "first" else {"content": layout.content},
        )

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Sum of cross-entropies over rows."""
        from torch.nn.functional import cross_entropy

        return {self.term: Term(cross_entropy(self._scores(backbone, heads, batch), batch.labels, reduction="sum"))}

    def predict(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> NDArray[np.int32]:
        """(N,) the likeliest class of each row."""
        import torch

        with torch.inference_mode():
            best = self._scores(backbone, heads, batch).argmax(dim=-1)
        return np.asarray(best.cpu().numpy(), np.int32)

    def _scores(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> Tensor:
        """(N, C); mean and max take the subwords of the text, without specials."""
        from interlace.models.backbone import pool

        states = self.states(backbone, batch)
        if self.pooling == "first":
            return apply_head(heads, states[batch.at])
        return apply_head(heads, pool(states, batch.extra["content"], self.pooling)[batch.at[0]])
