"""Predictions for whole data sets: made in batches of like length, handed back in the order of the examples."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from accelerate.utils import gather_object

from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs
from interlace.data.sampling import BucketPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from accelerate import Accelerator
    from numpy.typing import NDArray
    from torch import nn

    from interlace.models.backbone import Backbone
    from interlace.objectives import Prepared
    from interlace.tasks import Predictions, TaskHead


def predict_all(
    learner: TaskHead,
    backbone: Backbone,
    heads: nn.ModuleDict,
    examples: Any,
    prepared: Prepared,
    tokens_per_batch: int,
    device: torch.device,
    accelerator: Accelerator | None = None,
) -> tuple[Predictions, Predictions]:
    """What the model predicts for every example, and what is right, both in the order of the examples.

    A row of words where the examples have tags (`Ragged`, shaped like the tags), else one prediction an example. Where
    there is none, because there is no gold or a word stands beyond the longest row, it is -1 (`TaskHead.nothing`).
    Dropout is off.

    tokens_per_batch: padded subwords in a batch. accelerator: several processes share the batches, and all of them end
    with all predictions, so that what hangs on them is decided alike everywhere.
    """
    gold = learner.gold(examples)
    read = learner.rows(examples, prepared)
    starts = gold.offsets - gold.offsets[0] if isinstance(gold, Ragged) else None
    found = learner.nothing(len(read) if starts is None else int(starts[-1]))
    was_training = (backbone.training, heads.training)
    backbone.eval()
    heads.eval()
    rank, count = (accelerator.process_index, accelerator.num_processes) if accelerator else (0, 1)
    made: list[tuple[NDArray[Any], NDArray[Any]]] = []
    with torch.inference_mode():
        for rows in islice(buckets(read, prepared, learner.max_length, tokens_per_batch), rank, None, count):
            batch = learner.batch(read.take(rows), prepared, 0, generator(Purpose.EVALUATE, 0))
            places = rows[batch.at[0]]
            if starts is not None:
                places = starts[places] + batch.extra["words"]
            made.append((places, learner.predict(backbone, heads, batch.to(device))))
    for places, values in gather_object(made) if count > 1 else made:
        found[places] = values
    backbone.train(was_training[0])
    heads.train(was_training[1])
    return (learner.merged(examples, read, found) if starts is None else Ragged(found, starts)), gold


def buckets(examples: Any, prepared: Prepared, max_length: int, tokens_per_batch: int) -> Iterator[NDArray[np.int64]]:
    """The rows of each batch: rows of like length together, so that little is padding; every row once."""
    plan = bucket_plan(examples, prepared, max_length, tokens_per_batch)
    return (plan.batch(index)[0] for index in range(len(plan)))


def bucket_plan(rows: Any, prepared: Prepared, max_length: int, tokens_per_batch: int, *, seed: int = 0) -> BucketPlan:
    """Batches of rows as long as the model reads them, with its specials; longer ones are cut."""
    inner = getattr(rows, "examples", rows)
    overhead = 2 + (len(prepared.vocab.separator_ids) if isinstance(inner, Pairs) else 0)
    longest = min(max_length, prepared.traits.max_length)
    return BucketPlan(rows.lengths, tokens_per_batch, seed=seed, overhead=overhead, max_length=longest)
