"""Contrastive learning of sentence vectors: a sentence is nearer to its translation than to others of the update.

                     das Haus ist groß     sie liest einen Brief
the house is big     translation           negative
she reads a letter   negative              translation

Legend: B pairs of a micro-batch, N pairs of the update, over micro-batches and processes, D dimensions of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.core.ragged import IntArray
from interlace.core.randomness import Generator
from interlace.data import Pairs, Sentences
from interlace.data.hashing import HashedLines
from interlace.objectives import (
    Batch,
    GatherRows,
    Prepared,
    Preview,
    Term,
    UpdateObjective,
    place_texts,
)
from interlace.objectives.common.sentence_vectors import (
    SentenceVectorObjective,
    place_sequences,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

MAX_LOGITS = 1 << 26  # in memory at once, in float32

# of `Batch.extra`: (B, 2) hashes of the sentences, (B, 2, D) gradients of their vectors, the loss of the B pairs
_SENTENCES = "sentences"
_GRADIENTS = "gradients"
_TOTAL = "total"


class Contrastive(SentenceVectorObjective, UpdateObjective):
    """Cross-entropy of each sentence's translation among all sentences of its language in the update (InfoNCE).

    Scores are cosines, less `margin` for the translation, divided by `temperature`. The loss of a pair is the mean of
    both directions (Yang et al. 2019; Feng et al. 2020). An update in several micro-batches or processes has the same
    negatives and the same gradient as one large batch: its sentences are encoded twice, first for the gradient of the
    loss in their vectors (Gao et al. 2021). Sentences that are identical to the translation are no negatives, nor are
    translations of identical sentences.

    Reads: pairs; the two sides are separate sequences, encoded in one pass.
    Relations: `word_aligned` compares the vectors of words instead of sentences, without negatives.
    Terms: `contrastive`, a mean over pairs.
    Nothing is masked or drawn: a batch is a function of its examples.
    """

    term = "contrastive"

    temperature: float = Field(
        0.05, gt=0, description="Divides cosines (sentence-transformers: 0.05; E5: 0.01)."
    )
    margin: float = Field(
        0.0,
        ge=0,
        le=2,
        description="How much nearer than the negatives a translation must be, in cosine (LaBSE: 0.3).",
    )

    def batch(self, examples: Pairs, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Lay out the source sentences first, then the target sentences; hash both."""
        hashes = [_hashes(side) for side in (examples.source, examples.target)]
        extra = {_SENTENCES: np.stack(hashes, axis=1)}
        return self.batch_of_pairs(examples, prepared, extra)

    def vectors(self, backbone: Backbone, batch: Batch) -> Tensor:
        """Return the (B, 2, D) vectors of the source and the target sentences."""
        both_sides = backbone.sentence_vectors(batch.inputs)  # (2B, D)
        pairs = len(both_sides) // 2
        return both_sides.reshape(2, pairs, -1).transpose(0, 1)

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:  # noqa: ARG002
        """Return the loss of the pairs, among those of the batch or with gradients that are known already."""
        import torch

        vectors = self.vectors(backbone, batch)
        if _GRADIENTS not in batch.extra:
            numbers = torch.arange(len(vectors), device=vectors.device)
            losses = self._losses(vectors, batch.extra[_SENTENCES], numbers)
            return {self.term: Term(losses.sum())}
        product = (vectors * batch.extra[_GRADIENTS]).sum()
        # the value of the loss, with the gradient of the product
        return {self.term: Term(batch.extra[_TOTAL] + product - product.detach())}

    def with_gradients(
        self, batches: Sequence[Batch], vectors: Sequence[Tensor], gather: GatherRows
    ) -> list[Batch]:
        """Return micro-batches with the gradient of the loss of all N pairs in their vectors, and their part of it."""
        import torch

        sizes = [len(part) for part in vectors]
        all_vectors, first = gather(torch.cat(list(vectors)))  # (N, 2, D)
        sentences, _ = gather(torch.cat([batch.extra[_SENTENCES] for batch in batches]))
        all_vectors.requires_grad_()
        numbers = torch.arange(len(all_vectors), device=all_vectors.device)
        all_losses = torch.zeros(len(numbers), device=numbers.device)
        all_gradients = torch.zeros_like(all_vectors)
        for rows in torch.split(numbers, max(1, MAX_LOGITS // len(numbers))):
            losses = self._losses(all_vectors, sentences, rows)
            all_losses[rows] = losses.detach()
            all_gradients += torch.autograd.grad(losses.sum(), all_vectors)[0]
        own_rows = slice(first, first + sum(sizes))
        gradients = torch.split(all_gradients[own_rows], sizes)
        own_losses = torch.split(all_losses[own_rows], sizes)
        with_gradients = []
        for batch, gradient, losses in zip(batches, gradients, own_losses, strict=True):
            cached = {_GRADIENTS: gradient, _TOTAL: losses.sum()}
            with_gradients.append(replace(batch, extra=batch.extra | cached))
        return with_gradients

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:  # noqa: ARG002
        """Return the sequence that is each one's translation, and how many others are negatives."""
        sentences = batch.extra[_SENTENCES]
        count = len(sentences)
        numbers = np.arange(2 * count)
        translations = (numbers + count) % (2 * count)
        negatives = (sentences[:, None] != sentences).all(axis=2).sum(axis=1)
        texts = [str(number) for number in np.tile(negatives, 2).tolist()]
        columns = np.zeros_like(numbers)
        return Preview(
            {
                "translation": place_sequences(translations),
                "negatives": place_texts(numbers, columns, texts),
            }
        )

    def _losses(self, vectors: Tensor, sentences: Tensor, rows: Tensor) -> Tensor:
        """Return the (n,) losses of the pairs `rows` among all.

        vectors: (N, 2, D). sentences: (N, 2) hashes of source and target.
        """
        import torch
        from torch.nn.functional import cross_entropy, normalize

        is_same = (sentences[rows, None] == sentences).any(dim=2)  # (n, N)
        is_pair = rows[:, None] == torch.arange(len(sentences), device=rows.device)
        with torch.autocast(
            vectors.device.type, enabled=False
        ):  # in bfloat16 a cosine has two digits
            source, target = normalize(vectors.float(), dim=2).unbind(dim=1)
            losses = []
            for queries, candidates in ((source, target), (target, source)):
                cosines = queries[rows] @ candidates.T - self.margin * is_pair
                scores = (cosines / self.temperature).masked_fill(
                    is_same & ~is_pair, -torch.inf
                )
                losses.append(cross_entropy(scores, rows, reduction="none"))
        return (losses[0] + losses[1]) / 2


def _hashes(side: Sentences) -> IntArray:
    """(B,) a hash of the subwords of each sentence."""
    offsets = side.ids.offsets - side.ids.offsets[0]
    lines = HashedLines(side.ids.flat, offsets)
    return lines.whole().view(np.int64)
