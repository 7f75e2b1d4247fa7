"""Estimate tokens, memory and time of a run on this machine by some of its own updates.

Excluded are data preparation, evaluation and fine-tuning.
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

from interlace.experiments.inputs import check_inputs
from interlace.experiments.pretrain import PreparedRun, prepare_run
from interlace.experiments.recipe import Recipe
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
class Estimate:
    """What all updates of a run take on one process.

    parameters: of the model. trainable: not frozen. device: of the measurement.
    tokens: of all updates, without padding; tokens_per_step: with padding. speed: tokens per second.
    seconds: of all updates. memory: peak in bytes, of the GPU's, else of the whole process.
    """

    recipe: str
    parameters: int
    trainable: int
    device: str
    steps: int
    tokens_per_step: int
    tokens: int
    speed: float
    seconds: float
    memory: int


def estimate(recipe: Recipe) -> Estimate:
    """Prepare a run and measure some of its updates; raise the errors that the run would.

    Vocabulary, corpora and alignments are built into the cache, where the run finds them; nothing else is written.
    """
    recipe.check_trainable()
    check_inputs(recipe)
    run = prepare_run(recipe, accelerator_for(recipe.train.precision, recipe.train.threads))
    return _estimate(run)


def _estimate(run: PreparedRun) -> Estimate:
    """Measure updates of each objective, and scale them to its expected number of updates."""
    training = run.training
    train = run.recipe.train
    measured: defaultdict[str, list[TrainingStep]] = defaultdict(list)
    for step in _measured_steps(training):
        measured[step.objective].append(step)
    scale = train.micro_batches / min(train.micro_batches, _MICRO_BATCHES)
    tokens = 0.0
    seconds = 0.0
    updates_by_objective = training.mixture.batches_by_objective(train.steps, 1)
    for objective, updates in updates_by_objective.items():
        steps_of_objective = measured[objective]
        tokens += scale * updates * fmean(step.tokens for step in steps_of_objective)
        seconds += scale * updates * fmean(step.seconds for step in steps_of_objective)
    device = training.accelerator.device
    name = f"a CPU, threads: {torch.get_num_threads()}"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    parameters = 0
    trainable = 0
    for parameter in run.backbone.parameters():
        parameters += parameter.numel()
        if parameter.requires_grad:
            trainable += parameter.numel()
    return Estimate(
        recipe=run.recipe.name,
        parameters=parameters,
        trainable=trainable,
        device=name,
        steps=train.steps,
        tokens_per_step=train.tokens_per_update,
        tokens=round(tokens),
        speed=tokens / seconds,
        seconds=seconds,
        memory=peak_memory(device),
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
