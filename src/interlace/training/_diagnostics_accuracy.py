"""How often a model's first guess is right, on the fixed batches that perplexity is measured on.

Legend: N predictions, V vocabulary, H width.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

import torch

from interlace.objectives._seq2seq import Seq2SeqObjective

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Objective
    from interlace.training.perplexity import HeldOut

MOST_LOGITS = 1 << 24  # scores held at a time: 64 MiB


def beginning(held_out: HeldOut, tokens: int) -> HeldOut:
    """The first batches, up to so many subwords and at least one batch; no mask changes."""
    before = accumulate((batch.tokens for batch in held_out.batches), initial=0)
    batches = [batch for batch, seen in zip(held_out.batches, before, strict=False) if not seen or seen < tokens]
    return replace(held_out, batches=batches)


def accuracies(backbone: Backbone, held_out: Iterable[HeldOut], device: torch.device) -> dict[str, float]:
    """`accuracy/XX` in percent for each corpus; named as its perplexity is, so `causal_accuracy/XX` beside masks."""
    was_training = backbone.training
    backbone.eval()
    with torch.inference_mode():
        found = {
            f"{corpus.name.replace('perplexity', 'accuracy')}/{corpus.corpus}": _accuracy(backbone, corpus, device)
            for corpus in held_out
        }
    backbone.train(was_training)
    return found


def _accuracy(backbone: Backbone, corpus: HeldOut, device: torch.device) -> float:
    right, count = torch.zeros((), dtype=torch.int64, device=device), 0
    for batch in (batch.to(device) for batch in corpus.batches):
        states = _states(backbone, corpus.objective, batch)
        right += (_guesses(backbone, states) == batch.labels).sum()
        count += len(states)
    return 100 * int(right) / max(count, 1)


def _states(backbone: Backbone, objective: Objective, batch: Batch) -> Tensor:
    """(N, H) what the labels are predicted from."""
    if isinstance(objective, Seq2SeqObjective):
        return objective.predicting(backbone, batch.inputs, batch)
    causal = True if objective.architecture == "causal" else None
    return backbone.encode(batch.inputs, causal=causal)[batch.at]


def _guesses(backbone: Backbone, states: Tensor) -> Tensor:
    """(N,) the likeliest subword of each, in parts: a causal model predicts too much for one table of scores."""
    parts: Sequence[Tensor] = torch.split(states, max(1, MOST_LOGITS // backbone.vocab_size))
    return torch.cat([backbone.logits(part).argmax(dim=1) for part in parts])
