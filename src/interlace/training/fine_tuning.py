"""Fine-tuning and scoring of a task: the training loop with a sweep over learning rates and model selection."""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from interlace.core.display import listed
from interlace.core.errors import CheckpointError, DataError, RunError, SettingsError
from interlace.core.files import atomic_folder
from interlace.core.json_files import json_record, read_json, write_json
from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples, Pairs, Questions, Sentences
from interlace.models.backbone import freeze_layers
from interlace.objectives import Prepared, Resources
from interlace.tasks import FineTuneTask, TaskHead, Tuning
from interlace.tasks.common.classification import ClassificationTask, TaggingTask
from interlace.tasks.common.prediction import MixedBatches, MixedSequences, bucket_plan, predict_all
from interlace.training.fine_tuned import FineTunedRecord, fine_tuned_name, save_fine_tuned
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import BucketedBatches, Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings
from interlace.training.predictions import write_predictions, write_probe_outcomes
from interlace.training.selection import (
    FineTuneRun,
    Item,
    SelectionGroup,
    baseline_loss,
    collapsed,
    runs_of_task,
    selection_groups,
)

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.training.evaluation_job import EvaluationJob, Score

    Predicted = dict[int, Any]  # predictions for examples, by the object's `id`

log = logging.getLogger(__name__)

_MAX_REASONS = 3  # that a message lists
_SPLITS = ("test", "dev", "train")
_LATE = 0.75  # of the training: a model that still predicts one label will not recover
_LITTLE_LEARNED = 0.9  # of the entropy of the labels: the loss of a model that has learned little more than it
_FEW_UPDATES = 100
_SMALL_WIDTH, _SMALL_MODEL_RATE = 512, 1e-3  # learning rates of large encoders, such as 2e-5, are too low for these
_NEAR_CHANCE = 0.05  # of the way from the share of the most frequent class to 100 %
_STATE, _BEST = "state.json", "best.safetensors"


def fine_tune_runs(job: EvaluationJob) -> list[FineTuneRun]:
    """Return the fine-tunings of a task, or the runs without training of a probe; reject impossible translate-test."""
    task = job.task
    if isinstance(task, FineTuneTask) and "translate-test" in task.settings and not task.translatable:
        raise SettingsError(f"{job.name}: translate-test is for tasks with one label a text, not for this one")
    return runs_of_task(job.task, job.source, job.targets)


def readable(job: EvaluationJob, run: FineTuneRun) -> tuple[FineTuneRun, DataError | None]:
    """Return the run without the languages whose own files cannot be read, and an error that says why.

    A development set is a language's own file under `per-language-dev` only. Otherwise it selects the weights of all
    languages and is, like training text, required by `score_run`. At least one language must be left.
    """
    per_language = _tuning(job).select == "per-language-dev"
    complete: list[Item] = []
    errors: dict[str, set[str]] = {}
    for item in run.items:
        try:
            job.test(item)
            if per_language:
                job.examples("dev", run.dev_language(item))
            complete.append(item)
        except DataError as error:
            errors.setdefault(str(error), set()).add(item[1])
    if not errors:
        return run, None
    if not complete:
        _read(job, _wanted(job, run))  # raises, and names what is missing for training, too
    return replace(run, items=complete, requested=run.items), DataError(_listed(errors))


def score_run(job: EvaluationJob, run: FineTuneRun) -> list[Score]:
    """Return the score rows of one fine-tuning, over all its learning rates, or of a probe; read all files first."""
    if run.train_languages:
        return _score_fine_tuned(job, run)
    rows: list[Score] = []
    for item in run.items:
        scores, count, seconds = job.measured(item)
        output = job.output if job.accelerator.is_main_process else None
        interval = write_probe_outcomes(output, job, item, scores) if output else {}
        rows.append({**job.row(item, scores, count, seconds), **scores.details, **interval})
    return rows


def _score_fine_tuned(job: EvaluationJob, run: FineTuneRun) -> list[Score]:
    groups = selection_groups(_tuning(job).select, run)
    _tuning(job).check_processes(job.accelerator.num_processes)
    read = _read(job, _wanted(job, run))
    tests, devs, train = ({what: read[split, what] for split, what in read if split == kind} for kind in _SPLITS)
    _reject_repeated_text(job, train)
    _warn_of_unseen_labels(job, train, tests)
    tuner: Any = None
    rates = _tuning(job).rates
    done, diverged = restore_sweep(job.sweep, groups) if job.sweep else (0, {})
    for number, rate in enumerate(rates[done:], done + 1):
        job.accelerator.free_memory()  # of the previous model
        tuner = FineTuner.fresh(job, train, rate)
        try:
            tuner.run(groups, devs, tests)
        except RunError as error:
            log.warning("%s, seed %d, learning rate %g: %s", job.name, job.seed, rate, error)
            diverged[rate] = str(error)
        tuner.save_best(groups)
        if job.sweep and number < len(rates) and job.accelerator.is_main_process:
            save_sweep(job.sweep, groups, number, diverged)
    if len(diverged) == len(rates):
        raise RunError(f"{job.name}, seed {job.seed}: {'; '.join(dict.fromkeys(diverged.values()))}")
    rows = []
    for group in groups:  # their rows, or those of the weights that they keep, or of the current weights
        if isinstance(group.kept, list):
            rows += group.kept
            continue
        if group.kept is not None:
            job.accelerator.unwrap_model(tuner.training.model).load_state_dict(group.kept)
        tuner.save(group)
        rows += tuner.score(group, tests)
    job.accelerator.free_memory()
    rows = [{**row, "tuning": {**row["tuning"], "diverged": list(diverged)}} for row in rows]
    return _with_chance(job, rows, tests) if isinstance(job.task, ClassificationTask) else rows


def _with_chance(job: EvaluationJob, rows: list[Score], tests: dict[Item, Any]) -> list[Score]:
    """Add the share of the most frequent class over the test sets of all languages to the rows of a classification.

    Warn if the accuracy over all languages is near it. A language alone does not show that: in language
    identification all its labels are equal.
    """
    for setting in dict.fromkeys(row["setting"] for row in rows):
        chosen = [row for row in rows if row["setting"] == setting]
        gold = np.concatenate([_labels(tests[setting, row["language"]].labels) for row in chosen])
        chance = 100 * float(np.bincount(gold).max() / len(gold))
        accuracy = sum(row["score"] * row["n"] for row in chosen) / sum(row["n"] for row in chosen)
        for row in chosen:
            row["tuning"]["chance"] = round(chance, 4)
        if accuracy < chance + _NEAR_CHANCE * (100 - chance):
            log.warning(
                "%s, seed %d, %s: the accuracy is %.1f %% over all languages, and %.1f %% for the most frequent class",
                job.name, job.seed, setting, accuracy, chance,
            )  # fmt: skip
    return rows


def _wanted(job: EvaluationJob, run: FineTuneRun) -> list[tuple[str, Any]]:
    """Return the splits and languages (of test sets: items) that a run reads."""
    groups = selection_groups(_tuning(job).select, run)
    dev_languages = dict.fromkeys(language for group in groups for language in group.dev_languages)
    languages = {"train": run.train_languages, "dev": dev_languages, "test": run.items}
    return [(split, what) for split, each in languages.items() for what in each]


def _reject_repeated_text(job: EvaluationJob, train: dict[str, Any]) -> None:
    """Raise a DataError if two languages have the same training text, which would count twice."""
    texts = {language: [side.ids for side in _sides(examples)] for language, examples in train.items()}
    for earlier, language in combinations(texts, 2):
        if texts[earlier] == texts[language]:
            raise DataError(
                f"{job.name}: the training text of {language!r} is that of {earlier!r}, and would count twice; "
                f"name other files in evaluate.tasks.{job.name}.files"
            )


def _sides(examples: Any) -> list[Sentences]:
    """Return the sentences of the examples of any task: one side, those of pairs, or questions and passages."""
    inner = examples.examples if isinstance(examples, LabeledExamples) else examples
    if isinstance(inner, Questions):
        return [inner.questions, inner.passages]
    return [inner.source, inner.target] if isinstance(inner, Pairs) else [inner]


def _warn_of_unseen_labels(job: EvaluationJob, train: dict[str, Any], tests: dict[Item, Any]) -> None:
    """Warn of test labels that do not occur in the training set, which scores alone do not show."""
    task: Any = job.task
    head, classes = task.head(), task.classes
    if not classes:
        return
    seen = np.concatenate([_labels(head.gold(examples)) for examples in train.values()])
    for (_, language), examples in tests.items():
        gold = _labels(head.gold(examples))
        unseen = gold[~np.isin(gold, seen)]
        if len(unseen):
            names = listed(classes[number] for number in np.unique(unseen))
            log.warning(
                "%s (%s): %d of %d labels do not occur in the training set and count as wrong: %s",
                job.name, language, len(unseen), len(gold), names,
            )  # fmt: skip


def _tuning(job: EvaluationJob) -> Tuning:
    return cast("FineTuneTask", job.task).tuning


def _labels(gold: Any) -> NDArray[np.integer]:
    """Return the class numbers of labeled examples or words."""
    flat = np.asarray(_flat(gold))
    known: NDArray[np.integer] = flat[flat >= 0]
    return known


def _flat(values: Any) -> Any:
    return values.flat if isinstance(values, Ragged) else values


def _read(job: EvaluationJob, wanted: list[tuple[str, Any]]) -> dict[tuple[str, Any], Any]:
    """Return the examples of splits and languages (of test sets: items)."""
    found: dict[tuple[str, Any], Any] = {}
    errors: dict[str, set[str]] = {}  # error -> languages
    for split, what in wanted:
        try:
            found[split, what] = job.test(what) if split == "test" else job.examples(split, what)
        except DataError as error:
            errors.setdefault(str(error), set()).add(what[1] if split == "test" else what)
    if not errors:
        return found
    failed = set().union(*errors.values())
    complete = dict.fromkeys(what[1] for split, what in found if split == "test")
    kept = [language for language in complete if language not in {job.source, *failed}]
    message = _listed(errors)
    if kept and job.source not in failed:
        names = ", ".join(f'"{language}"' for language in kept)
        message += f"; to score the others: --set 'evaluate.tasks.{job.name}.targets=[{names}]'"
    raise DataError(message)


def _listed(errors: dict[str, set[str]]) -> str:
    """Return the first errors, and the languages of the others."""
    more = list(errors.values())[_MAX_REASONS:]
    others = f"; and {len(more)} more, of {listed(sorted(set().union(*more)))}" if more else ""
    return "; ".join(list(errors)[:_MAX_REASONS]) + others


@dataclass
class FineTuner:
    """A model in fine-tuning.

    baseline: loss in nats of a model that only knows label frequencies. languages: of the training text.
    """

    job: EvaluationJob
    head: TaskHead
    prepared: Prepared
    training: Training
    baseline: float
    languages: Sequence[str]

    @classmethod
    def fresh(cls, job: EvaluationJob, train: dict[str, Any], rate: float) -> FineTuner:
        """Return the pre-trained model with a fresh head; `train` has examples by language."""
        tuning = _tuning(job)
        backbone = job.load()
        backbone.causal = False  # causal models are fine-tuned bidirectionally, as in XLM
        if tuning.freeze is not None:
            freeze_layers(backbone, tuning.freeze)
        head: Any = cast("FineTuneTask", job.task).head().model_copy(update={"layer": tuning.layer})
        prepared = head.prepare(Resources(job.vocab, backbone.traits))
        sources, baseline = _sources(job, head, prepared, train)
        batches = sum(len(source.plan) for source in sources)
        model = job.accelerator.prepare(TrainingModel(backbone, {job.name: head}, job.seed))
        last = max(1, math.ceil(tuning.epochs * batches / tuning.micro_batches))
        warmup, decay = int(tuning.warmup_share * last), tuning.weight_decay
        settings = OptimizerSettings(
            learning_rate=rate, warmup=warmup, max_warmup_share=1, weight_decay=decay, betas=tuning.betas
        )
        mixture = Mixture(sources, job.seed)
        training = Training(
            model, mixture, settings.build(model), settings, job.accelerator, last, tuning.micro_batches,
            count_flops=False,
        )  # fmt: skip
        return cls(job, head, prepared, training, baseline, list(train))

    @property
    def task(self) -> FineTuneTask:
        """The task that the model is fine-tuned for."""
        return cast("FineTuneTask", self.job.task)

    def run(self, groups: list[SelectionGroup], devs: dict[str, Any], tests: dict[Item, Any]) -> None:
        """Train, evaluate periodically, and keep in each group what its best evaluation found."""
        tuning, last = self.task.tuning, self.training.last
        checks = math.ceil(tuning.epochs * tuning.checks)
        for group in groups:
            group.bad_checks = 0
        progress, losses, start, tokens = Progress(), [], time.perf_counter(), 0

        def due(index: int) -> bool:
            return index == last or bool(devs and index * checks // last != (index - 1) * checks // last)

        for step in steps(self.training, progress, due):
            self.job.on_step(step)
            losses += [] if step.skipped else [fmean(step.losses.values())]
            tokens += step.tokens
            if not due(step.index):
                continue
            check = {
                "rule": tuning.select,
                "learning_rate": self.training.settings.learning_rate,
                "step": step.index,
                "steps": last,
                "tokens": tokens,
                **self._check(devs or {"": next(iter(tests.values()))}, fmean(losses or [math.nan])),
                "seconds": round(time.perf_counter() - start, 3),
            }
            recent_loss = fmean(losses[3 * len(losses) // 4 :] or [math.nan])
            losses = []
            self._keep(groups, check, tests)
            if self._hopeless(check, recent_loss) or all(group.is_stopped(tuning.patience) for group in groups):
                progress.stop = True

    def predict(self, examples: Any) -> Any:
        """Return predictions in the order of the examples."""
        accelerator = self.job.accelerator
        model: Any = accelerator.unwrap_model(self.training.model)
        with accelerator.autocast():
            tokens, modules = 4 * self.task.tuning.tokens_per_batch, model.heads[self.job.name]
            return predict_all(self.head, model.backbone, modules, examples, self.prepared, tokens, accelerator)

    def score(self, group: SelectionGroup, tests: dict[Item, Any], predicted: Predicted | None = None) -> list[Score]:
        """Return the score rows of a group with the current weights.

        predicted: predictions of these weights for other groups, which is extended.
        """
        rows, predicted = [], {} if predicted is None else predicted
        saved = {"fine_tuned": f"{self.job.models.name}/{self._model_name(group)}"} if self.job.models else {}
        for item in group.items:
            start = time.perf_counter()
            examples = tests[item]
            if id(examples) not in predicted:
                predicted[id(examples)] = self.predict(examples)
            predictions = predicted[id(examples)]
            scores = self.task.score(examples, predictions)
            if item[1] in self.job.derived and isinstance(self.task, TaggingTask) and item[0] != "translate-test":
                original = self.job.examples("test", self.job.derived[item[1]])
                scores.metrics.update(self.task.without_shared_words(examples, predictions, original))
            interval = {}
            if self.job.output and self.job.accelerator.is_main_process:
                gold = self.head.gold(examples)
                interval = write_predictions(self.job.output, self.job, item, examples, predictions, gold, scores)
            row = self.job.row(item, scores, len(examples), time.perf_counter() - start)
            rows.append({**row, **interval, "tuning": group.best_check, **saved})
        return rows

    def save(self, group: SelectionGroup) -> None:
        """Save the current weights as the model of a group, if models are saved."""
        job = self.job
        if job.models is None or not job.accelerator.is_main_process:
            return
        model: Any = job.accelerator.unwrap_model(self.training.model)
        record: FineTunedRecord = {
            "name": job.name,
            "task": {"name": self.task.name, **self.task.dump()},
            "items": [list(item) for item in group.items],
            "languages": list(self.languages),
            "source": job.source,
            "seed": job.seed,
            "classes": list(self.task.classes),
            "key": job.identity["key"],
            "model_key": job.identity["model_key"],
            "precision": cast("Any", job.accelerator.mixed_precision),
            "transformers": "",
        }
        folder = job.models / self._model_name(group)
        save_fine_tuned(folder, model.backbone, self.head, model.heads[job.name], self.prepared, record)

    def save_best(self, groups: Sequence[SelectionGroup]) -> None:
        """Save the models of the groups whose best weights this training has found; the current weights stay."""
        improved_groups = [group for group in groups if group.weights_to_save]
        if not improved_groups:
            return
        model = self.job.accelerator.unwrap_model(self.training.model)
        current_weights = self._trained_weights()
        for group in improved_groups:
            model.load_state_dict(group.weights_to_save, strict=False)
            self.save(group)
            group.weights_to_save = {}
        model.load_state_dict(current_weights, strict=False)

    def _model_name(self, group: SelectionGroup) -> str:
        per_language = self.task.tuning.select == "per-language-dev"
        return fine_tuned_name(self.job.name, group.items, self.job.seed, per_language=per_language)

    def _trained_weights(self) -> dict[str, Tensor]:
        """Return copies of the parameters that are trained, in main memory."""
        model = self.job.accelerator.unwrap_model(self.training.model)
        trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
        return {name: value.detach().to("cpu", copy=True) for name, value in trained.items()}

    def _check(self, devs: dict[str, Any], loss: float) -> dict[str, Any]:
        """Return development scores by language, and whether the model has collapsed on the first."""
        scores, flat = {}, False
        for number, (language, examples) in enumerate(devs.items()):
            predictions = self.predict(examples)
            scores[language] = self.task.score(examples, predictions)[self.task.metric]
            if not number:
                flat = collapsed(_flat(predictions), _flat(self.head.gold(examples)), loss, self.baseline)
        return {"dev": scores if "" not in scores else {}, "collapsed": flat}

    def _keep(self, groups: list[SelectionGroup], check: dict[str, Any], tests: dict[Item, Any]) -> None:
        """Keep the weights of the best check of a single group, or the scores of several."""
        predicted: Predicted = {}
        weights: dict[str, Tensor] = {}  # of this check, shared by all groups that they are the best of
        saves_models = self.job.models is not None and self.job.accelerator.is_main_process
        for group in [group for group in groups if not group.is_stopped(self.task.tuning.patience)]:
            if group.improves(check["dev"], greater=self.task.greater_is_better):
                group.best_check = {**check, "judged_by": group.dev_languages}
                if len(groups) > 1:
                    group.kept = self.score(group, tests, predicted)
                    if saves_models:
                        weights = weights or self._trained_weights()
                        group.weights_to_save = weights
                elif group.dev_languages:
                    state = self.job.accelerator.unwrap_model(self.training.model).state_dict()
                    group.kept = {name: value.detach().clone() for name, value in state.items()}

    def _hopeless(self, check: dict[str, Any], loss: float) -> bool:
        """Return whether the model is collapsed late in the training, when the learning rate falls.

        Warn of it, and at the end of the training of one that knows little more than label frequencies.

        loss: mean training loss in nats of the latest updates.
        """
        last = self.training.last
        collapsed_late: bool = check["collapsed"] and check["step"] >= _LATE * last
        if collapsed_late or (check["step"] == last and loss > _LITTLE_LEARNED * self.baseline > 0):
            what = "collapsed: " if collapsed_late else ""
            log.warning(
                "%s, seed %d, learning rate %g: %sat update %d of %d the training loss is %.3f nats, and %.3f if only "
                "label frequencies are known; try %s",
                self.job.name, self.job.seed, check["learning_rate"], what, check["step"],
                last, loss, self.baseline, self._advice(check["learning_rate"]),
            )  # fmt: skip
        return collapsed_late

    def _advice(self, rate: float) -> str:
        """Return what to try after a training that taught the model little."""
        model: Any = self.job.accelerator.unwrap_model(self.training.model)
        width, updates = model.backbone.width, self.training.last
        ideas = []
        if updates < _FEW_UPDATES:
            ideas.append(f"more updates than {updates} (tuning.epochs, or a lower tuning.tokens_per_batch)")
        if width < _SMALL_WIDTH and rate < _SMALL_MODEL_RATE / 2:
            ideas.append(
                f"a higher learning rate: models as small as this one (width {width}) need about {_SMALL_MODEL_RATE}"
            )
        return ", and ".join(ideas) or "a lower learning rate, a longer warm-up or another seed"


def _sources(
    job: EvaluationJob, head: TaskHead, prepared: Prepared, train: dict[str, Any]
) -> tuple[list[MixtureSource], float]:
    """Return the sources of training batches, one per language or one that mixes them, and their baseline loss."""
    tuning, batcher = _tuning(job), cast("Any", head)
    read = {language: head.sequences(examples, prepared) for language, examples in train.items()}
    columns = [head.class_columns(sequences) for sequences in read.values()]
    for language, sequences in read.items():
        for note in head.notes(sequences, prepared):
            log.info("%s (%s): %s", job.name, language, note)
    if tuning.mix_languages and len(read) > 1:
        read, batcher = {"+".join(read): MixedSequences.of(list(read.values()))}, MixedBatches(head)
        columns = [[np.concatenate(column) for column in zip(*columns, strict=True)]]
    sources, budget = [], tuning.tokens_per_batch // tuning.micro_batches
    for language, sequences in read.items():
        plan = bucket_plan(sequences, prepared, head.max_length, budget, seed=job.seed)
        batches = BucketedBatches(sequences, plan)
        sources.append(MixtureSource(job.name, language, batcher, prepared, batches, size=len(plan)))
    return sources, fmean(map(baseline_loss, columns))


def save_sweep(folder: Path, groups: Sequence[SelectionGroup], done: int, diverged: dict[float, str]) -> None:
    """Write what the first `done` learning rates found: `state.json`, and the best weights in `best.safetensors`.

    diverged: learning rates with reasons. Raise a DataError if the disk is full; the previous state stays intact.
    """
    from safetensors.torch import save_file

    folder.parent.mkdir(parents=True, exist_ok=True)
    states = [{"best": group.best, "best_check": group.best_check, "items": group.items} for group in groups]
    rows = [group.kept if isinstance(group.kept, list) else None for group in groups]
    weights = {
        f"{number}.{name}": value.contiguous()
        for number, group in enumerate(groups)
        if isinstance(group.kept, dict)
        for name, value in group.kept.items()
    }
    with atomic_folder(folder) as partial:
        save_file(weights, partial / _BEST)
        write_json(partial / _STATE, {"done": done, "diverged": list(diverged.items()), "groups": states, "rows": rows})


@json_record
class _StoredGroup(TypedDict):
    items: list[list[str]]
    best: float
    best_check: dict[str, Any]


@json_record
class _Sweep(TypedDict):
    """The content of the state of a sweep of learning rates."""

    done: int
    diverged: list[Annotated[list[Any], Field(min_length=2, max_length=2)]]
    groups: list[_StoredGroup]
    rows: list[Any]


def restore_sweep(folder: Path, groups: Sequence[SelectionGroup]) -> tuple[int, dict[float, str]]:
    """Restore the groups, and return the number of finished learning rates and the diverged ones."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    state = read_json(folder / _STATE, _Sweep, None)
    items = [[list(item) for item in group.items] for group in groups]
    if state is None or [stored["items"] for stored in state["groups"]] != items:
        return 0, {}
    remedy = f"remove {folder}, so that the fine-tuning starts again"
    if len(state["rows"]) != len(groups):
        found = f"key 'rows': {len(state['rows'])} entries, expected {len(groups)}"
        raise CheckpointError(f"{folder / _STATE}: damaged: {found}; {remedy}")
    try:
        weights = load_file(folder / _BEST)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder / _BEST}: missing or damaged ({error}); {remedy}") from error
    for number, (group, stored, rows) in enumerate(zip(groups, state["groups"], state["rows"], strict=True)):
        group.best, group.best_check = stored["best"], stored["best_check"]
        own = f"{number}."
        best = {name.removeprefix(own): value for name, value in weights.items() if name.startswith(own)}
        group.kept = rows or best or None
    return state["done"], dict(state["diverged"])


def remove_sweep(folder: Path) -> None:
    """Remove the state of a fine-tuning whose scores are written, and parent folders that are then empty."""
    shutil.rmtree(folder, ignore_errors=True)
    for parent in (folder.parent, folder.parent.parent):
        if parent.is_dir() and not any(parent.iterdir()):
            parent.rmdir()


def remove_other_sweeps(folder: Path, keys: Collection[str]) -> None:
    """Remove the states in a task's folder under other keys, because no run will resume them."""
    for path in list(folder.glob("*")):
        if path.name.partition(".")[0] not in keys:
            remove_sweep(path)
