"""Predict whole data sets in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from interlace.core.ragged import AnyArray, IntArray, Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs
from interlace.data.sampling import BucketPlan

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch import nn

    from interlace.models.backbone import Backbone
    from interlace.objectives import Prepared
    from interlace.tasks import Predictions, TaskHead


@dataclass(frozen=True)
class InputLimits:
    """How text is fed to a model as it is. max_length: of a sequence. tokens_per_batch: padding included."""

    max_length: int
    tokens_per_batch: int


@contextmanager
def inference(*modules: nn.Module) -> Iterator[None]:
    """Compute without dropout and gradients; the modules return to their modes afterwards."""
    import torch

    from interlace.models.backbone import eval_mode

    with torch.inference_mode(), eval_mode(*modules):
        yield


def predict_all(
    head: TaskHead,
    backbone: Backbone,
    modules: nn.ModuleDict,
    examples: Any,
    prepared: Prepared,
    tokens_per_batch: int,
    accelerator: Accelerator | None = None,
) -> Predictions:
    """Return the prediction for every example, in their order; dropout is off.

    For tagged examples the result is `Ragged` with a prediction per word, shaped like the tags; else it has one per
    example. Where there is none (no gold, or a word beyond the maximum length), it is `empty_predictions`.

    modules: the head's. tokens_per_batch: padding included. accelerator: processes share the batches, and each ends
    with all predictions.
    """
    from accelerate.utils import gather_object

    gold = head.gold(examples)
    sequences = head.sequences(examples, prepared)
    first_words = None  # of each example, if predictions are by word
    count = len(sequences)
    if isinstance(gold, Ragged):
        first_words = gold.offsets - gold.offsets[0]
        count = int(first_words[-1])
    predictions = head.empty_predictions(count)
    rank = 0
    processes = 1
    if accelerator is not None:
        rank = accelerator.process_index
        processes = accelerator.num_processes
    batches = buckets(sequences, prepared, head.max_length, tokens_per_batch)
    # of each batch, where its predictions belong
    computed: list[tuple[IntArray, AnyArray]] = []
    with inference(backbone, modules):
        for rows in islice(batches, rank, None, processes):
            batch = head.batch(
                sequences.take(rows), prepared, 0, generator(Purpose.EVALUATE, 0)
            )
            targets = rows[batch.at[0]]
            if first_words is not None:
                targets = first_words[targets] + batch.extra["words"]
            predicted = head.predict(backbone, modules, batch.to(backbone.device))
            computed.append((targets, predicted))
    if processes > 1:
        computed = gather_object(computed)
    for targets, values in computed:
        predictions[targets] = values
    if first_words is not None:
        return Ragged(predictions, first_words)
    return head.merge(examples, sequences, predictions)


def buckets(
    sequences: Any,
    prepared: Prepared,
    max_length: int,
    tokens_per_batch: int,
) -> Iterator[IntArray]:
    """Yield the rows of each batch, of similar length so that there is little padding; every row once."""
    plan = bucket_plan(sequences, prepared, max_length, tokens_per_batch)
    for index in range(len(plan)):
        yield plan.batch(index)[0]


def bucket_plan(
    sequences: Any,
    prepared: Prepared,
    max_length: int,
    tokens_per_batch: int,
    *,
    seed: int = 0,
) -> BucketPlan:
    """Plan batches of sequences as the model reads them: with special tokens, truncated to the maximum length."""
    inner = getattr(sequences, "examples", sequences)
    overhead = 2 + (len(prepared.vocab.separator_ids) if isinstance(inner, Pairs) else 0)
    longest = min(max_length, prepared.traits.max_length)
    return BucketPlan(
        sequences.lengths,
        tokens_per_batch,
        seed=seed,
        overhead=overhead,
        max_length=longest,
    )
