"""Run a recipe: prepare, train, export. The same call goes on where a killed one stopped."""

from __future__ import annotations

import json
import logging
import shutil
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interlace.core.errors import SettingsError
from interlace.experiments.card import data_of, write_card
from interlace.experiments.diagnostics import concepts, diagnostics_callbacks, sample_alignments
from interlace.experiments.dictionaries import store_dictionaries
from interlace.experiments.embeddings import learn_vectors
from interlace.experiments.held_out import MAIN, DevScores, dev_scores, held_out
from interlace.experiments.lineage import describe
from interlace.experiments.mixing import build_mixture
from interlace.experiments.model_metadata import export
from interlace.experiments.prepare import prepare
from interlace.experiments.recipe import STOPPING_TASKS
from interlace.experiments.run_state import check_run_state, claim, finished
from interlace.models.build import build_model
from interlace.models.languages import check_fold_language
from interlace.objectives.common.dictionaries import dictionary_scores
from interlace.training import checkpoint
from interlace.training.callbacks import (
    CheckpointCallback,
    CopyingWarning,
    HeldOutEvaluation,
    MetricsWriter,
    TrackerCallback,
    run_callbacks,
)
from interlace.training.device import accelerator_for
from interlace.training.diagnostics import DiagnosticsCallback, perplexities
from interlace.training.embedding_plot import concept_vectors, embedding_picture, write_words
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.preview import training_samples
from interlace.training.run_folder import (
    ALIGNMENTS,
    EMBEDDING,
    METRICS,
    RUN,
    SAMPLES,
    WORDS,
    append_line,
    cut_metrics,
    locked,
    read_json,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from accelerate import Accelerator
    from numpy.typing import NDArray

    from interlace.experiments.prepare import Materials
    from interlace.experiments.recipe import Recipe
    from interlace.models.backbone import Backbone
    from interlace.models.families import Traits
    from interlace.tasks.common.likelihood import HeldOutBatches
    from interlace.training.callbacks import Callback
    from interlace.training.loop import TrainingStep
    from interlace.training.optimizer import OptimizerSettings

log = logging.getLogger(__name__)


@dataclass
class Clock:
    """Seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        """Count the time since the last lap to `stage`."""
        now = time.perf_counter()
        self.seconds[stage] = round(self.seconds.get(stage, 0.0) + now - self.last, 3)
        self.last = now


def pretrain(recipe: Recipe, into: Path, watch: Callable[[TrainingStep], None] = lambda _: None) -> Path:
    """Train what the recipe says into the folder `into`; returns the finished `model/`.

    watch: called after every step, for progress bars.

    Raises:
        RunError: the folder is in use, or holds a run of another recipe, or training diverged.
        SettingsError, DataError: the recipe asks for what cannot be; found before training starts.
    """
    if recipe.embeddings is not None:
        return learn_vectors(recipe, into)
    recipe.must_train()
    train = recipe.train
    accelerator = accelerator_for(train.precision, train.threads, train.trackers, into)
    if not accelerator.is_main_process:
        return into / "model" if finished(into) else _run(recipe, into, accelerator, watch)
    with locked(into):
        claim(recipe, into)
        if finished(into):
            log.info("%s is finished; nothing to do", into)
            return into / "model"
        return _run(recipe, into, accelerator, watch)


def _look_at_warmup(settings: OptimizerSettings, last: int) -> None:
    if settings.warmup >= last:
        log.warning(
            "the warm-up takes %d steps and the run %d, so the learning rate never comes to %g; lower "
            "train.optimizer.warmup", settings.warmup, last, settings.learning_rate,
        )  # fmt: skip


def _run(recipe: Recipe, into: Path, accelerator: Accelerator, watch: Callable[[TrainingStep], None]) -> Path:
    clock = Clock()
    with accelerator.main_process_first():
        materials = prepare(recipe)
    clock.lap("data")
    backbone = build_model(
        recipe.model, materials.vocab, recipe.languages, recipe.seed, causal=recipe.causal, seq2seq=recipe.seq2seq
    )
    if accelerator.is_main_process:
        check_run_state(into, materials.vocab, backbone)
    for note in backbone.notes:
        log.info("%s", note)
    before = concept_vectors(backbone, materials.vocab, concepts(recipe, materials.root))
    mixture = build_mixture(recipe, materials, backbone.traits)
    if accelerator.is_main_process:
        store_dictionaries(mixture, into)
        for source in mixture.sources:
            for note in source.learner.notes(source.plan.examples(0), source.prepared):
                log.info("%s", note)
    objectives = {source.objective: source.learner for source in mixture.sources}
    model = accelerator.prepare(TrainingModel(backbone, objectives, recipe.seed))
    settings = recipe.train.optimizer
    _look_at_warmup(settings, recipe.train.steps)
    training = Training(
        model, mixture, settings.build(model), settings, accelerator, recipe.train.steps, recipe.train.micro_batches
    )
    progress = Progress()
    rows = held_out(recipe, materials, backbone.traits)
    _check_end(recipe, materials, backbone.traits, rows)
    if recipe.train.trackers:
        accelerator.init_trackers("trackers")
    _train(training, progress, [*_observers(recipe, into, training, progress, rows, materials), watch], into)
    for tracker in accelerator.trackers:
        tracker.finish()
    clock.lap("training")
    if accelerator.is_main_process:
        _finish(recipe, into, training, progress, materials, clock, before)
    accelerator.wait_for_everyone()
    return into / "model"


def _check_end(recipe: Recipe, materials: Materials, traits: Traits, rows: Sequence[HeldOutBatches]) -> None:
    """Find before training what would only be missed at its end."""
    by_perplexity = recipe.train.stop_by == MAIN
    if recipe.train.patience and by_perplexity and not any(corpus.name == MAIN for corpus in rows):
        raise SettingsError("train.patience: there is no held-out text to stop by; name some under corpora.*.dev")
    if (language := recipe.export.fold_language) is not None:
        check_fold_language(traits.languages, language)
    concepts(recipe, materials.root)


def _observers(
    recipe: Recipe, into: Path, training: Training, progress: Progress, rows: list[HeldOutBatches], materials: Materials
) -> list[Callback]:
    accelerator, train = training.accelerator, recipe.train

    def record(row: dict[str, Any]) -> None:
        if accelerator.is_main_process:
            append_line(into / METRICS, row)
        accelerator.log(row["scores"], step=row["step"])

    scored = dev_scores(recipe, materials, accelerator) if train.stop_by in STOPPING_TASKS else None
    evaluation = (
        HeldOutEvaluation(
            measure=_measuring(training, rows, scored),
            every=train.evaluate_every or train.steps,
            patience=train.patience,
            progress=progress,
            last=train.steps,
            record=record,
            by=train.stop_by,
        )
        if rows or scored
        else None
    )
    observers: list[Callback] = [MetricsWriter(into / METRICS)] if accelerator.is_main_process else []
    observers += [CopyingWarning()] if accelerator.is_main_process else []
    observers += [TrackerCallback(accelerator)] if train.trackers else []
    observers += diagnostics_callbacks(recipe, materials, training, rows, record)
    observers += [evaluation] if evaluation else []
    folder = into / "checkpoints"
    return [*observers, CheckpointCallback(folder, train.checkpoint_every, train.keep, training, progress, evaluation)]


def _measuring(
    training: Training, rows: list[HeldOutBatches], scored: DevScores | None
) -> Callable[[], dict[str, float]]:
    """What measures the model as it is: perplexities, its dictionaries, and translations where the run goes by them."""
    accelerator = training.accelerator
    backbone = accelerator.unwrap_model(training.model).backbone
    known = {source.objective: source.prepared.dictionaries for source in training.mixture.sources}

    def measure() -> dict[str, float]:
        found = perplexities(backbone, rows, accelerator.device) | dictionary_scores(backbone, known)
        if scored is not None:
            with accelerator.autocast():
                found |= scored(backbone)
        return found

    return measure


def _train(training: Training, progress: Progress, observers: Sequence[Any], into: Path) -> None:
    """Resume and run the loop to its end."""
    saved = next(observer for observer in observers if isinstance(observer, CheckpointCallback))
    done = saved.resume()
    if done:
        log.info("going on from step %d", done)
    if training.accelerator.is_main_process:
        cut_metrics(into / METRICS, done or -1)  # what a run wrote that came to no checkpoint is written again
    if progress.stop:
        return
    for observer in observers if not done else ():
        if isinstance(observer, DiagnosticsCallback):
            observer.begin()
    for step in steps(training, progress):
        run_callbacks(step, observers)
    if progress.reason:
        log.info("stopped at step %d: %s", progress.done, progress.reason)


def _finish(
    recipe: Recipe,
    into: Path,
    training: Training,
    progress: Progress,
    materials: Materials,
    clock: Clock,
    before: NDArray[np.float32],
) -> None:
    """Export the model and write what reports need; `run.json` comes last and says the run is finished.

    before: the vectors of the recipe's concepts as they were when training began.
    """
    model: TrainingModel = training.accelerator.unwrap_model(training.model)
    _take_best(into, model, recipe)
    backbone: Backbone = model.backbone.eval()
    _export(backbone, into, materials, recipe)
    write_json(into / SAMPLES, training_samples(training.mixture, materials.vocab))
    words = concepts(recipe, materials.root)
    write_json(into / EMBEDDING, embedding_picture(backbone, materials.vocab, words))
    write_words(into / WORDS, words, before, concept_vectors(backbone, materials.vocab, words))
    if links := sample_alignments(materials.train):
        write_json(into / ALIGNMENTS, links)
    clock.lap("export")
    rows = list(_recorded(into / METRICS))
    about = describe(recipe, training, progress, clock.seconds, rows) | {"data": data_of(recipe, materials)}
    write_card(into, about)
    write_json(into / RUN, about)


def _take_best(into: Path, model: TrainingModel, recipe: Recipe) -> None:
    """With early stopping the best checkpoint is the result, not the last."""
    folder = into / "checkpoints"
    state = read_json(checkpoint.path_of(folder, checkpoint.steps_in(folder)[-1]) / checkpoint.STATE)
    best = (state.get("evaluation") or {}).get("best_step")
    if recipe.train.patience and best and best in checkpoint.steps_in(folder):
        log.info("the model is that of step %d, the best by %s", best, recipe.train.stop_by)
        checkpoint.load(checkpoint.path_of(folder, best), model)


def _export(backbone: Backbone, into: Path, materials: Materials, recipe: Recipe) -> None:
    shutil.rmtree(into / "model", ignore_errors=True)
    export(backbone, materials.vocab, recipe, into / "model")


def _recorded(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line:
            yield json.loads(line)
