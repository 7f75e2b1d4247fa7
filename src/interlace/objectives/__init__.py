"""Registry of objectives: what a model learns from. Batching is numpy, losing is torch.

The contract is `Objective`. What members are built of, and guests by `--code` may be, is imported from here too:
`MaskedObjective` and `Masking` choose what is predicted, `encoder_inputs` makes what an encoder reads of laid-out rows
(`interlace.data.layout`), `Dictionary` is the field of those that need a lexicon, `Preview` is what people are told.

Legend: B rows of a batch, L subwords of the longest row, N predictions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.registry import Registry
from interlace.core.settings import Settings
from interlace.data import LabeledExamples, Pairs, Sentences
from interlace.data.layout import MAX_SPECIALS
from interlace.data.questions import Questions
from interlace.objectives._preview import Preview, pieces, placed

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from interlace.alignment.lexicon import Lexicon
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.families import Traits

__all__ = [
    "OBJECTIVES",
    "Batch",
    "BoolOrAuto",
    "Dictionaries",
    "Dictionary",
    "Examples",
    "MaskedObjective",
    "MaskedText",
    "Masking",
    "Objective",
    "Prepared",
    "PreparedMasked",
    "Preview",
    "Resources",
    "Term",
    "encoder_inputs",
    "language_id",
    "pieces",
    "placed",
    "resolve_language_ids",
    "resolve_reset_positions",
    "tokens_by_language",
]

Examples = Sentences | Pairs | LabeledExamples | Questions


@dataclass
class Batch:
    """Arrays of one micro-batch; the loop turns them into tensors of the same names.

    inputs: what the encoder reads: `input_ids` (B, L) and, only where needed, `attention_mask`, `position_ids`,
        `token_type_ids` or `langs`, all (B, L).
    at: (N,) rows and (N,) columns of the predictions.
    labels: (N,) what is right there.
    extra: further arrays of an objective's own; `Objective.preview` says for people what is in them.
    sides: (B, L) 0 and 1 for the two sides of pairs, or None; for people, no model reads it.
    counts: by loss term, how many predictions its total sums over (known before the forward pass); the same terms in
        the same order in all batches of a corpus, for processes add them up by place (the loop sees to it).
    tokens: real subwords in the batch, padding left out.
    languages: of them, how many are in which language, the same languages in all batches of a corpus; empty where an
        objective does not tell.
    """

    inputs: dict[str, Any]
    at: tuple[Any, Any]
    labels: Any
    counts: dict[str, float]
    tokens: int
    extra: dict[str, Any] = field(default_factory=dict)
    sides: Any = None
    languages: dict[str, int] = field(default_factory=dict)

    def to(self, device: torch.device) -> Batch:
        """The same batch with tensors on a device in place of arrays."""
        import torch

        def move(array: Any) -> Tensor:
            return torch.from_numpy(array).to(device, non_blocking=True)

        return replace(
            self,
            inputs={name: move(array) for name, array in self.inputs.items()},
            at=(move(self.at[0]), move(self.at[1])),
            labels=move(self.labels),
            extra={name: move(array) for name, array in self.extra.items()},
        )


@dataclass(frozen=True)
class Term:
    """A sum of losses over a batch, and its weight beside other terms; never a mean."""

    total: Tensor
    weight: float = 1.0


@dataclass(frozen=True)
class Resources:
    """What an objective may look at once, before training.

    frequencies: (vocabulary,) count of each subword in the corpora the objective reads, or None where not counted.
    lexicons: (source language, target language) -> dictionary, for objectives that need `lexicon`.
    languages: of the recipe; a vocabulary or a model that training goes on from may know more.
    """

    vocab: Vocab
    traits: Traits
    frequencies: np.ndarray[Any, Any] | None = None
    seed: int = 0
    lexicons: dict[tuple[str, str], Lexicon] = field(default_factory=dict)
    languages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """Arrays an objective needs while it makes batches; subclassed where one needs more.

    dictionaries: what was drawn for objectives that need `lexicon`; stored with the run.
    """

    vocab: Vocab
    traits: Traits
    dictionaries: Dictionaries | None = field(default=None, kw_only=True)


class Objective(Settings, ABC):
    """One way of learning. Subclass, write `batch`, and the default `loss` does cross-entropy at `batch.at`."""

    reads: ClassVar[type] = Sentences
    streams: ClassVar[bool] = False  # read full rows of running text instead of single sentences
    architecture: ClassVar[str] = "masked"  # reads both ways; "causal": left to right; "seq2seq": writes too
    drops_long: ClassVar[bool] = False  # rows beyond max_length are left out of training, and none is cut
    term: ClassVar[str] = "loss"  # name of the default loss's term
    stochastic: ClassVar[bool] = True  # whether a batch depends on the step and the generator
    batch_uses: ClassVar[int] = 1  # so many of its steps in a row get the same examples
    needs_frequencies: ClassVar[bool] = False
    # Beside its pairs: "links", "phrases", "known" (to the phrase table); apart from them: "lexicon", which comes with
    # a field `dictionary` (see `_lexicons`).
    needs: ClassVar[frozenset[str]] = frozenset()

    max_length: int = Field(256, ge=8, description="Longest row in subwords, specials included (XLM: 256).")

    def prepare(self, resources: Resources) -> Prepared:
        """Check what is there and compute what every batch needs."""
        return Prepared(resources.vocab, resources.traits)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:  # noqa: ARG002 - heads are sized by it
        """Extra heads: trained and checkpointed with the backbone, dropped at export."""
        from torch import nn

        return nn.ModuleDict()

    @abstractmethod
    def batch(self, examples: Any, prepared: Any, step: int, rng: np.random.Generator) -> Batch:
        """Make a batch: a pure function of its arguments."""

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:  # noqa: ARG002
        """Sum of cross-entropies at `batch.at`, gathered before the vocabulary head."""
        from torch.nn.functional import cross_entropy

        states = backbone.encode(batch.inputs)  # (B, L, H)
        logits = backbone.logits(states[batch.at])  # (N, V)
        return {self.term: Term(cross_entropy(logits.float(), batch.labels, reduction="sum"))}

    def notes(self, examples: Any, prepared: Any) -> list[str]:  # noqa: ARG002 - most have nothing to say
        """What people should know about how it reads these examples, told once before training."""
        return []

    def packed_length(self, vocab: Vocab) -> int | None:  # noqa: ARG002 - most rows are not filled
        """Subwords of a side of a row that whole sentences, or whole pairs, fill one after another; None: they do not.

        See `interlace.data.packing`.
        """
        return None

    def pair_costs(self, source: NDArray[Any], target: NDArray[Any]) -> NDArray[Any]:
        """(n,) subwords, padding and specials included, that pairs of sides this long take in a batch.

        As one row with both sides; objectives that lay pairs out otherwise say how. Batches are cut by it.
        """
        costs: NDArray[Any] = np.minimum(source + target + MAX_SPECIALS, self.max_length)
        return costs

    def sentence_costs(self, lengths: NDArray[Any]) -> NDArray[Any]:
        """(n,) the same of single sentences of so many subwords."""
        costs: NDArray[Any] = np.minimum(lengths + MAX_SPECIALS, self.max_length)
        return costs

    def for_evaluation(self) -> Objective:
        """The same objective as held-out perplexity measures it: fixed and comparable between runs."""
        return self

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """What people are told of a batch of numpy arrays: what is asked of the model, below the subword it reads.

        An objective that keeps something in `batch.extra` says here what that means; see `interlace preview`.
        """
        name = "next" if self.architecture == "causal" else "predicts"
        return Preview({name: placed(*batch.at, pieces(vocab, batch.labels))})


OBJECTIVES: Registry[Objective] = Registry(__name__, "objective", Objective)

# What objectives are built of. It knows the contract above, so it comes after it.
from interlace.objectives._inputs import (  # noqa: E402
    BoolOrAuto,
    encoder_inputs,
    language_id,
    resolve_language_ids,
    resolve_reset_positions,
    tokens_by_language,
)
from interlace.objectives._lexicons import Dictionaries, Dictionary  # noqa: E402
from interlace.objectives._masked import MaskedObjective, MaskedText, PreparedMasked  # noqa: E402
from interlace.objectives._masking import Masking  # noqa: E402
