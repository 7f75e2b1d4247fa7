"""Estimate tokens, memory and time of a run on this machine by some of its own updates.

Excluded are data preparation, evaluation and fine-tuning. Nothing is measured if files are missing.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING

import torch

from interlace.data.cache import writable_cache_folder
from interlace.experiments.data_root import corpus_files
from interlace.experiments.inputs import missing_inputs
from interlace.experiments.pretrain import PreparedRun, prepare_run
from interlace.experiments.recipe import Recipe
from interlace.models.backbone import Backbone
from interlace.training.device import accelerator_for, peak_memory
from interlace.training.loop import Progress, steps
from interlace.training.mixture import Mixture
from interlace.training.steps import TrainingStep

if TYPE_CHECKING:
    from interlace.training.loop import Training

log = logging.getLogger(__name__)
_ROUNDS = 3  # measured updates of each objective, after one that is not measured
_MICRO_BATCHES = 4  # of a measured update; those of larger updates take as long


@dataclass(frozen=True)
class ModelSize:
    """Numbers of parameters.

    trainable: not frozen. table: of the input embeddings. decoder: not shared with the encoder; 0 without a decoder.
    """

    parameters: int
    trainable: int
    table: int
    decoder: int

    @classmethod
    def of(cls, backbone: Backbone) -> ModelSize:
        """Count the parameters of a model."""
        parameters = sum(parameter.numel() for parameter in backbone.parameters())
        trainable = sum(
            parameter.numel() for parameter in backbone.parameters() if parameter.requires_grad
        )
        encoder = sum(parameter.numel() for parameter in backbone.model.parameters())
        return cls(parameters, trainable, backbone.input_embeddings.numel(), parameters - encoder)


@dataclass(frozen=True)
class Cost:
    """What all updates of a run take on one process.

    tokens: of all updates, without padding. speed: tokens per second. seconds: of all updates.
    memory: peak in bytes, of the GPU's, else of the whole process. passes: of each objective over its text.
    """

    device: str
    tokens: int
    speed: float
    seconds: float
    memory: int
    passes: dict[str, float]


@dataclass(frozen=True)
class Estimate:
    """The estimate of a run. tokens_per_step: with padding. model, cost: None if files are missing. notes: problems.

    text_files, text_bytes: number and size of the existing files of training text.
    """

    recipe: str
    steps: int
    tokens_per_step: int
    text_files: int
    text_bytes: int
    model: ModelSize | None
    cost: Cost | None
    notes: list[str]


def estimate(recipe: Recipe) -> Estimate:
    """Prepare a run and measure some of its updates; raise the errors that the run would.

    Vocabulary, corpora and alignments are built into the cache, where the run finds them; nothing else is written.
    """
    recipe.check_trainable()
    recipe.check_data_root()
    missing = missing_inputs(recipe, fetch=True)
    notes = [*missing.training, *missing.evaluation]
    model = None
    cost = None
    if missing.training:
        writable_cache_folder()  # else all that is to be built is missing
    else:
        run = prepare_run(recipe, accelerator_for(recipe.train.precision, recipe.train.threads))
        model = ModelSize.of(run.backbone)
        cost = _cost(run)
        notes = [*run.backbone.notes, run.workspace.texts.word_tokenizer_note, *notes]
    files = [] if recipe.toy is not None else corpus_files(recipe, "train")
    sizes = [file.stat().st_size for file in files if file.is_file()]
    return Estimate(
        recipe=recipe.name,
        steps=recipe.train.steps,
        tokens_per_step=recipe.train.tokens_per_update,
        text_files=len(sizes),
        text_bytes=sum(sizes),
        model=model,
        cost=cost,
        notes=[note for note in notes if note],
    )


def _cost(run: PreparedRun) -> Cost:
    """Measure updates of each objective, and scale them to its expected number of updates."""
    training = run.training
    train = run.recipe.train
    measured: defaultdict[str, list[TrainingStep]] = defaultdict(list)
    for step in _measured_steps(training):
        measured[step.objective].append(step)
    scale = train.micro_batches / min(train.micro_batches, _MICRO_BATCHES)
    tokens = 0.0
    seconds = 0.0
    for objective, updates in training.mixture.batches_by_objective(train.steps, 1).items():
        tokens += scale * updates * fmean(step.tokens for step in measured[objective])
        seconds += scale * updates * fmean(step.seconds for step in measured[objective])
    device = training.accelerator.device
    name = f"a CPU, threads: {torch.get_num_threads()}"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    return Cost(
        device=name,
        tokens=round(tokens),
        speed=tokens / seconds,
        seconds=seconds,
        memory=peak_memory(device),
        passes=_passes(training),
    )


def _measured_steps(training: Training) -> Iterator[TrainingStep]:
    """Train by all objectives in turn; return the updates after the first of each objective."""
    mixture = training.mixture
    sources = [replace(source, weight="1", loss_weight="1") for source in mixture.sources]
    objectives = len({source.objective for source in sources})
    changed = replace(
        training,
        mixture=Mixture(sources, mixture.seed, alpha=mixture.alpha, alternate=True),
        last=(_ROUNDS + 1) * objectives,
        micro_batches=min(training.micro_batches, _MICRO_BATCHES),
        read_every=1,
    )
    log.info("measuring updates")
    return islice(steps(changed, Progress()), objectives, None)


def _passes(training: Training) -> dict[str, float]:
    """Return the expected passes of each objective over its text."""
    batches: defaultdict[str, int] = defaultdict(int)
    for source in training.mixture.sources:
        batches[source.objective] += len(source.plan)
    read = training.mixture.batches_by_objective(training.last, training.micro_batches)
    return {name: count / batches[name] for name, count in read.items()}
