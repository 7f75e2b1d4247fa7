"""Pre-train a model by a recipe: prepare data, train, export. The same call resumes an interrupted run."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from interlace.core.errors import CheckpointError, RunError, SettingsError
from interlace.core.files import atomic_folder, user_path
from interlace.core.json_files import JsonObject, write_json
from interlace.core.ragged import FloatArray
from interlace.core.registry import plugin_files
from interlace.core.store import leaves
from interlace.data.cache import writable_cache_folder
from interlace.experiments import monitoring, samples
from interlace.experiments.card import write_card
from interlace.experiments.inputs import check_inputs
from interlace.experiments.mixing import (
    build_mixture,
    check_objectives,
    dictionary_texts,
    with_limited_lengths,
    write_dictionaries,
)
from interlace.experiments.model_folder import save_model, sentence_vectors
from interlace.experiments.recipe import Recipe
from interlace.experiments.run import Run, differences, hash_of
from interlace.experiments.run_record import data_of, run_record
from interlace.experiments.score_store import folder_key
from interlace.experiments.sections import TrainSettings
from interlace.experiments.workspace import Workspace
from interlace.models.adapters import merge_adapters
from interlace.models.backbone import Backbone
from interlace.models.blocks import compile_encoder, waits_for_launches, wrap_blocks
from interlace.models.build import build_model
from interlace.objectives.common.packed_rows import PackedRow
from interlace.tasks.common.likelihood import HeldOutBatches
from interlace.training import checkpoint, run_folder
from interlace.training.callbacks import (
    CheckpointCallback,
    HeldOutEvaluation,
    MetricsWriter,
    TrackerCallback,
)
from interlace.training.device import accelerator_for, naming_lost_processes, start_trackers
from interlace.training.diagnostics import DiagnosticsCallback, diagnose
from interlace.training.fresh_head import train_fresh_head
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.packing import packed_row
from interlace.training.preview import training_samples
from interlace.training.steps import TrainingStep

log = logging.getLogger(__name__)

# An update of 32,768 tokens of XLM-R base took 17 ms less when compiled (docs/results/gpu.md), so these repay a minute.
MIN_COMPILED_UPDATES = 2000

# The state of the optimizer, and the position in the data, which is a number of micro-batches, depend on these.
_READ_BY_CHECKPOINTS = {
    "train.optimizer.algorithm",
    "train.tokens_per_update",
    "train.tokens_per_micro_batch",
}


def pretrain(
    recipe: Recipe, into: Path, callback: Callable[[TrainingStep], None] = lambda _: None
) -> Path:
    """Train the model of a recipe in the folder `into`; return the finished `model/`.

    callback: called after every step. Errors of the recipe and its data are raised before training starts.
    """
    recipe.check_trainable()
    recipe.check_tasks()
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
    with accelerator.main_process_first():
        check_inputs(recipe)
    first_checkpoint = None
    if accelerator.is_main_process:
        first_checkpoint = _first_checkpoint(recipe, run)
    prepared = prepare_run(recipe, accelerator)
    data: list[JsonObject] = []
    if accelerator.is_main_process:
        data = data_of(prepared.workspace)  # now: a file may change while the model is trained
        _store_state(prepared, data, run)
        if first_checkpoint is not None:
            _copy_checkpoint(first_checkpoint, run)
    progress = Progress()
    _train(prepared, progress, run, callback)
    if progress.reason:
        log.info("stopped at step %d: %s", progress.done, progress.reason)
    # fp16 skips to find its scale
    if progress.skipped and prepared.training.loss_scale is None:
        raise RunError(
            f"the last {progress.skipped} of {progress.done} updates were skipped, because losses or gradients were "
            "not finite: training has diverged; restart with a lower learning rate or a longer warm-up"
        )
    if accelerator.is_main_process:
        _finish(prepared, run, progress, data)
    accelerator.wait_for_everyone()


def _store_state(prepared: PreparedRun, data: list[JsonObject], run: Run) -> None:
    """Write what a resumed run must read again, or check that this one does.

    data: of `run.json`.
    """
    contents = {
        "the seed": str(prepared.recipe.seed),
        "the vocabulary": prepared.workspace.vocab.fingerprint,
    }
    for row in data:
        name = f"the text of {row['corpus']} ({row['split']})"
        digests = [file["digest"] for file in row["files"]]
        contents[name] = " ".join(digests)
    for name, path in plugin_files().items():
        contents[f"the code {name}"] = hash_of(path.read_bytes())
    dictionaries = dictionary_texts(prepared.training.mixture)
    for name, text in dictionaries.items():
        contents[f"the dictionary {name}"] = hash_of(text.encode())
    run.check_state(contents)
    if not run.has_checkpoints:
        write_dictionaries(dictionaries, prepared.recipe, run.folder)


def _first_checkpoint(recipe: Recipe, run: Run) -> Path | None:
    """Return the checkpoint of another run that `train.resume_from` names; None once this run has its own.

    Raise a SettingsError if it is none, of another recipe, or not before the last step.
    """
    train = recipe.train
    if not train.resume_from or run.has_checkpoints:
        return None
    path = user_path(train.resume_from)
    stored = Run(path.parent.parent).stored_recipe
    if stored is None or not (path / checkpoint.STATE).is_file():
        raise SettingsError(
            f"train.resume_from: {path} is not a checkpoint of a run; expected a folder such as "
            "runs/NAME/checkpoints/step-00001000"
        )
    changed = [
        change for change in differences(stored, recipe.dump()) if not _may_change(change)
    ]
    if changed:
        raise SettingsError(
            f"train.resume_from: {path} is of another recipe: {'; '.join(changed[:5])}; expected the same"
        )
    step = checkpoint.read_state(path)["step"]
    if step >= train.steps:
        raise SettingsError(
            f"train.steps is {train.steps}; expected more than the {step} steps of {path} (train.resume_from)"
        )
    return path


def _may_change(change: str) -> bool:
    """Return whether a change of the recipe, as `differences` names it, suits a checkpoint from before it."""
    key = change.partition(" ")[0]
    if key in _READ_BY_CHECKPOINTS:
        return False
    return key == "name" or key.startswith("train.")


def _copy_checkpoint(path: Path, run: Run) -> None:
    """Copy a checkpoint of another run, and the metrics, into this one.

    Raise a SettingsError if it was trained on other data.
    """
    state = checkpoint.read_state(path)
    if state.get("run") != run.id:
        raise SettingsError(
            f"train.resume_from: {path} was trained on other text, or with another vocabulary or dictionary; expected "
            "the same files"
        )
    metrics = path.parent.parent / run_folder.METRICS
    if metrics.is_file():
        shutil.copyfile(metrics, run.folder / run_folder.METRICS)
    with atomic_folder(checkpoint.path_of(run.checkpoints, state["step"])) as partial:
        shutil.copytree(path, partial, dirs_exist_ok=True)


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
    before: FloatArray


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
    check_objectives(recipe, backbone.family)
    recipe = with_limited_lengths(recipe, backbone.traits)  # before text is encoded and aligned
    with accelerator.main_process_first():
        workspace = Workspace(recipe, vocab).open()
    words = samples.concepts(recipe, workspace.root)
    before = samples.concept_vectors(backbone, vocab, words)
    row = packed_row(
        backbone,
        vocab,
        [recipe.objective(name) for name in recipe.objectives],
        train.micro_batch_tokens,
        accelerator.mixed_precision,
    )
    mixture = build_mixture(workspace, backbone.traits, packed=row is not None)
    objectives = {source.objective: source.learner for source in mixture.sources}
    whole = TrainingModel(backbone, objectives, recipe.seed)
    _compile(train, backbone, row, accelerator)
    model = accelerator.prepare(whole)
    settings = train.optimizer
    training = Training(
        model=model,
        mixture=mixture,
        optimizer=settings.build(model),
        settings=settings,
        accelerator=accelerator,
        last=train.steps,
        micro_batches=train.micro_batches,
        row=row,
    )
    rows = monitoring.held_out(workspace, backbone.traits)
    _check_settings(recipe, backbone, rows)
    return PreparedRun(
        recipe=recipe,
        workspace=workspace,
        backbone=backbone,
        training=training,
        held_out=rows,
        words=words,
        before=before,
    )


def _compile(
    train: TrainSettings, backbone: Backbone, row: PackedRow | None, accelerator: Accelerator
) -> None:
    """Compile the model in place as the settings say, and recompute activations; log what was chosen."""
    compiled = train.compile
    if compiled == "auto":
        compiled = accelerator.device.type == "cuda" and train.steps >= MIN_COMPILED_UPDATES
    checkpointing = train.gradient_checkpointing
    wrap_blocks(backbone, checkpointing=checkpointing, compiled=compiled)
    if not compiled:
        return
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(writable_cache_folder() / "compiled"))
    if row is None or checkpointing:
        log.info("compiling the layers (train.compile)")
        return
    waits = waits_for_launches(backbone, row.tokens)
    cuda_graphs = waits and train.micro_batches == 1 and accelerator.device.type == "cuda"
    compile_encoder(backbone, cuda_graphs=cuda_graphs)
    suffix = " with CUDA graphs" if cuda_graphs else ""
    log.info("compiling the encoder as one graph%s (train.compile)", suffix)


def _check_settings(recipe: Recipe, backbone: Backbone, rows: list[HeldOutBatches]) -> None:
    """Find errors before training that would otherwise occur at its end."""
    train = recipe.train
    by_perplexity = train.patience and train.stop_by == monitoring.MAIN
    if by_perplexity and not any(corpus.name == monitoring.MAIN for corpus in rows):
        raise SettingsError(
            "train.patience: early stopping needs held-out text; name some in corpora.GROUP.dev"
        )
    sentence_vectors(recipe, backbone)  # an error if the model lacks the layer of `retrieval`


@dataclass(frozen=True)
class ScoreWriter:
    """Writes scores of a step into the run's metrics, and sends them to trackers."""

    path: Path
    accelerator: Accelerator

    def __call__(self, row: JsonObject) -> None:
        """Write a row with its `step` and `scores`."""
        if self.accelerator.is_main_process:
            run_folder.append_line(self.path, row)
        self.accelerator.log(row["scores"], step=row["step"])


def _diagnostics(prepared: PreparedRun, record: ScoreWriter) -> DiagnosticsCallback | None:
    """Return the diagnostics of the run, if they are on."""
    train = prepared.recipe.train
    if not train.diagnostics.every:
        return None
    probes = monitoring.diagnostic_probes(prepared.workspace)
    measure = partial(diagnose, prepared.backbone, probes)
    return DiagnosticsCallback(measure, train.diagnostics.every, train.steps, record)


def _evaluation(
    prepared: PreparedRun, progress: Progress, record: ScoreWriter
) -> HeldOutEvaluation | None:
    """Return the evaluation of held-out text, if there is any or the run translates for early stopping."""
    train = prepared.recipe.train
    translations = None
    if train.stop_by == "bleu":
        translations = monitoring.DevTranslations.of(prepared.workspace)
    if translations is None and not prepared.held_out:
        return None
    measure = monitoring.HeldOutScores(
        backbone=prepared.backbone,
        batches=prepared.held_out,
        translations=translations,
        accelerator=record.accelerator,
    )
    return HeldOutEvaluation(
        measure=measure,
        every=train.evaluate_every or train.steps,
        patience=train.patience,
        progress=progress,
        last=train.steps,
        record=record,
        by=train.stop_by,
    )


def _train(
    prepared: PreparedRun,
    progress: Progress,
    run: Run,
    callback: Callable[[TrainingStep], None],
) -> None:
    """Resume from the last checkpoint, and give each further step to what consumes it; checkpoints are last.

    Nothing is done if the run has ended before its last step, by early stopping. A signal ends the process after the
    step of the moment, for which a checkpoint is written.
    """
    recipe = prepared.recipe
    train = recipe.train
    training = prepared.training
    accelerator = training.accelerator
    metrics = run.folder / run_folder.METRICS
    record = ScoreWriter(metrics, accelerator)
    callbacks: list[Any] = []
    if accelerator.is_main_process:
        precision = accelerator.mixed_precision.replace("no", "float32")
        log.info("training on %s in %s (train.precision)", accelerator.device.type, precision)
        callbacks.append(MetricsWriter(metrics))
    if train.trackers:
        settings = dict(leaves(run.stored_recipe or {}))
        start_trackers(accelerator, run.folder, recipe.name, settings)
        callbacks.append(TrackerCallback(accelerator))
    diagnostics = _diagnostics(prepared, record)
    evaluation = _evaluation(prepared, progress, record)
    checkpoints = CheckpointCallback(
        folder=run.checkpoints,
        every=train.checkpoint_every,
        keep=train.keep,
        training=training,
        progress=progress,
        evaluation=evaluation,
        run=run.id if accelerator.is_main_process else "",
    )
    callbacks += [*filter(None, [diagnostics, evaluation]), checkpoints, callback]
    resumed_step = checkpoints.resume()
    if accelerator.is_main_process:
        # steps after the checkpoint are repeated; without one, all lines go
        run_folder.cut_metrics(metrics, resumed_step or -1)
    if resumed_step:
        log.info("resuming from step %d", resumed_step)
    else:
        if prepared.backbone.fresh_head:
            train_fresh_head(training)
        if diagnostics is not None:
            diagnostics.measure_at(0)
    if not progress.stop:
        _consume(training, progress, callbacks)
    for tracker in accelerator.trackers:
        tracker.finish()


def _consume(training: Training, progress: Progress, callbacks: Sequence[Any]) -> None:
    """Give each further step to the callbacks; raise what a signal would have after the step of the moment."""
    readers_of_weights = [callback for callback in callbacks if hasattr(callback, "due")]

    def weights_are_read(step: int) -> bool:
        """Return whether a callback needs the weights as they are after a step."""
        return any(callback.due(step) for callback in readers_of_weights)

    with _ending_at_signals(progress) as received, naming_lost_processes(training.accelerator):
        for step in steps(training, progress, weights_are_read):
            for callback in callbacks:
                callback(step)
    # by a signal; early stopping has a reason
    if progress.ended and progress.done < training.last:
        number = int(received[0] if received else signal.SIGTERM)  # none: of another process
        log.info(
            "stopped by a signal after step %d; rerun the same command to resume", progress.done
        )
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)


@contextmanager
def _ending_at_signals(progress: Progress) -> Iterator[list[int]]:
    """Let SIGTERM, which schedulers send before they kill, and Ctrl-C end the loop with a checkpoint.

    A second Ctrl-C stops at once. Yields the signals that were received.
    """
    received: list[int] = []
    handlers: dict[int, Any] = {}

    def end(number: int, frame: Any) -> None:
        if number == signal.SIGINT and received:
            signal.default_int_handler(number, frame)
        log.info("saving a checkpoint after this step; press Ctrl-C again to stop at once")
        received.append(number)
        progress.ending = True

    if threading.current_thread() is threading.main_thread():  # only that one receives signals
        for number in (signal.SIGTERM, signal.SIGINT):
            # a shell's background job ignores Ctrl-C
            if signal.getsignal(number) not in {signal.SIG_IGN, None}:
                handlers[number] = signal.signal(number, end)
    try:
        yield received
    finally:
        for changed, handler in handlers.items():
            signal.signal(changed, handler)


def _finish(
    prepared: PreparedRun,
    run: Run,
    progress: Progress,
    data: list[JsonObject],
) -> None:
    """Export the model and write the records for reports; `run.json` is last and marks the run as finished.

    data: of `run.json`, as files were when training began.
    """
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
    record = {
        "data": data,
        **run_record(recipe, training, progress, run.folder / run_folder.METRICS),
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
