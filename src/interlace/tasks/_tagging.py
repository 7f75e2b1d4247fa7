"""A class a word, predicted from the word's first subword (Devlin et al. 2019, section 5.3).

    row     <s> the doc tors read let ters </s>
    at           *   *       *    *                predict: DET NOUN VERB NOUN

A word that the row had to be cut before has no prediction. It is not left out of the score: `predict_all` gives it -1,
and that is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.data.layout import sentence_layout
from interlace.objectives import Batch, BoolOrAuto, Prepared, Resources, Term, encoder_inputs, resolve_language_ids
from interlace.tasks import TaskHead
from interlace.tasks._head import apply_head, make_head

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from interlace.core.ragged import Ragged
    from interlace.core.randomness import Generator
    from interlace.data import LabeledExamples
    from interlace.data.layout import Layout
    from interlace.models.backbone import Backbone


class Tagger(TaskHead):
    """Dropout and a linear layer on the last state of each word's first subword."""

    term: ClassVar[str] = "tagging"

    classes: int = Field(ge=2, description="Number of tags.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of the state dropped before the linear layer.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    def prepare(self, resources: Resources) -> Prepared:
        """Refuse language ids where the model has none."""
        resolve_language_ids(self.language_ids, resources.traits, "tagging")
        return super().prepare(resources)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """The head."""
        return make_head(backbone.width, self.classes, self.dropout)

    def batch(self, examples: LabeledExamples, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Ask for the tag of every word that has one and stands in the row; nothing is random."""
        sentences: Any = examples.examples
        layout = sentence_layout(sentences, prepared.vocab, min(self.max_length, prepared.traits.max_length))
        rows, columns = np.nonzero(first_subwords(layout))
        words = layout.words[rows, columns]
        labels = _tags_at(examples.tags, rows, words)
        known = labels >= 0
        language_ids = resolve_language_ids(self.language_ids, prepared.traits, "tagging")
        return Batch(
            inputs=encoder_inputs(layout, prepared.traits, (sentences.language,), language_ids=language_ids),
            at=(rows[known], columns[known]),
            labels=labels[known].astype(np.int64),
            counts={self.term: float(known.sum())},
            tokens=layout.tokens,
            extra={"words": words[known]},
        )

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Sum of cross-entropies over words."""
        from torch.nn.functional import cross_entropy

        return {self.term: Term(cross_entropy(self._scores(backbone, heads, batch), batch.labels, reduction="sum"))}

    def predict(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> NDArray[np.int32]:
        """(N,) the likeliest tag of each word."""
        import torch

        with torch.inference_mode():
            best = self._scores(backbone, heads, batch).argmax(dim=-1)
        return np.asarray(best.cpu().numpy(), np.int32)

    def _scores(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> Tensor:
        """(N, C)."""
        return apply_head(heads, self.states(backbone, batch)[batch.at])


def first_subwords(layout: Layout) -> NDArray[np.bool_]:
    """(B, L) true where a word begins."""
    begins = layout.content.copy()
    begins[:, 1:] &= layout.words[:, 1:] != layout.words[:, :-1]
    return begins


def _tags_at(tags: Ragged | None, rows: NDArray[Any], words: NDArray[Any]) -> NDArray[np.int32]:
    """(N,) the tag of the given words of the given rows."""
    if tags is None:
        raise DataError("tagging: these examples have no tags")
    if len(rows) and (words >= tags.lengths[rows]).any():
        row = int(rows[words >= tags.lengths[rows]][0])
        raise DataError(
            f"tagging: row {row} has words beyond its {tags.lengths[row]} tags; "
            "tags and subwords must come from the same word tokenizer"
        )
    return np.asarray(tags.values[tags.offsets[rows] + words], np.int32)
