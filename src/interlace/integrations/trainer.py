"""A transformers `Trainer` for objectives with heads or further losses.

Batches, heads and losses are the objective's own; data loaders, optimizer, schedule, checkpoints and trackers are
transformers'. Losses are sums with counts: each is divided by the count of the whole update, so gradient accumulation
and several processes give the gradient of one large batch.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments

from interlace.core.display import listed
from interlace.core.errors import CheckpointError, SettingsError
from interlace.integrations.collator import ObjectiveCollator, collator
from interlace.models.backbone import Backbone
from interlace.training.loop import StepCounts, TrainingModel

if TYPE_CHECKING:
    from interlace.alignment.lexicon import Lexicon
    from interlace.objectives import Batch

HEADS = "heads.safetensors"  # in a checkpoint, beside the model's weights
Counts = dict[str, float]


class ObjectiveModel(nn.Module):
    """A transformers model with the heads of an objective; returns the loss of batches."""

    accepts_loss_kwargs = True  # the Trainer then leaves the division by counts to us

    def __init__(self, model: Any, collator: ObjectiveCollator) -> None:
        super().__init__()
        self.name = collator.objective.name
        self.inner = TrainingModel(Backbone(model), {self.name: collator.objective}, collator.seed)

    @property
    def plain(self) -> Any:
        """The transformers model."""
        return self.inner.backbone.model

    @property
    def heads(self) -> nn.Module:
        """The objective's heads."""
        return self.inner.heads[self.name]

    @property
    def config(self) -> Any:
        """Configuration of the transformers model."""
        return self.plain.config

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        """Recompute activations in the backward pass."""
        self.plain.gradient_checkpointing_enable(**options)

    def forward(self, batches: Sequence[Batch], counts: Counts) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss, weighted and divided by counts, and the unweighted sum of each term."""
        losses = []
        totals: dict[str, list[Tensor]] = {}
        for batch in batches:
            loss, batch_totals = self.inner(self.name, batch, counts)
            losses.append(loss)
            for term, total in batch_totals.items():
                totals.setdefault(term, []).append(total)
        return torch.stack(losses).sum(), {
            term: torch.stack(parts).sum() for term, parts in totals.items()
        }


class ObjectiveTrainer(Trainer):
    """Trains a transformers model with an objective; `import interlace` calls it `Trainer`.

    A checkpoint is an ordinary checkpoint of the model, with the objective's heads in `heads.safetensors`; `save_model`
    writes the model alone. Logs hold the mean of each loss term. Masks are keyed by `args.seed` and the step, so a
    resumed run draws the same ones.

    Args:
        model: a transformers model with a masked-language-model head.
        args: as for transformers. `remove_unused_columns` is set to false.
        objective: a name, such as `"weam"`, or what `interlace.collator` returns, for other settings.
        pairs: training data: the result of `interlace.align`, or `interlace.Pairs`.
        train_dataset, eval_dataset: instead of pairs, a `datasets.Dataset` or `IterableDataset` as `collator.map` reads
            it, or mapped.
        processing_class: the tokenizer; saved with the model.
        lexicon: the result of `interlace.lexicon`, for objectives that read a dictionary.
        options: further arguments of transformers' `Trainer`.

    Raises:
        SettingsError: the objective is unknown, needs a decoder, or lacks alignments or a dictionary; `args` ask for
            FSDP or DeepSpeed; `train_dataset` holds several splits; an argument would not be used.
        DataError: the data lacks columns.
    """

    def __init__(
        self,
        model: Any,
        args: TrainingArguments | None = None,
        *,
        objective: str | ObjectiveCollator,
        pairs: Any = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        lexicon: Lexicon | None = None,
        **options: Any,
    ) -> None:
        args = args or TrainingArguments()
        _check_processes(args)
        args.remove_unused_columns = (
            False  # columns are those of the objective, not of the model's `forward`
        )
        if isinstance(train_dataset, Mapping):
            raise SettingsError(
                f"train_dataset has splits {listed(train_dataset)}; give one, such as data['train']"
            )
        if pairs is not None and train_dataset is not None:
            raise SettingsError("give either pairs or train_dataset")
        if lexicon is not None and not isinstance(objective, str):
            raise SettingsError("give the lexicon to interlace.collator, which made the objective")
        accelerator: Any = args.accelerator_config
        accelerator.dispatch_batches = (
            False  # each process reads its own rows, because ours are no tensors to send
        )
        if isinstance(objective, str):
            if processing_class is None:
                raise SettingsError(
                    "give the tokenizer as processing_class, or a collator as objective"
                )
            objective = collator(
                objective,
                processing_class,
                languages=() if pairs is None else getattr(pairs, "pairs", pairs).languages,
                aligned=pairs if hasattr(pairs, "alignments") else None,
                lexicon=lexicon,
                model=model,
            )
        self.collator = replace(objective, traits=Backbone(model).traits, seed=args.seed)
        self.collator.check()
        self._sums: Counter[Any] = Counter()  # of losses and their counts since the last log
        gather: Any = (
            self.collator.gather
        )  # makes examples; batches are made where the step is known
        super().__init__(
            ObjectiveModel(model, self.collator),
            args,
            data_collator=gather,
            train_dataset=self._rows(train_dataset if pairs is None else pairs),
            eval_dataset=self._rows(eval_dataset),
            processing_class=processing_class,
            **options,
        )

    # ---- batches ----

    def _rows(self, data: Any) -> Any:
        """Return a dataset with the collator's columns."""
        if isinstance(data, dict):
            return {name: self._rows(part) for name, part in data.items()}
        if hasattr(data, "chunks") or hasattr(data, "pairs"):
            columns = self.collator.map(data)
            return [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ]
        names = getattr(data, "column_names", None)
        if names is None and hasattr(data, "map"):
            names = list(next(iter(data), {}))  # a stream may know its columns only from its rows
        if not names or set(names) >= set(
            self.collator.columns
        ):  # other data has the collator's columns
            return data
        return data.map(self.collator.map, batched=True, remove_columns=names)

    def get_batch_samples(
        self,
        epoch_iterator: Iterator[Any],
        num_batches: int,
        device: torch.device,  # noqa: ARG002 - the Trainer's
    ) -> tuple[list[Any], Any]:
        """Return the batches of an update, and their counts by loss term over all processes; none at a stream's end."""
        step = self.state.global_step + 1
        samples = []
        all_batches: list[Batch] = []
        for micro, examples in enumerate(islice(epoch_iterator, num_batches)):
            slot = micro * self.accelerator.num_processes + self.accelerator.process_index
            batches = self.collator.batches(examples, step, slot)
            samples.append(batches)
            all_batches += batches
        if (
            len(samples) < num_batches
        ):  # a stream ends; the Trainer would add the rest to the next update
            return [], None
        return samples, StepCounts(self.accelerator).reduced(_counts(all_batches))

    def _prepare_inputs(self, inputs: Any) -> Any:
        return [batch.to(self.args.device) for batch in inputs]

    # ---- losses ----

    def compute_loss(
        self,
        model: nn.Module,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the share of these batches in the loss of the update."""
        counts = _counts(inputs)
        loss, totals = model(inputs, num_items_in_batch or counts)
        if model.training:
            self._sums.update(totals)
            self._sums.update({f"{term} count": count for term, count in counts.items()})
        loss = (
            loss * self.accelerator.num_processes
        )  # gradients are averaged over processes, but we need the sum
        return (loss, {}) if return_outputs else loss

    def prediction_step(
        self, model: nn.Module, inputs: Any, *_: Any, **__: Any
    ) -> tuple[Tensor, None, None]:
        """Return the loss of a batch with the objective's evaluation settings, and fixed masks."""
        evaluated = replace(self.collator, objective=self.collator.objective.for_evaluation())
        batches = self._prepare_inputs(evaluated.batches(inputs))
        with torch.no_grad(), self.compute_loss_context_manager():
            loss, _totals = model(batches, _counts(batches))
        return loss.detach(), None, None

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the mean of each loss term since the last log."""
        if "loss" in logs and self._sums:
            sums = StepCounts(self.accelerator).reduced(
                {key: float(value) for key, value in self._sums.items()}
            )
            for term, total in sums.items():
                if f"{term} count" in sums:
                    logs[f"{self.collator.objective.name}/{term}"] = total / max(
                        sums[f"{term} count"], 1
                    )
            self._sums.clear()
        super().log(logs, start_time)

    # ---- checkpoints ----

    @contextmanager
    def _plain_model(self) -> Iterator[ObjectiveModel]:
        """Make the Trainer's methods write and read the transformers model alone."""
        whole: Any = self.model
        self.model = whole.plain
        try:
            yield whole
        finally:
            self.model = whole

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        with self._plain_model():
            super()._save(output_dir, state_dict)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Write the transformers model without the heads, as an ordinary checkpoint."""
        super().save_model(output_dir, _internal_call)
        whole: Any = self.model
        if (
            _internal_call
            and output_dir is not None
            and self.args.should_save
            and whole.heads.state_dict()
        ):
            save_model(whole.heads, str(Path(output_dir) / HEADS))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:  # noqa: ARG002
        with self._plain_model() as whole:
            super()._load_from_checkpoint(resume_from_checkpoint, whole.plain)
            if whole.heads.state_dict():
                path = Path(resume_from_checkpoint) / HEADS
                try:
                    load_model(whole.heads, path)
                except (OSError, RuntimeError, SafetensorError) as error:
                    raise CheckpointError(
                        f"{path}: missing, damaged or of another objective: {error}"
                    ) from error

    def _load_best_model(self) -> None:
        self._load_from_checkpoint(str(self.state.best_model_checkpoint))


def _check_processes(args: TrainingArguments) -> None:
    if args.n_gpu > 1:
        raise SettingsError(
            "several GPUs need a process each: start with torchrun or accelerate launch"
        )
    for name in ("fsdp", "deepspeed"):
        if getattr(args, name) or os.environ.get(f"ACCELERATE_USE_{name.upper()}") == "true":
            raise SettingsError(
                f"{name} is not supported by interlace.Trainer; several processes use DDP"
            )


def _counts(batches: Sequence[Batch]) -> Counts:
    """Return the predictions of all batches by term."""
    counts = {}
    for term in batches[0].counts:
        counts[term] = sum([batch.counts[term] for batch in batches])
    return counts
