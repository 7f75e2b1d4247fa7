"""Score a finished run, or any checkpoint, on the tasks of a recipe: a cell a task and seed, kept as it is done."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, InterlaceError, RunError
from interlace.data.vocab import Vocab
from interlace.experiments.card import write_card
from interlace.experiments.contamination import stored_contamination
from interlace.experiments.embeddings import static_vectors
from interlace.experiments.model_metadata import ModelMetadata
from interlace.experiments.prepare import data_root
from interlace.experiments.recipe import Recipe, with_learned_directions
from interlace.experiments.score_store import ScoreStore, identity_of, model_key, with_files
from interlace.models.build import load
from interlace.models.checkpoint_files import find_checkpoint
from interlace.tasks import FineTuneTask
from interlace.tasks.common.translation import TranslationTask
from interlace.training.device import accelerator_for
from interlace.training.evaluation_job import EvaluationJob
from interlace.training.fine_tuning import fine_tune_runs, readable, remove_other_sweeps, remove_sweep, score_run
from interlace.training.predictions import safe_file_name
from interlace.training.run_folder import EVALUATION, RECIPE, RUN, VECTORS, locked, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accelerate import Accelerator

    from interlace.experiments.score_store import Place, ScoreIdentity
    from interlace.models.backbone import Backbone
    from interlace.tasks import Task
    from interlace.training.evaluation_job import Score
    from interlace.training.loop import TrainingStep
    from interlace.training.selection import FineTuneRun

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Target:
    """What is scored: a model folder (or hub name), the recipe that says on what, and where scores go.

    trained: the recipe that the model was pre-trained with; None: not known, so leaks are not looked for.
    """

    model: str
    recipe: Recipe
    into: Path
    trained: Recipe | None = None

    @property
    def run(self) -> Path | None:
        """The folder of the run that the model comes from; None for a plain checkpoint."""
        return Path(self.model).parent if self.trained is not None else None

    def changed(self, recipe: Recipe) -> Target:
        """The same model under another recipe."""
        return replace(self, recipe=recipe)


def target_of(path: str, recipe: Recipe | None = None, into: Path | None = None) -> Target:
    """A finished run with its own recipe, or a plain checkpoint; another recipe may say what it is scored on.

    Raises:
        RunError: the run is not finished, or what it has learnt is gone; DataError: a checkpoint needs a place for
            its scores.
    """
    folder = Path(path)
    if (found := read_json(folder / RECIPE)) is not None:
        if not (read_json(folder / RUN) or {}).get("finished"):
            raise RunError(f"{folder}: this run is not finished; start it again with `interlace pretrain`")
        trained = Recipe.read(found, str(folder / RECIPE))
        kept = VECTORS if trained.embeddings else "model"
        if not (folder / kept).exists():
            raise RunError(
                f"{folder / kept}: missing, though the run is finished; remove {folder / RUN} and start it again with "
                "`interlace pretrain`, which goes on from the last checkpoint"
            )
        return Target(str(folder / kept), recipe or trained, into or folder, trained)
    if into is None:
        what = "no run folder" if folder.exists() else "no such folder"
        raise DataError(f"{path}: {what}; for a plain checkpoint, or a model of the hub, say --output, where scores go")
    return Target(path, recipe or Recipe(name=folder.name), into)


def evaluate(
    target: Target,
    on: Sequence[str] = (),
    seeds: int | None = None,
    watch: Callable[[str, int], Callable[[TrainingStep], None]] = lambda _name, _seed: lambda _step: None,
) -> list[Score]:
    """All rows of the tasks and seeds asked for (none: the recipe's).

    What `scores.json` holds for this very model, these settings and what their files hold is not made again. What it
    holds of a task from another model or under other settings is dropped, so that means over seeds never mix.

    Raises:
        IncompleteError: some of several tasks or languages cannot be scored; it holds the rows of the others.
        RunError: the folder holds scores of another checkpoint.
        InterlaceError: the only one cannot.
    """
    settings = target.recipe.evaluate
    names = list(on) or list(settings.tasks)
    if not names:
        raise DataError(f"recipe {target.recipe.name!r} names no tasks; choose some with --on")
    tasks = {name: _task(target, name) for name in names}
    train = target.recipe.train
    accelerator = accelerator_for(train.precision, train.threads)
    vectors = static_vectors(target.model, tasks)
    vocab: Any = Vocab.load(target.model) if vectors is None else None
    model = model_key(target.model)
    failures: list[InterlaceError] = []
    with locked(target.into) if accelerator.is_main_process else nullcontext():
        store = ScoreStore(
            target.into,
            lambda: _written(target),
            writes=accelerator.is_main_process,
            model=target.model if target.trained is None else None,
            model_key=model,
        )
        for name, task in tasks.items():
            cell = replace(_cell(target, name, task, vocab, accelerator), vectors=vectors)
            count = (seeds or settings.seeds) if isinstance(task, FineTuneTask) else 1
            try:
                cells = [replace(cell, seed=seed, on_step=watch(name, seed)) for seed in range(count)]
                failures += _score(target, model, store, cells)
            except InterlaceError as error:
                failures.append(error)
            cell.cache.clear()  # shared by the seeds
        if accelerator.is_main_process and target.trained is not None and store.requested:
            scored = {place[0] for place in store.requested}
            store.add(
                _leaks(target, [name for name in names if name in scored], [str(failure) for failure in failures])
            )
    if failures and not store.requested:
        raise failures[0]
    if failures:
        raise IncompleteError(failures, store.requested_rows())
    return store.requested_rows()


def _task(target: Target, name: str) -> Task:
    """A task of the recipe as it scores this model; lines are translated as `interlace translate` does it."""
    task = target.recipe.evaluate.task(name)
    languages = [target.recipe.evaluate.source, *(task.targets or target.recipe.targets)]
    task = task.bind(languages, target.run)
    if not isinstance(task, TranslationTask):
        return task
    known = (
        ModelMetadata.of(target.trained)
        if target.trained is not None
        else ModelMetadata.read(find_checkpoint(target.model))
    )
    if known is None:
        return task
    task, learnt = with_learned_directions(task, target.recipe, known.longest), known.longest
    asked = [str(task.direction(language)) for language in task.targets or target.recipe.evaluate.targets]
    if guessed := [direction for direction in asked if direction not in learnt]:
        log.warning(
            "%s: the run never learnt to translate %s, so a score there is of guesses; it learnt %s",
            name, " and ".join(guessed), ", ".join(learnt) or "nothing of the kind",
        )  # fmt: skip
    return task.with_trained_lengths(learnt)


class IncompleteError(RunError):
    """Some of what was asked for could not be scored; `rows` are those of the rest."""

    def __init__(self, failures: Sequence[InterlaceError], rows: list[Score]) -> None:
        super().__init__("; ".join(str(failure) for failure in failures) + "; everything else was scored")
        self.rows = rows


def _score(target: Target, model: str, store: ScoreStore, cells: list[EvaluationJob]) -> list[InterlaceError]:
    """What is missing of one task, a cell a seed; what cannot be scored is told and costs the rest nothing."""
    planned = [
        (cell, fit, identity_of(target.recipe, model, cell, fit)) for cell in cells for fit in fine_tune_runs(cell)
    ]
    if not planned:
        name = cells[0].name
        raise DataError(f"{name}: no language to score it in; name some: --set 'evaluate.tasks.{name}.targets=[..]'")
    store.drop(cells[0].name, {identity for _, _, identity in planned})
    keyed = {
        (cell.seed, identity): replace(cell, output=target.into, key=identity.outcomes_key)
        for cell, _, identity in planned
    }
    kept = target.into / "tuning" / safe_file_name(cells[0].name)
    if cells[0].accelerator.is_main_process:
        remove_other_sweeps(kept, {identity.outcomes_key for _, _, identity in planned})
    failures: list[InterlaceError] = []
    for cell, fit, identity in planned:
        try:
            lost = _score_missing(store, keyed[cell.seed, identity], fit, identity, kept)
        except InterlaceError as error:
            lost = error
        if lost and str(lost) not in map(str, failures):  # one file may be missed by every seed, and both directions
            log.warning("%s, seed %d: %s", cell.name, cell.seed, lost)
            failures.append(lost)
    return failures


def _score_missing(
    store: ScoreStore, cell: EvaluationJob, fit: FineTuneRun, identity: ScoreIdentity, kept: Path
) -> InterlaceError | None:
    """Compute the missing scores of one fine-tuning run or probe and store them; return the error of missing files.

    kept: folder of the learning-rate sweeps of the task that are not finished.
    """
    lost, identity, places = None, with_files(identity, cell, fit), _places(cell, fit)
    if fit.train_languages and not store.holds(places, identity):
        fit, lost = readable(cell, fit)
        if lost:
            identity, places = with_files(identity, cell, fit), _places(cell, fit)
    if not store.holds(places, identity):
        log.info("scoring %s, seed %d", cell.name, cell.seed)
        sweep = kept / f"{cell.key}.{identity.files}.{cell.seed}" if fit.train_languages else None
        rows = score_within_memory(replace(cell, sweep=sweep) if sweep else cell, fit)  # a probe's share its model
        store.put(places, identity, rows)
        if sweep and cell.accelerator.is_main_process:
            remove_sweep(sweep)
    store.requested += places
    return lost


def _places(cell: EvaluationJob, fit: FineTuneRun) -> list[Place]:
    return [(cell.name, cell.seed, *item) for item in fit.items]


def _leaks(target: Target, names: list[str], told: list[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """By task and language, what of the test text stands in the pre-training text, in percent of the examples.

    `unknown` beside it names models whose text nobody could look at.

    told: what people know already that could not be read.
    """
    if target.trained is None:
        return {}
    try:
        found = stored_contamination(target.into, target.trained, target.recipe, names, told)
    except InterlaceError as error:
        log.warning("test text was not looked for in the pre-training text: %s", error)
        return {}
    facts = ("exact", "ngram", "n", "unknown")
    return {
        (leak["task"], leak["language"]): {"contamination": {key: leak[key] for key in facts if key in leak}}
        for leak in found
    }


def _written(target: Target) -> None:
    if Path(target.model) == target.into / "model":
        write_card(target.into)
    if target.trained is None:
        write_json(target.into / EVALUATION, target.recipe.dump())


def _cell(target: Target, name: str, task: Task, vocab: Vocab, accelerator: Accelerator) -> EvaluationJob:
    """That of the first seed."""
    recipe = target.recipe
    return EvaluationJob(
        name=name,
        task=task,
        load=partial(_open, target.model, task, vocab),
        vocab=vocab,
        root=data_root(recipe),
        source=recipe.evaluate.source,
        targets=recipe.targets,
        seed=0,
        accelerator=accelerator,
    )


def _open(model: str, task: Task, vocab: Vocab | None = None) -> Backbone:
    """The model as a task wants it; what is fine-tuned of a translation model is its encoder.

    Raises:
        CheckpointError: it is missing or damaged, or the tokenizer beside it is another model's.
    """
    from interlace.models.seq2seq import Seq2Seq

    found = load(model, vocab)
    return found.encoder if isinstance(found, Seq2Seq) and isinstance(task, FineTuneTask) else found


# FROM _within_memory:
# A task that the GPU's memory does not hold: told with what makes it smaller, so that the other tasks go on.


def score_within_memory(cell: EvaluationJob, fit: FineTuneRun) -> list[Score]:
    """The rows of one fine-tuning, or of a probe.

    Raises:
        RunError: it does not fit; names the settings to change. Of several processes the others would wait for ever
            for the one that went on, so there it is torch's error, which ends them all.
        InterlaceError: as `score_run`.
    """
    import torch

    try:
        return score_run(cell, fit)
    except torch.OutOfMemoryError:
        if cell.accelerator.num_processes > 1:
            raise
    cell.accelerator.free_memory()  # outside of `except`, where what the task held is free again
    raise RunError(f"{cell.name}: the GPU's memory does not hold this task{_cure(cell)}")


def _cure(cell: EvaluationJob) -> str:
    """The settings of a task that its memory follows, halved, as the end of a message."""
    task = cell.task
    found = {
        "tuning.tokens_per_batch": task.tuning.tokens_per_batch if isinstance(task, FineTuneTask) else None,
        "tokens_per_batch": getattr(task, "tokens_per_batch", None),
        "max_length": getattr(task, "max_length", None),
    }
    halved = {name: value // 2 for name, value in found.items() if isinstance(value, int) and value >= 32}
    told = [f"--set evaluate.tasks.{cell.name}.{name}={value}" for name, value in halved.items()]
    return f"; smaller batches and shorter rows need less: {' or '.join(told)}" if told else ""
