"""Pre-train a model by a recipe: prepare data, train, export. The same call resumes an interrupted run."""

from __future__ import annotations

import logging
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from accelerate import Accelerator
from numpy.typing import NDArray

from interlace.core.errors import CheckpointError, RunError, SettingsError
from interlace.core.json_files import write_json
from interlace.core.store import leaves
from interlace.experiments import monitoring, samples
from interlace.experiments.card import write_card
from interlace.experiments.embeddings import learn_vectors
from interlace.experiments.inputs import check_inputs
from interlace.experiments.mixing import build_mixture, store_dictionaries, with_limited_lengths
from interlace.experiments.model_folder import save_model, sentence_vectors
from interlace.experiments.recipe import Recipe
from interlace.experiments.run import Run
from interlace.experiments.run_record import data_of, run_record
from interlace.experiments.score_store import folder_key
from interlace.experiments.workspace import Workspace
from interlace.models.adapters import merge_adapters
from interlace.models.backbone import Backbone
from interlace.models.blocks import wrap_blocks
from interlace.models.build import build_model
from interlace.tasks.common.likelihood import HeldOutBatches
from interlace.training import checkpoint, run_folder
from interlace.training.callbacks import (
    CheckpointCallback,
    CopyingWarning,
    HeldOutEvaluation,
    MetricsWriter,
    TrackerCallback,
)
from interlace.training.device import accelerator_for, naming_lost_processes, start_trackers
from interlace.training.diagnostics import DiagnosticsCallback, perplexities
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.preview import training_samples
from interlace.training.steps import TrainingStep

log = logging.getLogger(__name__)


def pretrain(
    recipe: Recipe, into: Path, callback: Callable[[TrainingStep], None] = lambda _: None
) -> Path:
    """Train the model of a recipe in the folder `into`; return the finished `model/`.

    callback: called after every step. Errors of the recipe and its data are raised before training starts.
    """
    if recipe.embeddings is not None:
        return learn_vectors(recipe, into)
    recipe.check_trainable()
    run = Run(into)
    train = recipe.train
    accelerator = accelerator_for(train.precision, train.threads, train.trackers, into)
    train.check_processes(accelerator.num_processes)
    if not accelerator.is_main_process:
        with naming_lost_processes(accelerator):
            accelerator.wait_for_everyone()  # the first process may extend a finished run
        if not run.is_finished:
            _run(recipe, run, accelerator, callback)
        return run.model_folder
    with run_folder.locked(into):
        run.claim(recipe)
        accelerator.wait_for_everyone()
        if run.is_finished:
            run.check_export(run.model_folder)
            log.info("%s is finished; nothing to do", into)
        else:
            _run(recipe, run, accelerator, callback)
    return run.model_folder


def _run(
    recipe: Recipe, run: Run, accelerator: Accelerator, callback: Callable[[TrainingStep], None]
) -> None:
    """Prepare, train and export."""
    begun = time.perf_counter()
    with accelerator.main_process_first():
        check_inputs(recipe)
    prepared = prepare_run(recipe, accelerator)
    training = prepared.training
    training_begun = time.perf_counter()
    data: list[dict[str, Any]] = []
    if accelerator.is_main_process:
        data = data_of(prepared.workspace)  # now: a file may change while the model is trained
        run.check_state(prepared.workspace.vocab, data)
        store_dictionaries(training.mixture, prepared.recipe, run.folder)
        precision = accelerator.mixed_precision.replace("no", "float32")
        log.info("training on %s in %s (train.precision)", accelerator.device.type, precision)
    progress = Progress()
    if recipe.train.trackers:
        start_trackers(accelerator, run.folder, recipe.name, dict(leaves(prepared.recipe.dump())))
    _train(training, progress, [*_callbacks(prepared, run, progress), callback], run)
    for tracker in accelerator.trackers:
        tracker.finish()
    if progress.skipped and training.loss_scale is None:  # fp16 skips updates to find its scale
        raise RunError(
            f"the last {progress.skipped} of {progress.done} updates were skipped, because losses or gradients were "
            "not finite: training has diverged; restart with a lower learning rate or a longer warm-up"
        )
    if accelerator.is_main_process:
        seconds = {"data": training_begun - begun, "training": time.perf_counter() - training_begun}
        _finish(prepared, run, progress, data, seconds)
    accelerator.wait_for_everyone()


@dataclass(frozen=True)
class PreparedRun:
    """A run before its first update.

    recipe: with the lengths that its model can read. held_out: text for perplexity.
    words: of the plot of embeddings; before: their vectors now.
    """

    recipe: Recipe
    workspace: Workspace
    backbone: Backbone
    training: Training
    held_out: list[HeldOutBatches]
    words: list[dict[str, str]]
    before: NDArray[np.float32]


def prepare_run(recipe: Recipe, accelerator: Accelerator) -> PreparedRun:
    """Return a run before its first update; its data are built into the cache, and nothing else is written."""
    train = recipe.train
    with accelerator.main_process_first():
        vocab = Workspace(recipe).vocab
    backbone = build_model(
        recipe.model,
        vocab,
        recipe.languages,
        recipe.seed,
        causal=recipe.causal,
        seq2seq=recipe.seq2seq,
    )
    for note in backbone.notes:
        log.info("%s", note)
    recipe = with_limited_lengths(recipe, backbone.traits)  # before text is encoded and aligned
    with accelerator.main_process_first():
        workspace = Workspace(recipe, vocab).open()
    words = samples.concepts(recipe, workspace.root)
    before = samples.concept_vectors(backbone, vocab, words)
    mixture = build_mixture(workspace, backbone.traits)
    objectives = {source.objective: source.learner for source in mixture.sources}
    whole = TrainingModel(backbone, objectives, recipe.seed)
    wrap_blocks(backbone, checkpointing=train.gradient_checkpointing, compiled=train.compile)
    model = accelerator.prepare(whole)
    settings = train.optimizer
    training = Training(
        model,
        mixture,
        settings.build(model),
        settings,
        accelerator,
        train.steps,
        train.micro_batches,
    )
    rows = monitoring.held_out(workspace, backbone.traits)
    _check_settings(recipe, backbone, rows)
    return PreparedRun(recipe, workspace, backbone, training, rows, words, before)


def _check_settings(recipe: Recipe, backbone: Backbone, rows: list[HeldOutBatches]) -> None:
    """Find errors before training that would otherwise occur at its end; log a shortened warm-up."""
    train = recipe.train
    settings = recipe.train.optimizer
    warmup = settings.warmup_steps(train.steps)
    if warmup < settings.warmup:
        text = "the learning rate warms up in %d steps, not %d: at most %g of %d (train.optimizer.max_warmup_share)"
        log.info(text, warmup, settings.warmup, settings.max_warmup_share, train.steps)
    by_perplexity = train.patience and train.stop_by == monitoring.MAIN
    if by_perplexity and not any(corpus.name == monitoring.MAIN for corpus in rows):
        raise SettingsError(
            "train.patience: early stopping needs held-out text; name some in corpora.GROUP.dev"
        )
    sentence_vectors(recipe, backbone)


def _callbacks(
    prepared: PreparedRun, run: Run, progress: Progress
) -> list[Callable[[TrainingStep], None]]:
    """Return what consumes the steps of training: metrics, diagnostics, evaluation, and checkpoints, which are last."""
    recipe = prepared.recipe
    train = recipe.train
    training = prepared.training
    accelerator = training.accelerator
    metrics = run.folder / run_folder.METRICS

    def record(row: dict[str, Any]) -> None:
        if accelerator.is_main_process:
            run_folder.append_line(metrics, row)
        accelerator.log(row["scores"], step=row["step"])

    translates = train.stop_by == "bleu"
    translation_scores = (
        monitoring.dev_scores(prepared.workspace, accelerator) if translates else None
    )

    def measure() -> dict[str, float]:
        """Measure perplexity and, for early stopping by them, translations."""
        scores = perplexities(prepared.backbone, prepared.held_out, accelerator.device)
        if translation_scores is not None:
            with accelerator.autocast():
                scores |= translation_scores(prepared.backbone)
        return scores

    callbacks: list[Callable[[TrainingStep], None]] = []
    if accelerator.is_main_process:
        callbacks += [MetricsWriter(metrics), CopyingWarning()]
    if train.trackers:
        callbacks.append(TrackerCallback(accelerator))
    if train.diagnostics.every:
        callbacks.append(monitoring.diagnostics_callback(prepared.workspace, training, record))
    evaluation = None
    if prepared.held_out or translates:
        every = train.evaluate_every or train.steps
        evaluation = HeldOutEvaluation(
            measure, every, train.patience, progress, train.steps, record, train.stop_by
        )
        callbacks.append(evaluation)
    checkpoints = CheckpointCallback(
        run.checkpoints,
        train.checkpoint_every,
        train.keep,
        training,
        progress,
        evaluation,
        run.id_of(recipe) if accelerator.is_main_process else "",
    )
    return [*callbacks, checkpoints]


def _train(training: Training, progress: Progress, callbacks: Sequence[Any], run: Run) -> None:
    """Resume from the last checkpoint, and give each further step to the callbacks.

    Nothing is done if the run has ended before its last step, by early stopping. A signal ends the process after the
    step of the moment, for which a checkpoint is written.
    """
    resumed_step = _resume(training, callbacks, run)
    if progress.stop:
        return
    if not resumed_step:
        for callback in callbacks:
            if isinstance(callback, DiagnosticsCallback):
                callback.measure_at(0)
    readers_of_weights = [callback for callback in callbacks if hasattr(callback, "due")]

    def weights_are_read(step: int) -> bool:
        """Return whether a callback needs the weights as they are after a step."""
        return any(callback.due(step) for callback in readers_of_weights)

    with _ending_at_signals(progress) as received, naming_lost_processes(training.accelerator):
        for step in steps(training, progress, weights_are_read):
            for callback in callbacks:
                callback(step)
    if progress.ended and progress.done < training.last:  # by a signal; early stopping has a reason
        _raise_for_signal(progress, received)
    if progress.reason:
        log.info("stopped at step %d: %s", progress.done, progress.reason)


def _resume(training: Training, callbacks: Sequence[Any], run: Run) -> int:
    """Load the newest usable checkpoint, cut later steps from the metrics, and return its step (0: none)."""
    [checkpoints] = [callback for callback in callbacks if isinstance(callback, CheckpointCallback)]
    resumed_step = checkpoints.resume()
    if resumed_step:
        log.info("resuming from step %d", resumed_step)
    if training.accelerator.is_main_process:
        # steps after the checkpoint are repeated; without one, all lines go
        run_folder.cut_metrics(run.folder / run_folder.METRICS, resumed_step or -1)
    return resumed_step


def _raise_for_signal(progress: Progress, received: list[int]) -> NoReturn:
    """Raise what the first of the received signals would have; none: another process received it."""
    number = received[0] if received else signal.SIGTERM
    name = signal.Signals(number).name
    log.info("stopped by %s after step %d; rerun the same command to resume", name, progress.done)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


@contextmanager
def _ending_at_signals(progress: Progress) -> Iterator[list[int]]:
    """Let SIGTERM, which schedulers send before they kill, and Ctrl-C end the loop with a checkpoint.

    A second Ctrl-C stops at once. Yields the signals that were received.
    """
    received: list[int] = []

    def end(number: int, frame: Any) -> None:
        if number == signal.SIGINT:
            if received:
                signal.default_int_handler(number, frame)
            log.info("saving a checkpoint after this step; press Ctrl-C again to stop at once")
        received.append(number)
        progress.ending = True

    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # only that one receives signals
        handlers[signal.SIGTERM] = signal.signal(signal.SIGTERM, end)
        # a shell's background job ignores Ctrl-C
        if signal.getsignal(signal.SIGINT) not in {signal.SIG_IGN, None}:
            handlers[signal.SIGINT] = signal.signal(signal.SIGINT, end)
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _finish(
    prepared: PreparedRun,
    run: Run,
    progress: Progress,
    data: list[dict[str, Any]],
    seconds: dict[str, float],
) -> None:
    """Export the model and write the records for reports; `run.json` is last and marks the run as finished.

    data: of `run.json`, as files were when training began. seconds: spent on data and training.
    """
    begun = time.perf_counter()
    recipe = prepared.recipe
    training = prepared.training
    model = _final_model(prepared, run, progress)
    backbone: Backbone = merge_adapters(model.backbone).eval()
    vocab = prepared.workspace.vocab
    shutil.rmtree(run.model_folder, ignore_errors=True)
    save_model(backbone, vocab, recipe, run.model_folder)
    write_json(run.folder / run_folder.SAMPLES, training_samples(training.mixture, vocab))
    after = samples.concept_vectors(backbone, vocab, prepared.words)
    samples.write_words(run.folder / run_folder.WORDS, prepared.words, prepared.before, after)
    seconds["export"] = time.perf_counter() - begun
    rounded = {stage: round(spent, 3) for stage, spent in seconds.items()}
    record = {
        "data": data,
        **run_record(recipe, training, progress, rounded),
        "model_key": folder_key(run.model_folder),
    }
    write_card(run.folder, record)
    write_json(run.folder / run_folder.RUN, record)


def _final_model(prepared: PreparedRun, run: Run, progress: Progress) -> TrainingModel:
    """Return the model to export: with early stopping that of the best checkpoint, else as it is after training."""
    train = prepared.recipe.train
    training = prepared.training
    model: TrainingModel = training.accelerator.unwrap_model(training.model)
    last = checkpoint.path_of(run.checkpoints, progress.done)
    best = (checkpoint.read_state(last).get("evaluation") or {}).get("best_step")
    if train.patience and best:
        log.info("exporting step %d, the best by %s", best, train.stop_by)
        path = checkpoint.path_of(run.checkpoints, best)
        try:
            checkpoint.load(path, model)
        except CheckpointError as error:
            raise RunError(
                f"{path}: the weights that early stopping selected are missing or damaged ({error}); restore this "
                "checkpoint, or train in another folder"
            ) from error
    return model
