"""Predict whole data sets in batches of similar length, and mix the languages of training batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.core.randomness import Generator, Purpose, generator
from interlace.data import Pairs
from interlace.data.sampling import BucketPlan

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch import nn

    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, BoolOrAuto, Prepared
    from interlace.tasks import Predictions, TaskHead


@dataclass(frozen=True)
class InputLimits:
    """How text is fed to a model as it is. max_length: of a sequence. tokens_per_batch: padding included."""

    max_length: int
    tokens_per_batch: int
    language_ids: BoolOrAuto = "auto"


@contextmanager
def inference(*modules: nn.Module) -> Iterator[None]:
    """Compute without dropout and gradients; the modules return to their modes afterwards."""
    import torch

    from interlace.models.search import eval_mode

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
    *,
    logits: bool = False,
) -> Predictions:
    """Return the prediction for every example, in their order; dropout is off.

    For tagged examples the result is `Ragged` with a prediction per word, shaped like the tags; else it has one per
    example. Where there is none (no gold, or a word beyond the maximum length), it is `empty_predictions`.

    modules: the head's. tokens_per_batch: padding included. accelerator: processes share the batches, and each ends
    with all predictions. logits: return (n, classes) logits, NaN where there is none, of a head without tags.
    """
    from accelerate.utils import gather_object

    gold, sequences = head.gold(examples), head.sequences(examples, prepared)
    starts = gold.offsets - gold.offsets[0] if isinstance(gold, Ragged) else None
    compute = head.predict
    found = head.empty_predictions(len(sequences) if starts is None else int(starts[-1]))
    if logits:
        compute, found = head.class_logits, np.full((len(sequences), head.classes), np.nan, np.float32)
    rank, count = (accelerator.process_index, accelerator.num_processes) if accelerator else (0, 1)
    made: list[tuple[NDArray[Any], NDArray[Any]]] = []
    with inference(backbone, modules):
        for rows in islice(buckets(sequences, prepared, head.max_length, tokens_per_batch), rank, None, count):
            batch = head.batch(sequences.take(rows), prepared, 0, generator(Purpose.EVALUATE, 0))
            places = rows[batch.at[0]]
            if starts is not None:
                places = starts[places] + batch.extra["words"]
            made.append((places, compute(backbone, modules, batch.to(backbone.device))))
    for places, values in gather_object(made) if count > 1 else made:
        found[places] = values
    return head.merge(examples, sequences, found) if starts is None else Ragged(found, starts)


def buckets(sequences: Any, prepared: Prepared, max_length: int, tokens_per_batch: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each batch, of similar length so that there is little padding; every row once."""
    plan = bucket_plan(sequences, prepared, max_length, tokens_per_batch)
    return (plan.batch(index)[0] for index in range(len(plan)))


def bucket_plan(
    sequences: Any, prepared: Prepared, max_length: int, tokens_per_batch: int, *, seed: int = 0
) -> BucketPlan:
    """Plan batches of sequences as the model reads them: with special tokens, truncated to the maximum length."""
    inner = getattr(sequences, "examples", sequences)
    overhead = 2 + (len(prepared.vocab.separator_ids) if isinstance(inner, Pairs) else 0)
    longest = min(max_length, prepared.traits.max_length)
    return BucketPlan(sequences.lengths, tokens_per_batch, seed=seed, overhead=overhead, max_length=longest)


@dataclass(frozen=True)
class MixedSequences:
    """Sequences of several languages as one column; rows: (n,) the row of each in the parts, each of one language."""

    parts: tuple[Any, ...]
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Sequence[Any]) -> MixedSequences:
        """All sequences of all parts."""
        return cls(tuple(parts), np.arange(sum(map(len, parts))))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def examples(self) -> Any:
        """Sentences or pairs of the first part, which determine how many special tokens a sequence gets."""
        return getattr(self.parts[0], "examples", self.parts[0])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) subwords of each sequence."""
        return np.concatenate([part.lengths for part in self.parts])[self.rows]

    def take(self, rows: NDArray[Any] | Sequence[int]) -> MixedSequences:
        """Select rows."""
        return MixedSequences(self.parts, self.rows[np.asarray(rows)])

    def by_part(self) -> Iterator[Any]:
        """Yield the selected sequences of each part that has any."""
        first = 0
        for part in self.parts:
            rows = self.rows[(self.rows >= first) & (self.rows < first + len(part))] - first
            first += len(part)
            if len(rows):
                yield part.take(rows)


@dataclass(frozen=True)
class MixedBatches:
    """Makes batches of `MixedSequences`: one per language by the head, merged."""

    head: TaskHead

    def batch(self, examples: MixedSequences, prepared: Prepared, step: int, rng: Generator) -> Batch:
        """Make a batch: a pure function of its arguments."""
        batches = [self.head.batch(part, prepared, step, rng) for part in examples.by_part()]
        return merge_batches(batches, prepared.vocab.pad)


def merge_batches(batches: Sequence[Batch], pad: int) -> Batch:
    """Return one batch with the sequences of all; arrays of the shape of `input_ids` are padded to the longest."""
    shapes = [batch.inputs["input_ids"].shape for batch in batches]
    width = max(columns for _, columns in shapes)
    firsts = np.cumsum([0, *(rows for rows, _ in shapes)])
    all_inputs = [batch.inputs for batch in batches]
    if len({columns for _, columns in shapes}) > 1 or any("attention_mask" in inputs for inputs in all_inputs):
        all_inputs = [{"attention_mask": np.ones_like(inputs["input_ids"]), **inputs} for inputs in all_inputs]

    def merged(columns: Sequence[dict[str, Any]]) -> dict[str, NDArray[Any]]:
        found = {}
        for name in columns[0]:
            arrays = [column[name] for column in columns]
            if all(array.shape[:2] == shape for array, shape in zip(arrays, shapes, strict=True)):
                fill = pad if name == "input_ids" else 0
                margins = [((0, 0), (0, width - array.shape[1]), *((0, 0),) * (array.ndim - 2)) for array in arrays]
                arrays = [np.pad(array, by, constant_values=fill) for array, by in zip(arrays, margins, strict=True)]
            found[name] = np.concatenate(arrays)
        return found

    return replace(
        batches[0],
        inputs=merged(all_inputs),
        at=(
            np.concatenate([batch.at[0] + start for batch, start in zip(batches, firsts, strict=False)]),
            np.concatenate([batch.at[1] for batch in batches]),
        ),
        labels=np.concatenate([batch.labels for batch in batches]),
        counts={term: sum(batch.counts[term] for batch in batches) for term in batches[0].counts},
        tokens=sum(batch.tokens for batch in batches),
        extra=merged([batch.extra for batch in batches]),
    )
