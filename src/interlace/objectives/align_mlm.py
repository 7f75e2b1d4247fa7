"""Masked language modelling that also pulls the embeddings of translations together (ALIGN-MLM, Tang et al. 2022).

before  <s> the old doctor reads three letters </s> he works in Berlin </s>     dictionary: old/alt, doctor/Arzt
after   <s> the [M] doctor reads three sea     </s> he works in [M]    </s>     predict: old, letters, Berlin
        and the rows `old` and `alt`, `doctor` and `Arzt` of the embedding table come closer at every step

The dictionary's part of the loss reads no text: the same pairs stand in every micro-batch of a step.

Legend: V vocabulary, H width; P pairs, W words, K other words of a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.objectives import Preview, Term
from interlace.objectives._alignment_pairs import AlignmentPairs
from interlace.objectives._with_dictionary import PreparedWithDictionary, WithDictionary

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.core.randomness import Generator
    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Resources

MOST = 12  # dictionary entries that people are told of


@dataclass(frozen=True)
class PreparedAlignMlm(PreparedWithDictionary):
    """Adds the dictionary's entries."""

    entries: AlignmentPairs


class AlignMlm(WithDictionary):
    """Predict masked subwords, and bring the embeddings of dictionary entries together.

    Reads: as `mlm`, and a dictionary. Logs: `mlm`, the cross-entropy a prediction, and `align`, the loss an entry.
    Relations: `mlm` with `alignment_weight` 0; `dict_mlm` shows a dictionary to the model inside its text.
    """

    term: ClassVar[str] = "mlm"

    alignment_weight: float = Field(
        1.0, ge=0, description="Weight of the alignment beside `mlm` (ALIGN-MLM, G.5: 10, from scratch)."
    )
    alignment_loss: Literal["cosine", "hinge", "contrastive"] = Field(
        "cosine",
        description="cosine: 1 - cos of each pair (ALIGN-MLM, section 3). It pushes nothing apart; hinge keeps the "
        "nearest of `others` a margin away (Lazaridou et al. 2015), contrastive is a softmax over them (InfoNCE).",
    )
    table: Literal["input", "output", "both"] = Field(
        "input", description="Which embeddings; one and the same where they are tied (ALIGN-MLM's code: input)."
    )
    most_subwords: int = Field(
        4,
        ge=1,
        description="Words of more subwords are left out; of several, the mean of their rows stands for the word. "
        "1: only words of one (ALIGN-MLM, section 3). Long ones are spelt in letters that all words share.",
    )
    pairs_per_step: Literal["all"] | int = Field(
        "all", description="Entries a step takes, drawn without bias; all of them in ALIGN-MLM's code."
    )
    others: int = Field(256, ge=1, description="Target words a step draws for hinge and contrastive.")
    margin: float = Field(0.4, gt=0, le=2, description="How much nearer a translation must be (hinge), in cosine.")
    temperature: float = Field(0.1, gt=0, description="What cosines are divided by in the softmax (contrastive).")

    def model_post_init(self, _context: object) -> None:
        """A step takes at least one pair."""
        if self.pairs_per_step != "all" and self.pairs_per_step < 1:
            message = f"pairs_per_step is 'all' or at least 1, found {self.pairs_per_step}"
            raise ValueError(message)

    def prepare(self, resources: Resources) -> PreparedAlignMlm:
        """Draw from the dictionaries and spell their entries.

        Raises:
            DataError: there is no dictionary, or none of its entries can be used.
        """
        dictionaries = self.dictionary.prepare(resources, "align_mlm", most=self.most_subwords)
        pairs = None if self.pairs_per_step == "all" else self.pairs_per_step
        others = 0 if self.alignment_loss == "cosine" else self.others
        entries = AlignmentPairs.of(dictionaries, pairs=pairs, others=others, seed=resources.seed)
        text = self.for_masking(resources, "align_mlm")
        return PreparedAlignMlm(resources.vocab, resources.traits, text, entries, dictionaries=dictionaries)

    def batch(self, examples: Sentences, prepared: PreparedAlignMlm, step: int, rng: Generator) -> Batch:
        """A batch of `mlm` with the step's entries, which all its micro-batches share."""
        batch = self.mlm.batch(examples, prepared.text, step, rng)
        counts = {**batch.counts, "align": prepared.entries.count}
        return replace(batch, counts=counts, extra={**batch.extra, **prepared.entries.arrays(step)})

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Cross-entropies at the masks, and the alignment loss of the entries."""
        terms = self.mlm.loss(backbone, heads, batch)
        losses = [self._alignment(table, batch.extra) for table in self._tables(backbone)]
        return {**terms, "align": Term(sum(losses[1:], losses[0]) / len(losses), self.alignment_weight)}

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Adds the entries that are pulled together, and what they are kept apart from."""
        return Preview(super().preview(batch, vocab).lines, _pulled(batch, vocab) if "align_ids" in batch.extra else [])

    def _tables(self, backbone: Backbone) -> list[Tensor]:
        """The (V, H) tables that are aligned; tied ones are one."""
        output: Tensor = backbone.model.get_output_embeddings().weight
        if self.table == "input" or output is backbone.input_embeddings:
            return [backbone.input_embeddings]
        return [output] if self.table == "output" else [backbone.input_embeddings, output]

    def _alignment(self, table: Tensor, extra: dict[str, Tensor]) -> Tensor:
        """The sum over pairs of 1 - cos, or of what the other losses make of cosines."""
        import torch
        from torch.nn.functional import cross_entropy, embedding_bag, normalize

        with torch.autocast(table.device.type, enabled=False):  # in bfloat16 a cosine has two digits
            words = embedding_bag(extra["align_ids"], table, extra["align_starts"], mode="mean").float()
            words = normalize(words)  # (W, H)
            source = words[extra["align_source"]]
            near = (source * words[extra["align_target"]]).sum(dim=1)  # (P,)
            if self.alignment_loss == "cosine":
                return (1 - near).sum()
            far = source @ words[extra["align_others"]].T  # (P, K)
            far = far.index_put(tuple(extra["align_known"]), far.new_tensor(-torch.inf))
            if self.alignment_loss == "hinge":
                return (self.margin - near + far.amax(dim=1)).clamp(min=0).sum()
            scores = torch.cat([near[:, None], far], dim=1) / self.temperature
            return cross_entropy(scores, scores.new_zeros(len(scores), dtype=torch.long), reduction="sum")


def _pulled(batch: Batch, vocab: Vocab) -> list[str]:
    """Dictionary entries whose rows of the embedding table come closer, and words they are kept apart from."""
    extra = batch.extra
    words = [vocab.decode(ids).strip() for ids in np.split(extra["align_ids"], extra["align_starts"][1:])]
    pairs = [f"{words[a]}-{words[b]}" for a, b in zip(extra["align_source"], extra["align_target"], strict=True)]
    more = f" and {len(pairs) - MOST} more" if len(pairs) > MOST else ""
    notes = [f"pulled together: {' '.join(pairs[:MOST])}{more}"]
    if len(others := extra.get("align_others", [])):
        notes.append(f"kept apart from: {' '.join(words[word] for word in others[:MOST])}")
    return notes
