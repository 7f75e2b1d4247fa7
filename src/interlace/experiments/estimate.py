"""Estimate tokens, memory and time of a run on this machine by some of its own updates.

Excluded are data preparation, evaluation and fine-tuning. Without the training text only the parameters are counted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

import torch

from interlace.core.errors import InterlaceError, SettingsError
from interlace.data.cache import writable_cache_folder
from interlace.data.tokenizer_training import ROLES, word_level_tokenizer
from interlace.data.vocab import Vocab
from interlace.experiments.data_root import corpus_files
from interlace.experiments.inputs import missing_inputs
from interlace.experiments.pretrain import PreparedRun, prepare_run
from interlace.experiments.recipe import Recipe, tokenizer_of
from interlace.models.backbone import Backbone
from interlace.models.build import build_model
from interlace.training.device import accelerator_for, peak_memory
from interlace.training.loop import Progress, steps
from interlace.training.mixture import Mixture
from interlace.training.steps import TrainingStep

if TYPE_CHECKING:
    from interlace.training.loop import Training

log = logging.getLogger(__name__)
# minima of what is measured, after one update of each objective
_SECONDS = 10.0
_UPDATES = 3
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


@dataclass(frozen=True)
class Cost:
    """What all updates of a run take on one process.

    tokens: of all updates, without padding. speed: tokens per second.
    seconds: at the speed of the faster half of the measured updates, and of the slower half.
    memory: peak in bytes, of the GPU's, else of the whole process. passes: of each objective over its text.
    """

    device: str
    tokens: int
    speed: float
    seconds: tuple[float, float]
    memory: int
    passes: dict[str, float]


@dataclass(frozen=True)
class TextFiles:
    """Files of training text: their number, the bytes of existing ones, and the paths of missing ones."""

    files: int
    bytes: int
    missing: list[str]


@dataclass(frozen=True)
class Estimate:
    """The estimate of a run. tokens_per_step: with padding. cost: None if files are missing. notes: problems."""

    recipe: str
    steps: int
    tokens_per_step: int
    text: TextFiles | None
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
    notes: list[str] = []
    if missing.training:
        writable_cache_folder()  # else all that is to be built is missing
        backbone = _unprepared(recipe)
        cost = None
    else:
        accelerator = accelerator_for(recipe.train.precision, recipe.train.threads)
        run = prepare_run(recipe, accelerator)
        backbone = run.backbone
        cost = _cost(run)
        tokenizer_note = run.workspace.texts.word_tokenizer_note
        if tokenizer_note:
            notes.append(tokenizer_note)
    notes += [*(backbone.notes if backbone else ()), *missing.training, *missing.evaluation]
    size = None if backbone is None else _size(backbone)
    train = recipe.train
    text = training_files(recipe)
    return Estimate(recipe.name, train.steps, train.tokens_per_update, text, size, cost, notes)


def training_files(recipe: Recipe) -> TextFiles | None:
    """Return the training files of a recipe; None for the toy corpus, which is generated."""
    if recipe.toy is not None:
        return None
    files = corpus_files(recipe, "train")
    here = [file for file in files if file.is_file()]
    missing = [str(file) for file in files if file not in set(here)]
    return TextFiles(len(files), sum(file.stat().st_size for file in here), missing)


def _unprepared(recipe: Recipe) -> Backbone | None:
    """Return the model with a placeholder for a vocabulary to be learned; None if its start is missing."""
    model = recipe.model.model_copy(update={"vectors": None})
    try:
        start = tokenizer_of(recipe)
        if start:
            vocab = Vocab.load(start)
        else:
            words = (f"w{number}" for number in range(recipe.vocab.size - len(ROLES)))
            vocab = Vocab(word_level_tokenizer(words), ROLES, {}, "of the same size")
        if recipe.seq2seq:
            vocab = vocab.with_target_languages(recipe.languages)
        return build_model(
            model, vocab, recipe.languages, causal=recipe.causal, seq2seq=recipe.seq2seq
        )
    except SettingsError:
        raise  # the run would fail too; missing files may still appear
    except InterlaceError:
        return None


def _size(backbone: Backbone) -> ModelSize:
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in backbone.parameters()]
    parameters = sum(size for size, _ in sizes)
    encoder = sum(parameter.numel() for parameter in backbone.model.parameters())
    trainable = sum(size for size, trained in sizes if trained)
    return ModelSize(parameters, trainable, backbone.input_embeddings.numel(), parameters - encoder)


def _cost(run: PreparedRun) -> Cost:
    """Measure updates of each objective, and scale them to its expected number of updates."""
    training = run.training
    train = run.recipe.train
    measured: dict[str, list[TrainingStep]] = {}
    for step in _measured_steps(training):
        measured.setdefault(step.objective, []).append(step)
    scale = train.micro_batches / min(train.micro_batches, _MICRO_BATCHES)
    tokens = 0.0
    mean = 0.0
    fast = 0.0
    slow = 0.0
    for objective, count in training.mixture.batches_by_objective(train.steps, 1).items():
        updates = scale * count
        seconds = sorted(step.seconds for step in measured[objective])
        half = (len(seconds) + 1) // 2
        tokens += updates * fmean(step.tokens for step in measured[objective])
        mean += updates * fmean(seconds)
        fast += updates * fmean(seconds[:half])
        slow += updates * fmean(seconds[-half:])
    device = training.accelerator.device
    cpu = f"a CPU, threads: {torch.get_num_threads()}"
    return Cost(
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else cpu,
        tokens=round(tokens),
        speed=tokens / mean,
        seconds=(fast, slow),
        memory=peak_memory(device),
        passes=_passes(training),
    )


def _measured_steps(training: Training) -> Iterator[TrainingStep]:
    """Train by all objectives in turn; yield the updates after the first of each objective."""
    mixture = training.mixture
    sources = [replace(source, weight="1", loss_weight="1") for source in mixture.sources]
    objectives = len({source.objective for source in sources})
    changed = replace(
        training,
        mixture=Mixture(sources, mixture.seed, alpha=mixture.alpha, alternate=True),
        last=max(training.last, 100 * objectives),
        micro_batches=min(training.micro_batches, _MICRO_BATCHES),
        read_every=1,
        count_flops=False,
    )
    log.info("measuring updates")
    spent = 0.0
    for step in steps(changed, Progress()):
        updates = step.index - objectives
        if updates <= 0:
            continue
        yield step
        spent += step.seconds
        if (
            updates >= max(_UPDATES, 2 * objectives)
            and updates % objectives == 0
            and spent >= _SECONDS
        ):
            return


def _passes(training: Training) -> dict[str, float]:
    """Return the expected passes of each objective over its text."""
    sources = training.mixture.sources
    passes = {}
    for name, batches in training.mixture.batches_by_objective(
        training.last, training.micro_batches
    ).items():
        passes[name] = batches / sum(
            len(source.plan) for source in sources if source.objective == name
        )
    return passes
