"""Pre-train a model by a recipe: prepare data, train, export. The same call resumes an interrupted run."""

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
from accelerate import Accelerator, DistributedType
from numpy.typing import NDArray

from interlace.core.errors import CheckpointError, RunError, SettingsError
from interlace.core.json_files import write_json
from interlace.core.store import leaves
from interlace.experiments import monitoring, records
from interlace.experiments.card import write_card
from interlace.experiments.embeddings import learn_vectors
from interlace.experiments.inputs import check_inputs
from interlace.experiments.mixing import build_mixture, store_dictionaries, with_limited_lengths
from interlace.experiments.recipe import STOPPING_TASKS, Recipe
from interlace.experiments.score_store import folder_key
from interlace.experiments.workspace import Workspace
from interlace.models.backbone import Backbone
from interlace.models.blocks import wrap_blocks
from interlace.models.build import build_model
from interlace.models.languages import check_language
from interlace.objectives.common.dictionaries import dictionary_scores
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
from interlace.training.loop import Progress, Training, TrainingModel, steps, uses_all_parameters
from interlace.training.preview import training_samples
from interlace.training.steps import TrainingStep

log = logging.getLogger(__name__)


def pretrain(recipe: Recipe, into: Path, callback: Callable[[TrainingStep], None] = lambda _: None) -> Path:
    """Train the model of a recipe in the folder `into`; return the finished `model/`.

    callback: called after every step. Errors of the recipe and its data are raised before training starts.
    """
    if recipe.embeddings is not None:
        return learn_vectors(recipe, into)
    recipe.check_trainable()
    train = recipe.train
    accelerator = accelerator_for(train.precision, train.threads, train.trackers, into)
    train.check_processes(accelerator.num_processes)
    if not accelerator.is_main_process:
        with naming_lost_processes(accelerator):
            accelerator.wait_for_everyone()  # the first process may extend a finished run
        if records.is_finished(into):
            return into / "model"
        return _run(recipe, into, accelerator, callback)
    with run_folder.locked(into):
        records.claim_folder(recipe, into)
        accelerator.wait_for_everyone()
        if records.is_finished(into):
            records.check_export(into, into / "model")
            log.info("%s is finished; nothing to do", into)
            return into / "model"
        return _run(recipe, into, accelerator, callback)


def _run(recipe: Recipe, into: Path, accelerator: Accelerator, callback: Callable[[TrainingStep], None]) -> Path:
    begun = time.perf_counter()
    main = accelerator.is_main_process
    train = recipe.train
    with accelerator.main_process_first():
        check_inputs(recipe)
    run = prepare_run(recipe, accelerator)
    recipe = run.recipe
    workspace = run.workspace
    backbone = run.backbone
    training = run.training
    prepared = time.perf_counter()
    data = records.data_of(workspace) if main else []  # now: a file may change while the model is trained
    if main:
        precision = {"no": "float32"}.get(accelerator.mixed_precision, accelerator.mixed_precision)
        log.info("training on %s in %s (train.precision)", accelerator.device.type, precision)
        records.check_run_state(into, workspace.vocab, data, backbone)
        store_dictionaries(training.mixture, recipe, into)
        sources = training.mixture.sources
        for note in (note for each in sources for note in each.learner.notes(each.plan.examples(0), each.prepared)):
            log.info("%s", note)
    for note in backbone.notes:
        log.info("%s", note)
    progress = Progress()
    if train.trackers:
        start_trackers(accelerator, into, recipe.name, dict(leaves(recipe.dump())))
    _train(training, progress, [*_callbacks(run, into, progress), callback], into)
    for tracker in accelerator.trackers:
        tracker.finish()
    _check_last_updates(training, progress)
    if main:
        seconds = {"data": prepared - begun, "training": time.perf_counter() - prepared}
        _finish(run, into, progress, {"data": data, "seconds": seconds})
    accelerator.wait_for_everyone()
    return into / "model"


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
        recipe.model, vocab, recipe.languages, recipe.seed, causal=recipe.causal, seq2seq=recipe.seq2seq
    )
    recipe = with_limited_lengths(recipe, backbone.traits)  # before text is encoded and aligned
    with accelerator.main_process_first():
        workspace = Workspace(recipe, vocab).open()
    words = monitoring.concepts(recipe, workspace.root)
    before = monitoring.concept_vectors(backbone, vocab, words)
    mixture = build_mixture(workspace, backbone.traits)
    objectives = {source.objective: source.learner for source in mixture.sources}
    whole = TrainingModel(backbone, objectives, recipe.seed)
    wrap_blocks(backbone, checkpointing=train.gradient_checkpointing, compiled=train.compile)
    if accelerator.distributed_type != DistributedType.NO:  # DDP searches graphs for unused weights
        whole.to(accelerator.device)
        accelerator.ddp_handler.find_unused_parameters = not uses_all_parameters(whole, mixture, accelerator)
    model = accelerator.prepare(whole)
    settings = train.optimizer
    training = Training(model, mixture, settings.build(model), settings, accelerator, train.steps, train.micro_batches)
    rows = monitoring.held_out(workspace, backbone.traits)
    _check_settings(recipe, backbone, rows)
    return PreparedRun(recipe, workspace, backbone, training, rows, words, before)


def _check_last_updates(training: Training, progress: Progress) -> None:
    """Raise a RunError if the last updates were skipped; `fp16` skips some to find its scale."""
    if progress.skipped and training.loss_scale is None:
        raise RunError(
            f"the last {progress.skipped} of {progress.done} updates were skipped, because losses or gradients were "
            "not finite: training has diverged; restart with a lower learning rate or a longer warm-up"
        )


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
        raise SettingsError("train.patience: early stopping needs held-out text; name some in corpora.GROUP.dev")
    language = recipe.export.fold_language
    if language is not None:
        check_language(backbone.traits.languages, language, "export.fold_language")
    records.sentence_vectors(recipe, backbone)


def _callbacks(run: PreparedRun, into: Path, progress: Progress) -> list[Callable[[TrainingStep], None]]:
    recipe = run.recipe
    workspace = run.workspace
    training = run.training
    rows = run.held_out
    accelerator = training.accelerator
    train = recipe.train

    def record(row: dict[str, Any]) -> None:
        if accelerator.is_main_process:
            run_folder.append_line(into / run_folder.METRICS, row)
        accelerator.log(row["scores"], step=row["step"])

    known = {source.objective: source.prepared.dictionaries for source in training.mixture.sources}
    if train.stop_by in STOPPING_TASKS:
        scorer = monitoring.dev_scores(workspace, accelerator)
    else:
        scorer = None

    def measure() -> dict[str, float]:
        """Measure perplexity, dictionary scores and, for early stopping by them, translations."""
        scores = perplexities(run.backbone, rows, accelerator.device) | dictionary_scores(run.backbone, known)
        if scorer is not None:
            with accelerator.autocast():
                scores |= scorer(run.backbone)
        return scores

    every = train.evaluate_every or train.steps
    folder = into / "checkpoints"
    evaluation = None
    callbacks: list[Callable[[TrainingStep], None]] = []
    if accelerator.is_main_process:
        callbacks += [MetricsWriter(into / run_folder.METRICS), CopyingWarning()]
    if train.trackers:
        callbacks.append(TrackerCallback(accelerator))
    callbacks += monitoring.diagnostics_callbacks(workspace, training, record)
    if rows or scorer:
        evaluation = HeldOutEvaluation(measure, every, train.patience, progress, train.steps, record, train.stop_by)
        callbacks.append(evaluation)
    if accelerator.is_main_process:
        run_id = records.run_id(recipe, into)
    else:
        run_id = ""
    saved = CheckpointCallback(folder, train.checkpoint_every, train.keep, training, progress, evaluation, run_id)
    return [*callbacks, saved]


def _train(training: Training, progress: Progress, callbacks: Sequence[Any], into: Path) -> None:
    """Resume and run the loop to its end."""
    saved = next(each for each in callbacks if isinstance(each, CheckpointCallback))
    done = saved.resume()
    if done:
        log.info("resuming from step %d", done)
    if training.accelerator.is_main_process:
        run_folder.cut_metrics(into / run_folder.METRICS, done or -1)  # steps after the checkpoint are repeated
    if progress.stop:
        return
    for each in callbacks if not done else ():
        if isinstance(each, DiagnosticsCallback):
            each.begin()
    waiting = [each for each in callbacks if hasattr(each, "due")]
    with _ending_at_signals(progress) as received, naming_lost_processes(training.accelerator):
        for step in steps(training, progress, lambda index: any(each.due(index) for each in waiting)):
            for callback in callbacks:
                callback(step)
    if progress.ended and progress.done < training.last:
        _stop(progress, received)
    if progress.reason:
        log.info("stopped at step %d: %s", progress.done, progress.reason)


def _stop(progress: Progress, received: list[int]) -> NoReturn:
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
        if number == signal.SIGINT and received:
            signal.default_int_handler(number, frame)
        if number == signal.SIGINT:
            log.info("saving a checkpoint after the current step; press Ctrl-C again to stop at once")
        received.append(number)
        progress.ending = True

    if threading.current_thread() is not threading.main_thread():  # only that one receives signals
        yield received
        return
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    if handlers[signal.SIGINT] in {signal.SIG_IGN, None}:  # of a shell's background job, which Ctrl-C does not stop
        del handlers[signal.SIGINT]
    for number in handlers:
        signal.signal(number, end)
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _load_best(path: Path, model: TrainingModel) -> None:
    """Load the checkpoint that early stopping selected; raise a RunError if it cannot be used."""
    try:
        checkpoint.load(path, model)
    except CheckpointError as error:
        raise RunError(
            f"{path}: the weights that early stopping selected are missing or damaged ({error}); restore this "
            "checkpoint, or train in another folder"
        ) from error


def _finish(run: PreparedRun, into: Path, progress: Progress, about: dict[str, Any]) -> None:
    """Export the model and write the records for reports; `run.json` is last and marks the run as finished.

    With early stopping the best checkpoint is exported instead of the last.

    about: `data` of `run.json`, as files were when training began, and `seconds` spent on data and training.
    """
    recipe = run.recipe
    workspace = run.workspace
    training = run.training
    begun = time.perf_counter()
    folder = into / "checkpoints"
    model: TrainingModel = training.accelerator.unwrap_model(training.model)
    state = checkpoint.read_state(checkpoint.path_of(folder, progress.done))
    best = (state.get("evaluation") or {}).get("best_step")
    if recipe.train.patience and best:
        log.info("exporting step %d, the best by %s", best, recipe.train.stop_by)
        _load_best(checkpoint.path_of(folder, best), model)
    backbone: Backbone = model.backbone.eval()
    shutil.rmtree(into / "model", ignore_errors=True)
    records.save_model(backbone, workspace.vocab, recipe, into / "model")
    write_json(into / run_folder.SAMPLES, training_samples(training.mixture, workspace.vocab))
    after = monitoring.concept_vectors(backbone, workspace.vocab, run.words)
    monitoring.write_words(into / run_folder.WORDS, run.words, run.before, after)
    alignments = monitoring.sample_alignments(workspace.train)
    if alignments:
        write_json(into / run_folder.ALIGNMENTS, alignments)
    stages = about["seconds"] | {"export": time.perf_counter() - begun}
    spent = {name: round(each, 3) for name, each in stages.items()}
    about = {**about, **records.run_record(recipe, training, progress, spent), "model_key": folder_key(into / "model")}
    write_card(into, about)
    write_json(into / run_folder.RUN, about)
