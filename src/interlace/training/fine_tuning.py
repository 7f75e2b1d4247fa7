"""Fine-tuning and scoring of a task: the training loop with a sweep over learning rates and model selection."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from interlace.core.errors import DataError, RunError
from interlace.core.json_files import JsonObject
from interlace.core.ragged import Ragged
from interlace.objectives import Prepared, Resources
from interlace.tasks import FineTuneTask, TaskHead, Tuning
from interlace.tasks.common.classification import ClassificationTask
from interlace.tasks.common.prediction import bucket_plan, predict_all
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import BucketedBatches, Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings
from interlace.training.predictions import record_outcomes
from interlace.training.selection import (
    FineTuneRun,
    Item,
    SelectionGroup,
    baseline_loss,
    collapsed,
    selection_groups,
)

if TYPE_CHECKING:
    from interlace.training.evaluation_job import EvaluationJob, Score

log = logging.getLogger(__name__)

_MAX_REASONS = 3  # that a message lists
_LATE = 0.75  # of the training: a model that still predicts one label will not recover


def score_run(job: EvaluationJob, run: FineTuneRun) -> list[Score]:
    """Return the score rows of one fine-tuning, over all its learning rates, or of a probe; read all files first."""
    if run.train_language:
        return _score_fine_tuned(job, run)
    rows: list[Score] = []
    for item in run.items:
        start = time.perf_counter()
        examples = job.test(item)
        scores = job.measure(examples)
        count = len(examples)
        if scores.outcomes is not None:
            count = int((scores.outcomes.weight > 0).sum())
        row = job.row(item, scores, count, time.perf_counter() - start)
        rows.append({**row, **scores.details, **record_outcomes(job, item, scores)})
    return rows


def _score_fine_tuned(job: EvaluationJob, run: FineTuneRun) -> list[Score]:
    """Fine-tune by every learning rate, and score the weights that each group of languages selects."""
    tuning = _tuning(job)
    tuning.check_processes(job.accelerator.num_processes)
    groups = selection_groups(tuning.select, run)
    data = _read(job, run)
    diverged: dict[float, str] = {}  # learning rate -> reason
    tuner: Any = None
    for rate in tuning.rates:
        job.accelerator.free_memory()  # of the previous model
        tuner = FineTuner.fresh(job, data, rate)
        try:
            tuner.run(groups)
        except RunError as error:
            log.warning(
                "%s, seed %d, learning rate %g: %s",
                job.name,
                job.seed,
                rate,
                error,
            )
            diverged[rate] = str(error)
    if len(diverged) == len(tuning.rates):
        reasons = "; ".join(dict.fromkeys(diverged.values()))
        raise RunError(f"{job.name}, seed {job.seed}: {reasons}")
    rows: list[Score] = []
    for group in groups:
        rows += group.kept_rows or tuner.score_selected(group)
    job.accelerator.free_memory()
    rows = [{**row, "tuning": {**row["tuning"], "diverged": list(diverged)}} for row in rows]
    if isinstance(job.task, ClassificationTask):
        _add_chance(rows, data.tests)
    return rows


def _add_chance(rows: list[Score], tests: dict[Item, Any]) -> None:
    """Add the share of the most frequent class over the test sets of all languages to the rows of a classification.

    A language alone does not show it: in language identification all its labels are equal.
    """
    for setting in dict.fromkeys(row["setting"] for row in rows):
        rows_of_setting = [row for row in rows if row["setting"] == setting]
        gold = np.concatenate(
            [tests[Item(setting, row["language"])].labels for row in rows_of_setting]
        )
        gold = gold[gold >= 0]
        chance = 100 * float(np.bincount(gold).max() / len(gold))
        for row in rows_of_setting:
            row["tuning"]["chance"] = round(chance, 4)


@dataclass
class _TuningData:
    """The examples of a fine-tuning: training set, dev sets by language, test sets."""

    language: str  # of the training set
    train: Any = None
    devs: JsonObject = field(default_factory=dict)
    tests: dict[Item, Any] = field(default_factory=dict)


@contextmanager
def _collecting(errors: list[str]) -> Iterator[None]:
    """Add the message of a DataError to a list, instead of raising it."""
    try:
        yield
    except DataError as error:
        errors.append(str(error))


def _read(job: EvaluationJob, run: FineTuneRun) -> _TuningData:
    """Read all examples of a fine-tuning; raise a DataError that names the first ones that are missing."""
    data = _TuningData(run.train_language)
    errors: list[str] = []
    with _collecting(errors):
        data.train = job.examples("train", run.train_language)
    for group in selection_groups(_tuning(job).select, run):
        for language in group.dev_languages:
            with _collecting(errors):
                data.devs[language] = job.examples("dev", language)
    for item in run.items:
        with _collecting(errors):
            data.tests[item] = job.test(item)
    if errors:
        reasons = list(dict.fromkeys(errors))
        raise DataError("; ".join(reasons[:_MAX_REASONS]))
    return data


def _task(job: EvaluationJob) -> FineTuneTask:
    return cast("FineTuneTask", job.task)


def _tuning(job: EvaluationJob) -> Tuning:
    return _task(job).tuning


@dataclass
class FineTuner:
    """A model in fine-tuning; baseline: loss in nats of a model that only knows label frequencies."""

    job: EvaluationJob
    data: _TuningData
    head: TaskHead
    prepared: Prepared
    training: Training
    baseline: float

    @classmethod
    def fresh(cls, job: EvaluationJob, data: _TuningData, rate: float) -> FineTuner:
        """Return the pre-trained model with a fresh head."""
        tuning = _tuning(job)
        backbone = job.load()
        backbone.causal = False  # causal models are fine-tuned bidirectionally, as in XLM
        head = _task(job).head()
        prepared = head.prepare(Resources(job.vocab, backbone.traits))
        sequences = head.sequences(data.train, prepared)
        tokens = tuning.tokens_per_batch // tuning.micro_batches
        plan = bucket_plan(
            sequences,
            prepared,
            head.max_length,
            tokens,
            seed=job.seed,
        )
        batches = BucketedBatches(sequences, plan)
        source = MixtureSource(
            job.name,
            data.language,
            head,
            prepared,
            batches,
            size=len(plan),
        )
        updates = max(1, math.ceil(tuning.epochs * len(plan) / tuning.micro_batches))
        settings = OptimizerSettings(
            learning_rate=rate,
            warmup=int(tuning.warmup_share * updates),
            max_warmup_share=1,
            weight_decay=tuning.weight_decay,
            betas=tuning.betas,
        )
        model = job.accelerator.prepare(TrainingModel(backbone, {job.name: head}, job.seed))
        training = Training(
            model,
            Mixture([source], job.seed),
            settings.build(model),
            settings,
            job.accelerator,
            updates,
            tuning.micro_batches,
        )
        return cls(
            job,
            data,
            head,
            prepared,
            training,
            baseline_loss(head.class_columns(sequences)),
        )

    @property
    def task(self) -> FineTuneTask:
        """The task that the model is fine-tuned for."""
        return _task(self.job)

    @property
    def model(self) -> Any:
        """The `TrainingModel`."""
        return self.job.accelerator.unwrap_model(self.training.model)

    def run(self, groups: list[SelectionGroup]) -> None:
        """Train, evaluate periodically, and keep in each group what its best evaluation found."""
        progress = Progress()
        losses: list[float] = []  # of the updates since the last check
        tokens = 0
        start = time.perf_counter()
        for step in steps(self.training, progress, self._is_check_due):
            self.job.on_step(step)
            tokens += step.tokens
            if not step.skipped:
                losses.append(fmean(step.losses.values()))
            if not self._is_check_due(step.index):
                continue
            check = {
                "rule": self.task.tuning.select,
                "learning_rate": self.training.settings.learning_rate,
                "step": step.index,
                "steps": self.training.last,
                "tokens": tokens,
                **self._check(fmean(losses) if losses else math.nan),
                "seconds": round(time.perf_counter() - start, 3),
            }
            losses = []
            self._keep(groups, check)
            if self._is_hopeless(check):
                progress.stop = True

    def _is_check_due(self, index: int) -> bool:
        """Return whether dev sets are evaluated after an update: equally often in each epoch, and after the last."""
        updates = self.training.last
        if index == updates:
            return True
        checks = math.ceil(self.task.tuning.epochs * self.task.tuning.checks)
        return (
            bool(self.data.devs)
            and index * checks // updates != (index - 1) * checks // updates
        )

    def predict(self, examples: Any) -> Any:
        """Return predictions in the order of the examples."""
        accelerator = self.job.accelerator
        model = self.model
        tokens = 4 * self.task.tuning.tokens_per_batch
        with accelerator.autocast():
            return predict_all(
                self.head,
                model.backbone,
                model.heads[self.job.name],
                examples,
                self.prepared,
                tokens,
                accelerator,
            )

    def score_selected(self, group: SelectionGroup) -> list[Score]:
        """Save and score the weights that a group keeps, or the current ones if it keeps none."""
        if group.kept_weights is not None:
            self.model.load_state_dict(group.kept_weights)
        self.save(group)
        return self.score(group, {})

    def score(self, group: SelectionGroup, predictions_by_id: dict[int, Any]) -> list[Score]:
        """Return the score rows of a group with the current weights.

        predictions_by_id: predictions of these weights by `id` of the examples, which is extended: all languages may
        share a test set.
        """
        rows = []
        for item in group.items:
            start = time.perf_counter()
            examples = self.data.tests[item]
            if id(examples) not in predictions_by_id:
                predictions_by_id[id(examples)] = self.predict(examples)
            predictions = predictions_by_id[id(examples)]
            scores = self.task.score(examples, predictions)
            answers = self.task.exports(examples, predictions)
            interval = record_outcomes(self.job, item, scores, answers)
            row = self.job.row(item, scores, len(examples), time.perf_counter() - start)
            row |= {**interval, "tuning": group.best_check}
            if self.job.models:
                row["fine_tuned"] = f"{self.job.models.name}/{self._model_name(group)}"
            rows.append(row)
        return rows

    def save(self, group: SelectionGroup) -> None:
        """Save the current weights as the model of a group, if models are saved."""
        job = self.job
        if job.models is None or not job.accelerator.is_main_process:
            return
        from interlace.training.fine_tuned import save_fine_tuned

        model = self.model
        save_fine_tuned(
            job.models / self._model_name(group),
            model.backbone,
            self.head,
            model.heads[job.name],
            self.prepared,
            language=self.data.language,
            classes=self.task.classes,
            key=job.identity["key"],
        )

    def _model_name(self, group: SelectionGroup) -> str:
        from interlace.training.fine_tuned import fine_tuned_name

        per_language = self.task.tuning.select == "per-language-dev"
        return fine_tuned_name(
            self.job.name, group.items, self.job.seed, per_language=per_language
        )

    def _check(self, loss: float) -> JsonObject:
        """Return development scores by language, and whether the model has collapsed on the first.

        Without development sets, a collapse shows on the first test set. loss: mean training loss since the last check.
        """
        devs = self.data.devs or {"": next(iter(self.data.tests.values()))}
        scores = {}
        has_collapsed = None
        for language, examples in devs.items():
            predictions = self.predict(examples)
            scores[language] = self.task.score(examples, predictions)[self.task.metric]
            if has_collapsed is None:
                if isinstance(predictions, Ragged):
                    predictions = predictions.flat
                has_collapsed = collapsed(predictions, loss, self.baseline)
        return {"dev": scores if self.data.devs else {}, "collapsed": has_collapsed}

    def _keep(self, groups: list[SelectionGroup], check: JsonObject) -> None:
        """Keep the weights of the best check of a single group, or the scores and the saved models of several."""
        predictions_by_id: dict[int, Any] = {}
        for group in groups:
            if not group.improves(check["dev"], greater=self.task.greater_is_better):
                continue
            group.best_check = {**check, "judged_by": group.dev_languages}
            if len(groups) > 1:
                self.save(group)
                group.kept_rows = self.score(group, predictions_by_id)
            elif group.dev_languages:
                state = self.model.state_dict()
                group.kept_weights = {
                    name: value.detach().clone() for name, value in state.items()
                }

    def _is_hopeless(self, check: JsonObject) -> bool:
        """Return whether the model is collapsed late in the training, when the learning rate falls; warn of it."""
        updates = self.training.last
        if not check["collapsed"] or check["step"] < _LATE * updates:
            return False
        log.warning(
            "%s, seed %d, learning rate %g: at update %d of %d the model knows label frequencies only; try more "
            "updates (tuning.epochs), another seed or learning rate (small models need about 1e-3)",
            self.job.name,
            self.job.seed,
            check["learning_rate"],
            check["step"],
            updates,
        )
        return True
