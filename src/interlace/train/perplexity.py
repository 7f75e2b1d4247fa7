"""Held-out perplexity by language: fixed rows, fixed masks, every run and step alike.

The unit is said everywhere: per masked subword, under uniform 15 % masking that always shows the mask
(XLM's evaluation). It compares runs that share a vocabulary; it is not the perplexity of a causal model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from interlace.errors import DataError
from interlace.randomness import Purpose, generator

if TYPE_CHECKING:
    from interlace.data import Sentences
    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Objective, Prepared

UNIT = "per masked subword"
BATCH = 1024  # subwords in a batch; never the run's own budget, for masks are drawn batch by batch


@dataclass(frozen=True)
class HeldOut:
    """The fixed evaluation batches of one corpus."""

    corpus: str
    objective: Objective
    batches: list[Batch]


def hold_out(corpus: str, rows: Sentences, objective: Objective, prepared: Prepared) -> HeldOut:
    """The rows in batches whose masks never change: they depend on no seed and no batch size of a run.

    Raises:
        DataError: there are no rows.
    """
    if not len(rows):
        raise DataError(f"the held-out text of {corpus!r} does not fill one row of {objective.max_length} subwords")
    size = max(1, BATCH // int(rows.lengths.max() + 2))
    measured = objective.for_evaluation()
    batches = []
    for start in range(0, len(rows), size):
        chosen = rows.take(np.arange(start, min(start + size, len(rows))))
        batches.append(measured.batch(chosen, prepared, 0, generator(Purpose.EVALUATE, 0, start)))
    return HeldOut(corpus, measured, batches)


def perplexities(backbone: Backbone, held_out: list[HeldOut], device: torch.device) -> dict[str, float]:
    """`perplexity/XX` for each corpus, `perplexity/mean` (arithmetic, XLM's) and `perplexity/geometric`."""
    was_training = backbone.training
    backbone.eval()
    found: dict[str, float] = {}
    with torch.inference_mode():
        for corpus in held_out:
            found[f"perplexity/{corpus.corpus}"] = math.exp(min(_mean_loss(backbone, corpus, device), 50.0))
    backbone.train(was_training)
    values = list(found.values())
    found["perplexity/mean"] = float(np.mean(values))
    found["perplexity/geometric"] = float(np.exp(np.mean(np.log(values))))
    return {key: round(value, 5) for key, value in found.items()}


def _mean_loss(backbone: Backbone, corpus: HeldOut, device: torch.device) -> float:
    total, count = 0.0, 0.0
    heads = torch.nn.ModuleDict()
    for batch in corpus.batches:
        terms = corpus.objective.loss(backbone, heads, batch.to(device))
        total += sum(float(term.total) for term in terms.values())
        count += sum(batch.counts.values())
    return total / max(count, 1.0)
