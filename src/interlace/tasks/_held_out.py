"""Fixed evaluation batches of an objective, and the likelihood that a model gives to what they ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.core.randomness import Purpose, generator
from interlace.data import Sentences
from interlace.tasks._sizes import size_of_rows

if TYPE_CHECKING:
    import torch

    from interlace.data import Pairs
    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Objective, Prepared

BATCH = 1024  # subwords in a batch; never the run's own budget, for masks are drawn batch by batch
_MOST = 50.0  # a mean loss beyond this is a model that broke down


@dataclass(frozen=True)
class HeldOut:
    """The fixed evaluation batches of one corpus.

    words, characters: in what is predicted, of a causal objective; 0 where that makes no sense.
    name: what its perplexity is called.
    """

    corpus: str
    objective: Objective
    batches: list[Batch]
    words: int = 0
    characters: int = 0
    name: str = "perplexity"


def hold_out(
    corpus: str, rows: Sentences | Pairs, objective: Objective, prepared: Prepared, name: str = "perplexity"
) -> HeldOut:
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
    words, characters = 0, 0
    if objective.architecture == "causal" and isinstance(rows, Sentences):
        words, characters = size_of_rows(rows, prepared.vocab)
    return HeldOut(corpus, measured, batches, words, characters, name)


def summed(backbone: Backbone, corpus: HeldOut, device: torch.device) -> tuple[float, float]:
    """The summed loss and the predictions it sums over."""
    from torch import nn

    total, count = 0.0, 0.0
    heads = nn.ModuleDict()
    for batch in corpus.batches:
        terms = corpus.objective.loss(backbone, heads, batch.to(device))
        total += sum(float(term.total) for term in terms.values())
        count += sum(batch.counts.values())
    return total, count


def perplexity(total: float, count: float) -> float:
    """The exponential of a summed loss divided by a count."""
    return math.exp(min(total / max(count, 1.0), _MOST))
