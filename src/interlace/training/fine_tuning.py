"""Fine-tune and score every language: the same loop as pre-training, with the weights that a named rule selects.

One fine-tuning with one learning rate: trained, checked on development sets, scored.

What the finished learning rates of a sweep came to, on disk until the rows of their fine-tuning are kept.

A folder a fine-tuning and seed: `state.json` with what each group found best, and `best.safetensors` with its weights
where groups keep weights. It is replaced as a whole after each learning rate but the last.
"""

from __future__ import annotations

import logging
import math
import shutil
import time
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from interlace.core.errors import DataError, RunError, SettingsError
from interlace.core.files import atomic_folder, remove_partials
from interlace.core.ragged import Ragged
from interlace.models.backbone import freeze_layers
from interlace.objectives import Resources
from interlace.tasks import FineTuneTask
from interlace.tasks.common.prediction import MixedBatches, MixedSequences, bucket_plan, predict_all
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import BucketedBatches, Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings
from interlace.training.predictions import write_predictions, write_probe_outcomes
from interlace.training.run_folder import read_json, write_json
from interlace.training.selection import FineTuneRun, baseline_loss, collapsed, runs_of_task, selection_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.objectives import Prepared
    from interlace.tasks import TaskHead, Tuning
    from interlace.training.evaluation_job import EvaluationJob, Score
    from interlace.training.selection import Item, SelectionGroup

    Made = dict[int, Any]  # predictions for examples, by the object's `id`
    from collections.abc import Collection, Sequence
    from pathlib import Path


log = logging.getLogger(__name__)


_MOST = 3  # reasons that a message spells out


def score_job(cell: EvaluationJob) -> list[Score]:
    """A row a setting and language: fine-tuned where the task trains, measured as it is where not.

    Raises:
        DataError: a file is missing or wrong; every file is read before the training that needs it starts.
    """
    return [row for fit in fine_tune_runs(cell) for row in score_run(cell, fit)]


def fine_tune_runs(cell: EvaluationJob) -> list[FineTuneRun]:
    """The fine-tunings of a task; of a probe, one without training.

    Raises:
        SettingsError: what is right for a text says nothing of its translation in this task.
    """
    task = cell.task
    if isinstance(task, FineTuneTask) and "translate-test" in task.settings and not task.translatable:
        raise SettingsError(f"{cell.name}: translate-test is for tasks with one label a text, not for this one")
    return runs_of_task(cell.task, cell.source, cell.targets)


def readable(cell: EvaluationJob, fit: FineTuneRun) -> tuple[FineTuneRun, DataError | None]:
    """The fine-tuning without those languages whose own files cannot be read, and what is wrong with these.

    Under `per-language-dev` a development set is its language's own too. Else it judges the others as well, and so
    belongs, as training text does, to what `score_run` must have.

    Raises:
        DataError: not one language is left.
    """
    alone = _tuning(cell).select == "per-language-dev"
    whole: list[Item] = []
    errors: dict[str, set[str]] = {}
    for item in fit.scored:
        try:
            cell.test(item)
            if alone:
                cell.examples("dev", fit.judge_of(item))
            whole.append(item)
        except DataError as error:
            errors.setdefault(str(error), set()).add(item[1])
    if not errors:
        return fit, None
    lost = DataError(_listed(errors))
    if not whole:
        raise lost
    return replace(fit, scored=whole, asked=fit.scored), lost


def score_run(cell: EvaluationJob, fit: FineTuneRun) -> list[Score]:
    """The rows of one fine-tuning, over all its learning rates, or of a probe.

    Raises:
        DataError: a file is missing or wrong; every file is read before the training starts.
    """
    return _tuned(cell, fit) if fit.trained else _probed(cell, fit)


def _probed(cell: EvaluationJob, fit: FineTuneRun) -> list[Score]:
    rows: list[Score] = []
    for item in fit.scored:
        start = time.perf_counter()
        examples = cell.test(item)
        scores = cell.measure(examples)
        into = cell.into if cell.accelerator.is_main_process else None
        told = write_probe_outcomes(into, cell, item, scores) if into else {}
        count = len(examples) if scores.outcomes is None else int((scores.outcomes.weight > 0).sum())
        rows.append({**cell.row(item, scores, count, start), **scores.details, **told})
    return rows


def _tuned(cell: EvaluationJob, fit: FineTuneRun) -> list[Score]:
    groups = selection_groups(_tuning(cell).select, fit)
    judges = dict.fromkeys(language for group in groups for language in group.judges)
    wanted: list[tuple[str, Any]] = [("test", item) for item in fit.scored]
    wanted += [(split, language) for split, some in (("dev", judges), ("train", fit.trained)) for language in some]
    read = _read(cell, wanted)
    tests = {item: read["test", item] for item in fit.scored}
    devs = {language: read["dev", language] for language in judges}
    train = {language: read["train", language] for language in fit.trained}
    _tell_of_unlearnt(cell, train, tests)
    tuned, rates = None, _tuning(cell).rates
    done, diverged = restore_sweep(cell.sweep, groups) if cell.sweep else (0, {})
    for number, rate in enumerate(rates[done:], done + 1):
        cell.accelerator.free_memory()  # the model before
        tuned = FineTuner.fresh(cell, train, rate)
        try:
            tuned.run(groups, devs, tests)
        except RunError as error:
            log.warning("%s, seed %d, learning rate %g: %s", cell.name, cell.seed, rate, error)
            diverged[rate] = str(error)
        if cell.sweep and number < len(rates) and cell.accelerator.is_main_process:
            save_sweep(cell.sweep, groups, number, diverged)
    if len(diverged) == len(rates):
        raise RunError(f"{cell.name}, seed {cell.seed}: {'; '.join(dict.fromkeys(diverged.values()))}")
    rows = [row for group in groups for row in _rows(tuned, group, tests)]
    cell.accelerator.free_memory()
    return [{**row, "tuning": {**row["tuning"], "diverged": list(diverged)}} for row in rows]


def _tell_of_unlearnt(cell: EvaluationJob, train: dict[str, Any], tests: dict[Item, Any]) -> None:
    """What a test set asks for that training has no example of is lost, which scores alone do not tell."""
    task: Any = cell.task
    learner, classes = task.head(), task.classes
    if not classes:
        return
    learnt = np.concatenate([_labels(learner.gold(examples)) for examples in train.values()])
    for (_, language), examples in tests.items():
        gold = _labels(learner.gold(examples))
        lost = gold[~np.isin(gold, learnt)]
        if len(lost):
            names = ", ".join(classes[number] for number in np.unique(lost))
            log.warning(
                "%s (%s): %d of %d labels are such as training has none of, and count as wrong: %s",
                cell.name, language, len(lost), len(gold), names,
            )  # fmt: skip


def _tuning(cell: EvaluationJob) -> Tuning:
    return cast("FineTuneTask", cell.task).tuning


def _labels(gold: Any) -> NDArray[np.integer]:
    """The class numbers that are told."""
    flat = np.asarray(gold.flat if isinstance(gold, Ragged) else gold)
    known: NDArray[np.integer] = flat[flat >= 0]
    return known


def _read(cell: EvaluationJob, wanted: list[tuple[str, Any]]) -> dict[tuple[str, Any], Any]:
    """The examples of all splits and languages.

    Raises:
        DataError: some cannot be read; says which, of many the first, and how to leave languages out.
    """
    found: dict[tuple[str, Any], Any] = {}
    errors: dict[str, set[str]] = {}  # whose data each is of
    for split, what in wanted:
        try:
            found[split, what] = cell.test(what) if split == "test" else cell.examples(split, what)
        except DataError as error:
            errors.setdefault(str(error), set()).add(_language(split, what))
    if not errors:
        return found
    raise DataError(_listed(errors) + _cure(cell, found, set().union(*errors.values())))


def _listed(errors: dict[str, set[str]]) -> str:
    """What is wrong, of many things the first, with the languages that the others are of."""
    more = list(errors.values())[_MOST:]
    others = f"; and {len(more)} more, of {', '.join(sorted(set().union(*more)))}" if more else ""
    return "; ".join(list(errors)[:_MOST]) + others


def _language(split: str, what: Any) -> str:
    """Whose data it is: what is wanted of a test set is an item."""
    language: str = what[1] if split == "test" else what
    return language


def _cure(cell: EvaluationJob, found: dict[tuple[str, Any], Any], failed: set[str]) -> str:
    """How to score the languages of which everything is there, as the end of a message; none without the source."""
    whole = [_language(split, what) for split, what in found if split == "test"]
    kept = [language for language in dict.fromkeys(whole) if language not in {cell.source, *failed}]
    if not kept or cell.source in failed:
        return ""
    names = ", ".join(f'"{language}"' for language in kept)
    return f"; to score the others: --set 'evaluate.tasks.{cell.name}.targets=[{names}]'"


def _rows(tuned: Any, group: SelectionGroup, tests: dict[Item, Any]) -> list[Score]:
    """A group's rows with what it kept: weights, rows made right away, or nothing, for the weights as they are."""
    if isinstance(group.kept, list):
        return group.kept
    if group.kept is not None:
        tuned.training.model.load_state_dict(group.kept)
    return list(tuned.score(group, tests))


LATE = 0.75  # of a training: a model that knows no label by then will not find them


log = logging.getLogger(__name__)


@dataclass
class FineTuner:
    """A model in fine-tuning, with all that scoring it needs.

    least: nats a prediction that knowing how frequent each label is comes to.
    """

    cell: EvaluationJob
    learner: TaskHead
    prepared: Prepared
    training: Training
    least: float

    @classmethod
    def fresh(cls, cell: EvaluationJob, train: dict[str, Any], rate: float) -> FineTuner:
        """The pre-trained model with fresh heads, ready to be tuned on examples by language."""
        tuning, task = _tuning(cell), cell.task
        backbone = cell.load()
        backbone.causal = False  # what learnt left to right is tuned with both sides in view, as XLM
        if tuning.freeze is not None:
            freeze_layers(backbone, tuning.freeze)
        learner: Any = cast("FineTuneTask", task).head()
        learner = learner.model_copy(update={"layer": tuning.layer})
        prepared = learner.prepare(Resources(cell.vocab, backbone.traits))
        sources, least = _sources(cell, learner, prepared, train)
        batches = sum(len(source.plan) for source in sources)
        model = cell.accelerator.prepare(TrainingModel(backbone, {cell.name: learner}, cell.seed))
        last = max(1, math.ceil(tuning.epochs * batches / cell.accelerator.num_processes))
        settings = OptimizerSettings(
            learning_rate=rate,
            warmup=int(tuning.warmup_share * last),
            weight_decay=tuning.weight_decay,
            betas=tuning.betas,
        )
        training = Training(model, Mixture(sources, cell.seed), settings.build(model), settings, cell.accelerator, last)
        return cls(cell, learner, prepared, training, least)

    def run(self, groups: list[SelectionGroup], devs: dict[str, Any], tests: dict[Item, Any]) -> None:
        """Train; what a check finds best for a group is kept there, as weights where there is one group alone."""
        tuning, last = _tuning(self.cell), self.training.last
        looks = math.ceil(tuning.epochs * tuning.checks)
        for group in groups:
            group.since = 0
        progress, losses, start, tokens = Progress(), [], time.perf_counter(), 0
        for step in steps(self.training, progress):
            self.cell.watch(step)
            losses.append(fmean(step.losses.values()))
            tokens += step.tokens
            if step.index != last and (not devs or step.index * looks // last == (step.index - 1) * looks // last):
                continue
            looked = self._check(devs or {"": next(iter(tests.values()))}, fmean(losses))
            losses = []
            found = {
                "rule": tuning.select,
                "learning_rate": self.training.settings.learning_rate,
                "step": step.index,
                "steps": last,
                "tokens": tokens,
                "seconds": round(time.perf_counter() - start, 3),
                **looked,
            }
            self._keep(groups, found, tests)
            if self._hopeless(looked, step.index) or all(group.stale(tuning.patience) for group in groups):
                progress.stop = True

    def _check(self, devs: dict[str, Any], loss: float) -> dict[str, Any]:
        """Development scores by language, and whether the model has collapsed on the first."""
        scores, flat = {}, False
        for number, (language, examples) in enumerate(devs.items()):
            predictions = self.predict(examples)
            scores[language] = self.task.score(examples, predictions)[self.task.metric]
            if not number:
                flat = collapsed(_flat(predictions), _flat(self.learner.gold(examples)), loss, self.least)
        return {"dev": scores if "" not in scores else {}, "collapsed": flat}

    def _keep(self, groups: list[SelectionGroup], found: dict[str, Any], tests: dict[Item, Any]) -> None:
        made: Made = {}
        going = [group for group in groups if not group.stale(self.task.tuning.patience)]
        for group in going:
            if group.improves(found["dev"], greater=self.task.greater_is_better):
                group.found = {**found, "judged_by": group.judges}
                if len(groups) > 1:
                    group.kept = self.score(group, tests, made)
                elif group.judges:
                    state = self.training.model.state_dict()
                    group.kept = {name: value.detach().clone() for name, value in state.items()}

    def _hopeless(self, looked: dict[str, Any], step: int) -> bool:
        """Late in the training, when the rate falls, with nothing learnt: stop and tell."""
        if not looked["collapsed"] or step < LATE * self.training.last:
            return False
        log.warning(
            "%s, seed %d, learning rate %g: collapsed: at step %d of %d it only knows how frequent each label, or each "
            "place of answers, is; take a lower learning rate, a longer warm-up or another seed",
            self.cell.name, self.cell.seed, self.training.settings.learning_rate, step, self.training.last,
        )  # fmt: skip
        return True

    @property
    def task(self) -> FineTuneTask:
        """The task that the model is fine-tuned for."""
        return cast("FineTuneTask", self.cell.task)

    def predict(self, examples: Any) -> Any:
        """Predictions in the order of the examples."""
        accelerator = self.cell.accelerator
        model: Any = accelerator.unwrap_model(self.training.model)
        with accelerator.autocast():
            return predict_all(
                self.learner,
                model.backbone,
                model.heads[self.cell.name],
                examples,
                self.prepared,
                4 * self.task.tuning.tokens_per_batch,
                accelerator.device,
                accelerator,
            )

    def score(self, group: SelectionGroup, tests: dict[Item, Any], made: Made | None = None) -> list[Score]:
        """The rows of a group with the weights as they are.

        made: what these weights predicted for other groups, which is added to; the same examples are read once.
        """
        rows, made = [], {} if made is None else made
        for item in group.items:
            start = time.perf_counter()
            if id(tests[item]) not in made:
                made[id(tests[item])] = self.predict(tests[item])
            predictions = made[id(tests[item])]
            scores = self.task.score(tests[item], predictions)
            told = {}
            if self.cell.into and self.cell.accelerator.is_main_process:
                gold = self.learner.gold(tests[item])
                told = write_predictions(self.cell.into, self.cell, item, tests[item], predictions, gold, scores)
            row = self.cell.row(item, scores, len(tests[item]), start)
            rows.append({**row, **told, "tuning": group.found})
        return rows


def _sources(
    cell: EvaluationJob, head: TaskHead, prepared: Prepared, train: dict[str, Any]
) -> tuple[list[MixtureSource], float]:
    """Return the sources of training batches, one per language or one that mixes them, and their baseline loss."""
    tuning, batcher = _tuning(cell), cast("Any", head)
    read = {language: head.sequences(examples, prepared) for language, examples in train.items()}
    columns = [head.class_columns(sequences) for sequences in read.values()]
    for language, sequences in read.items():
        for note in head.notes(sequences, prepared):
            log.info("%s (%s): %s", cell.name, language, note)
    if tuning.mix_languages and len(read) > 1:
        read, batcher = {"+".join(read): MixedSequences.of(list(read.values()))}, MixedBatches(head)
        columns = [[np.concatenate(column) for column in zip(*columns, strict=True)]]
    sources = []
    for language, sequences in read.items():
        plan = bucket_plan(sequences, prepared, head.max_length, tuning.tokens_per_batch, seed=cell.seed)
        batches = BucketedBatches(sequences, plan)
        sources.append(MixtureSource(cell.name, language, batcher, prepared, batches, size=len(plan)))
    return sources, fmean(map(baseline_loss, columns))


def _flat(values: Any) -> Any:
    return values.flat if isinstance(values, Ragged) else values


_STATE, _BEST = "state.json", "best.safetensors"


_PARTS = ("best", "found")  # of a group, beside what it kept


def save_sweep(folder: Path, groups: Sequence[SelectionGroup], done: int, diverged: dict[float, str]) -> None:
    """Write what the first `done` learning rates came to; those that diverged, with the reason.

    Raises:
        DataError: the disk is full; what stood there is untouched.
    """
    from safetensors.torch import save_file

    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_partials(folder)
    told = [{name: getattr(group, name) for name in _PARTS} | {"items": group.items} for group in groups]
    rows = [group.kept if isinstance(group.kept, list) else None for group in groups]
    weights = {
        f"{number}.{name}": value.contiguous()
        for number, group in enumerate(groups)
        if isinstance(group.kept, dict)
        for name, value in group.kept.items()
    }
    with atomic_folder(folder) as partial:
        save_file(weights, partial / _BEST)
        write_json(partial / _STATE, {"done": done, "diverged": list(diverged.items()), "groups": told, "rows": rows})


def restore_sweep(folder: Path, groups: Sequence[SelectionGroup]) -> tuple[int, dict[float, str]]:
    """Fill the groups; returns how many learning rates are done, and which of them diverged. None where nothing is.

    Raises:
        RunError: the file of what they found is damaged.
    """
    from safetensors.torch import load_file

    state = read_json(folder / _STATE)
    asked = [[list(item) for item in group.items] for group in groups]
    if state is None or [told["items"] for told in state["groups"]] != asked:
        return 0, {}
    weights = load_file(folder / _BEST)
    for number, (group, told, rows) in enumerate(zip(groups, state["groups"], state["rows"], strict=True)):
        for name in _PARTS:
            setattr(group, name, told[name])
        own = f"{number}."
        best = {name.removeprefix(own): value for name, value in weights.items() if name.startswith(own)}
        group.kept = rows or best or None
    return state["done"], dict(state["diverged"])


def remove_sweep(folder: Path) -> None:
    """Remove what was kept of a fine-tuning whose rows are kept, and folders that are empty then."""
    shutil.rmtree(folder, ignore_errors=True)
    for above in (folder.parent, folder.parent.parent):
        if above.is_dir() and not any(above.iterdir()):
            above.rmdir()


def remove_other_sweeps(folder: Path, keys: Collection[str]) -> None:
    """Remove what was kept in a task's folder under other keys than these, as nothing is going to go on from there."""
    for path in list(folder.glob("*")):
        if path.name.partition(".")[0] not in keys:
            remove_sweep(path)
