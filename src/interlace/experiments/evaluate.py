"""Score a finished run, or any checkpoint, on the tasks of a recipe; each task and seed is stored when it is done."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from interlace.core.display import listed
from interlace.core.errors import DataError, InterlaceError, RunError
from interlace.core.json_files import JsonObject, write_json
from interlace.data.vocab import Vocab
from interlace.embeddings import WordVectors, languages_in
from interlace.experiments.card import write_card
from interlace.experiments.contamination import stored_contamination
from interlace.experiments.data_root import data_root
from interlace.experiments.model_folder import ModelMetadata
from interlace.experiments.recipe import Recipe, resolve_task, task_type
from interlace.experiments.run import Run
from interlace.experiments.score_store import (
    Place,
    ScoreIdentity,
    ScoreStore,
    files_read,
    identity_of,
    model_key,
    place_of,
)
from interlace.models.backbone import Backbone
from interlace.models.build import load
from interlace.models.checkpoint_files import find_checkpoint
from interlace.tasks import FineTuneTask, Task
from interlace.training.device import accelerator_for
from interlace.training.evaluation_job import EvaluationJob, Score
from interlace.training.fine_tuning import score_run
from interlace.training.run_folder import EVALUATION, RECIPE, SCORES, VECTORS, locked
from interlace.training.selection import FineTuneRun, runs_of_task
from interlace.training.steps import TrainingStep

log = logging.getLogger(__name__)

StepCallback = Callable[[TrainingStep], None]


@dataclass(frozen=True)
class Target:
    """A model folder or hub name, the recipe of its evaluation, and the folder of its scores.

    trained: the recipe that the model was pre-trained with; None: unknown, so contamination is not checked.
    """

    model: str
    recipe: Recipe
    into: Path
    trained: Recipe | None = None

    @property
    def run(self) -> Path | None:
        """The folder of the run that the model belongs to; None for a plain checkpoint."""
        if self.trained is not None:
            return Path(self.model).parent
        return None

    @property
    def metadata(self) -> ModelMetadata | None:
        """The directions that the model learned; None for models of other libraries."""
        if self.trained is not None:
            return ModelMetadata.of(self.trained)
        return ModelMetadata.read(find_checkpoint(self.model))


def target_of(path: str, recipe: Recipe | None = None, into: Path | None = None) -> Target:
    """Find a finished run or a plain checkpoint; `recipe` replaces the run's own recipe for the evaluation."""
    folder = Path(path)
    trained = Run(folder).finished_recipe()
    if trained is not None:
        exported = folder / (VECTORS if trained.embeddings else "model")
        Run(folder).check_export(exported)
        return Target(
            str(exported),
            recipe or trained,
            into or folder,
            trained,
        )
    if folder.suffix == ".toml" or (folder / "study.json").is_file():
        raise DataError(
            f"{path}: a recipe or a study, not a model; name a model, and a recipe with --recipe"
        )
    return Target(
        path,
        recipe or Recipe(name=folder.name),
        into or _scores_of(folder),
    )


def _scores_of(checkpoint: Path) -> Path:
    """Return the default folder for the scores of a checkpoint: named after the last two parts of its name."""
    parts = checkpoint.absolute().parts if checkpoint.is_dir() else checkpoint.parts
    into = Path("evaluations", "--".join(parts[-2:]).replace("/", ""))
    log.info("scores go to %s", into)
    return into


def _no_callback(_task: str, _seed: int) -> StepCallback:
    return lambda _step: None


class IncompleteError(RunError):
    """Some tasks could not be scored; `rows` are those of the others."""

    def __init__(self, failures: Sequence[InterlaceError], rows: list[Score]) -> None:
        super().__init__(f"{'; '.join(map(str, failures))}; everything else was scored")
        self.rows = rows


def evaluate(
    target: Target,
    tasks: Sequence[str] = (),
    seeds: int | None = None,
    callback: Callable[[str, int], StepCallback] = _no_callback,
    *,
    save_models: bool = False,
) -> list[Score]:
    """Return the scores of tasks and seeds; None given: the recipe's.

    Scores of this model under these settings and files are reused. Scores of a task under other settings are replaced
    once the task is scored again, so that means over seeds never mix; a task that fails keeps its earlier scores.

    tasks: names of tasks in the recipe, or of the registry. seeds: number of fine-tuning seeds.
    callback: gets a task and a seed, returns a function that is called after each training step.
    save_models: save fine-tuned models; a score whose model was not saved is computed again.

    Raises:
        IncompleteError: some of several tasks or languages failed; it holds the rows of the others.
        RunError: the folder holds scores of another checkpoint.
    """
    settings = target.recipe.evaluate
    names = list(tasks) or list(settings.tasks)
    if not names:
        raise DataError(
            f"{target.model}: its recipe has no tasks, or there is no such folder; choose tasks with --tasks, such as "
            "--tasks ner"
        )
    jobs = _jobs(target, names, save_models=save_models)
    main_process = next(iter(jobs.values())).accelerator.is_main_process
    failures = []
    lock = (
        locked(
            target.into,
            SCORES,
            EVALUATION,
            RECIPE,
        )
        if main_process
        else nullcontext()
    )
    with lock:
        store = ScoreStore(
            target.into,
            target.model if target.trained is None else None,
            model_key(target.model),
            lambda: _write_records(target),
            writes=main_process,
        )
        scorings = []
        for job in jobs.values():
            try:
                jobs_of_task = _jobs_of_seeds(job, seeds or settings.seeds, callback)
                scorings.append(_Scoring(target, store, jobs_of_task))
            except InterlaceError as error:
                failures.append(error)
        for scoring in scorings:
            scoring.check_files()
        while scorings:
            failures += scorings.pop(0).run()  # afterwards its model is freed
        if main_process and store.requested:
            store.add(_contamination(target, store))
        rows = store.requested_rows()
        if len(failures) == 1 and not rows:
            raise failures[0]
        if failures and not rows:
            raise RunError("; ".join(map(str, failures)))
    if failures:
        raise IncompleteError(failures, rows)
    return rows


def _jobs(
    target: Target, names: Sequence[str], *, save_models: bool
) -> dict[str, EvaluationJob]:
    """Return the job of each task for the seed 0; reject tasks that the model or the processes cannot be used for."""
    recipe = target.recipe
    tasks = {name: _task(target, name) for name in names}
    accelerator = accelerator_for(recipe.train.precision, recipe.train.threads)
    for task in tasks.values():
        if isinstance(task, FineTuneTask):
            task.tuning.check_processes(accelerator.num_processes)
    vectors = _static_vectors(target.model, tasks)
    vocab: Any = Vocab.load(target.model) if vectors is None else None
    jobs = {}
    for name, task in tasks.items():
        saves = save_models and isinstance(task, FineTuneTask)
        jobs[name] = EvaluationJob(
            name=name,
            task=task,
            load=partial(
                _load,
                target.model,
                task,
                vocab,
            ),
            vocab=vocab,
            root=data_root(recipe),
            source=recipe.evaluate.source,
            targets=recipe.targets,
            seed=0,
            accelerator=accelerator,
            vectors=vectors,
            models=_models_folder(target) if saves else None,
        )
    return jobs


def _jobs_of_seeds(
    job: EvaluationJob, seeds: int, callback: Callable[[str, int], StepCallback]
) -> list[EvaluationJob]:
    """Return the job of each fine-tuning seed; a probe has one."""
    if not isinstance(job.task, FineTuneTask):
        seeds = 1
    return [replace(job, seed=seed, on_step=callback(job.name, seed)) for seed in range(seeds)]


def _models_folder(target: Target) -> Path:
    from interlace.training.fine_tuned import FINE_TUNED

    return target.into / FINE_TUNED


def _task(target: Target, name: str) -> Task:
    """Return a task bound to the model; translation tasks take its learned directions."""
    metadata = None
    if task_type(target.recipe, name).translates:
        metadata = target.metadata  # of a hub's model, a download
    learned = {} if metadata is None else metadata.max_source_lengths
    task: Any = resolve_task(target.recipe, name, learned)
    if metadata is not None:
        languages = task.targets or target.recipe.evaluate.targets
        directions = [str(task.direction(language)) for language in languages]
        untrained = [direction for direction in directions if direction not in learned]
        if untrained:
            log.warning(
                "%s: the model was not trained to translate %s; learned directions: %s",
                name, " and ".join(untrained), listed(learned) or "none",
            )  # fmt: skip
    return task.bind(target.run)


def _static_vectors(folder: str, tasks: Mapping[str, Task]) -> dict[str, WordVectors] | None:
    """Return the word vectors of a folder by language; None if it holds a model."""
    if (Path(folder) / "config.json").exists():
        return None
    languages = languages_in(folder)
    if not any((Path(folder) / f"{language}.words").is_file() for language in languages):
        return None
    for name, task in tasks.items():
        if not task.static_vectors:
            raise DataError(f"{name}: needs a model, but {folder} holds word vectors")
    return {language: WordVectors.load(folder, language) for language in languages}


def _load(model: str, task: Task, vocab: Vocab | None) -> Backbone:
    """Load the model; a fine-tuning task takes the encoder of a translation model."""
    loaded = load(model, vocab)
    return loaded.encoder if isinstance(task, FineTuneTask) else loaded


def _write_records(target: Target) -> None:
    if Path(target.model) == target.into / "model":
        write_card(target.into)
    write_json(target.into / EVALUATION, target.recipe.dump())


def _contamination(target: Target, store: ScoreStore) -> dict[tuple[str, str], JsonObject]:
    """Return the contamination of the scored test sets by task and language, in percent of the examples."""
    if target.trained is None:
        return {}
    tasks = list(dict.fromkeys(place[0] for place in store.requested))
    try:
        rows = stored_contamination(
            target.into,
            target.trained,
            target.recipe,
            tasks,
        )
    except InterlaceError as error:
        log.warning("contamination could not be checked: %s", error)
        return {}
    facts = {}
    for row in rows:
        shown = {key: row[key] for key in ("exact", "ngram", "unknown") if key in row}
        facts[row["task"], row["language"]] = {"contamination": shown}
    return facts


@dataclass(frozen=True)
class _PlannedRun:
    """A fine-tuning run or probe, the job that scores it, and the identity of its scores."""

    job: EvaluationJob
    run: FineTuneRun
    identity: ScoreIdentity

    @property
    def places(self) -> list[Place]:
        """The places of its scores."""
        return [(self.job.name, self.job.seed, *item) for item in self.run.items]


class _Scoring:
    """Computes the missing scores of one task, with a job for each seed."""

    def __init__(
        self, target: Target, store: ScoreStore, jobs: Sequence[EvaluationJob]
    ) -> None:
        self.target = target
        self.store = store
        self.planned: list[_PlannedRun] = []
        # seeds and directions may miss the same file
        self.failures: dict[str, InterlaceError] = {}
        for job in jobs:
            shared: dict[str, EvaluationJob] = {}  # a job, which may hold a loaded model
            for run in runs_of_task(job.task, job.source, job.targets):
                identity = identity_of(
                    target.recipe,
                    store.model_key,
                    job,
                    run,
                )
                key = identity.outcomes_key
                if key not in shared:
                    shared[key] = replace(job, output=target.into, key=key)
                self.planned.append(
                    _PlannedRun(
                        shared[key],
                        run,
                        identity,
                    )
                )
        if not self.planned:
            name = jobs[0].name
            raise DataError(f"{name}: no language to score; name some: --languages de,sw")

        self.ready = self.planned

    def check_files(self) -> None:
        """Leave out runs whose scores are missing, and a file that they read."""
        self.ready = []
        for planned in self.planned:
            job = planned.job
            try:
                if not self._holds(planned):
                    list(files_read(job.task, job.source, job.root, planned.run))
                self.ready.append(planned)
            except InterlaceError as error:
                self._note(error)

    def run(self) -> list[InterlaceError]:
        """Score what is missing; return errors, which do not stop other seeds and languages."""
        for planned in self.ready:
            try:
                if not self._holds(planned):
                    self._score(planned)
                self.store.requested += planned.places
            except InterlaceError as error:
                self._note(error)
        self.planned[0].job.cache.clear()  # shared by all jobs of the task
        return list(self.failures.values())

    def _note(self, error: InterlaceError) -> None:
        self.failures.setdefault(str(error), error)

    def _holds(self, planned: _PlannedRun) -> bool:
        """Return whether all scores of a run are stored, with its fine-tuned model if that is to be saved."""
        rows = self.store.rows_of(planned.identity)
        if planned.job.models is not None:
            from interlace.training.fine_tuned import is_saved

            rows = [row for row in rows if is_saved(self.target.into, row)]
        return {place_of(row) for row in rows} >= set(planned.places)

    def _score(self, planned: _PlannedRun) -> None:
        """Store the scores of one fine-tuning run or probe."""
        job = planned.job
        run = planned.run
        languages = ", ".join(dict.fromkeys(item.language for item in run.items))
        if run.train_language:  # a probe keeps its job, which holds the loaded model
            log.info(
                "fine-tuning %s on %s, seed %d, to score %s",
                job.name, run.train_language, job.seed, languages,
            )  # fmt: skip
            job = replace(job, identity=planned.identity.columns)
        else:
            log.info("scoring %s (%s)", job.name, languages)
        rows = score_within_memory(job, run)
        # only now: a task that fails keeps its earlier scores
        self.store.drop(job.name, [entry.identity for entry in self.planned])
        self.store.put(planned.places, planned.identity, rows)


def score_within_memory(job: EvaluationJob, run: FineTuneRun) -> list[Score]:
    """Return the rows of one fine-tuning run or probe; the error of too little GPU memory names settings to change.

    With several processes torch's error is raised instead, because the other processes would wait forever.
    """
    import torch

    try:
        return score_run(job, run)
    except torch.OutOfMemoryError:
        if job.accelerator.num_processes > 1:
            raise
    job.accelerator.free_memory()  # after `except`, which holds references to the task's tensors
    raise RunError(
        f"{job.name}: the GPU's memory is too small for this task; reduce tokens_per_batch or max_length in "
        f"[evaluate.tasks.{job.name}] or its `tuning`"
    )
