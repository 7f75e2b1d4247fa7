"""Score a finished run, or any checkpoint, on the tasks of a recipe; each task and seed is stored when it is done."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from interlace.core.display import listed
from interlace.core.errors import DataError, InterlaceError, RunError
from interlace.core.files import user_path
from interlace.core.json_files import write_json
from interlace.data.vocab import Vocab
from interlace.embeddings import WordVectors, languages_in
from interlace.experiments.card import write_card
from interlace.experiments.contamination import stored_contamination
from interlace.experiments.data_root import data_root
from interlace.experiments.model_folder import ModelMetadata
from interlace.experiments.recipe import Recipe, with_learned_directions
from interlace.experiments.run import Run
from interlace.experiments.score_store import (
    Place,
    ScoreIdentity,
    ScoreStore,
    folder_key,
    identity_of,
    model_key,
    with_files,
)
from interlace.models.backbone import Backbone
from interlace.models.build import load
from interlace.models.checkpoint_files import find_checkpoint
from interlace.tasks import TASKS, FineTuneTask, Task
from interlace.tasks.common.translation import TranslationTask
from interlace.training.device import accelerator_for
from interlace.training.evaluation_job import EvaluationJob, Score
from interlace.training.fine_tuned import FINE_TUNED, is_saved
from interlace.training.fine_tuning import (
    fine_tune_runs,
    readable,
    remove_other_sweeps,
    remove_sweep,
    score_run,
)
from interlace.training.predictions import safe_file_name
from interlace.training.run_folder import EVALUATION, RECIPE, SCORES, VECTORS, locked
from interlace.training.selection import FineTuneRun
from interlace.training.steps import TrainingStep

log = logging.getLogger(__name__)


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


def target_of(path: str, recipe: Recipe | None = None, into: Path | None = None) -> Target:
    """Find a finished run or a plain checkpoint; `recipe` replaces the run's own recipe for the evaluation."""
    folder = Path(path)
    trained = Run(folder).finished_recipe()
    if trained is not None:
        kept = folder / (VECTORS if trained.embeddings else "model")
        Run(folder).check_export(kept)
        return Target(str(kept), recipe or trained, into or folder, trained)
    if folder.suffix == ".toml":
        raise DataError(
            f"{path}: a recipe, not a model; name a model, and the recipe with --recipe {path}"
        )
    if (folder / "study.json").is_file():
        cells = f"its runs are the folders in {folder / 'cells'}, and `interlace study STUDY -o {folder}` scores them"
        raise DataError(f"{path}: a study, not a model; {cells}")
    return Target(path, recipe or Recipe(name=folder.name), into or _scores_of(folder))


def _scores_of(checkpoint: Path) -> Path:
    """Return the default folder for the scores of a checkpoint: named after it, and after its place if it is local."""
    name = "--".join(part for part in checkpoint.parts[-2:] if part not in {"/", "..", "."})
    if checkpoint.exists():
        place = blake2b(str(checkpoint.resolve()).encode(), digest_size=3).hexdigest()
        name = f"{checkpoint.resolve().name}-{place}"
    into = Path("evaluations", name)
    log.info("scores go to %s", into)
    return into


def evaluate(
    target: Target,
    tasks: Sequence[str] = (),
    seeds: int | None = None,
    callback: Callable[[str, int], Callable[[TrainingStep], None]] = lambda _name, _seed: (
        lambda _step: None
    ),
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
        why = (
            "its recipe has no tasks" if Path(target.model).exists() else "there is no such folder"
        )
        raise DataError(f"{target.model}: {why}; choose tasks with --tasks, such as --tasks ner")
    bound = {name: _task(target, name) for name in names}
    train = target.recipe.train
    accelerator = accelerator_for(train.precision, train.threads)
    _check_processes(bound.values(), accelerator.num_processes)
    vectors = _static_vectors(target.model, bound)
    vocab: Any = Vocab.load(target.model) if vectors is None else None
    model = model_key(target.model)
    failures: list[InterlaceError] = []
    with (
        locked(target.into, SCORES, EVALUATION, RECIPE)
        if accelerator.is_main_process
        else nullcontext()
    ):
        store = ScoreStore(
            target.into,
            lambda: _write_records(target),
            writes=accelerator.is_main_process,
            model=target.model if target.trained is None else None,
            model_key=model,
        )
        for name, task in bound.items():
            job = replace(_job(target, name, task, vocab, accelerator), vectors=vectors)
            if save_models and isinstance(task, FineTuneTask):
                job = replace(job, models=target.into / FINE_TUNED)
            if isinstance(task, FineTuneTask):
                count = seeds or settings.seeds
            else:
                count = 1
            try:
                jobs = [
                    replace(job, seed=seed, on_step=callback(name, seed)) for seed in range(count)
                ]
                failures += _score(target, model, store, jobs)
            except InterlaceError as error:
                failures.append(error)
            job.cache.clear()  # shared by its seeds
        if accelerator.is_main_process and target.trained is not None and store.requested:
            scored = {place[0] for place in store.requested}
            reported = [str(failure) for failure in failures]
            store.add(_contamination(target, [name for name in names if name in scored], reported))
        if failures and not store.requested:
            raise failures[0] if len(failures) == 1 else RunError("; ".join(map(str, failures)))
    if failures:
        raise IncompleteError(failures, store.requested_rows())
    return store.requested_rows()


def _check_processes(tasks: Iterable[Task], count: int) -> None:
    """Raise a SettingsError if several processes cannot share the batches of a task's fine-tuning."""
    for task in tasks:
        if isinstance(task, FineTuneTask):
            task.tuning.check_processes(count)


def _static_vectors(folder: str, tasks: Mapping[str, Task]) -> dict[str, WordVectors] | None:
    """Return the word vectors of a folder by language; None if it has none."""
    if not (Path(folder) / "config.json").exists():
        languages = languages_in(folder)
    else:
        languages = []
    if not any((Path(folder) / f"{language}.words").is_file() for language in languages):
        return None
    for name, task in tasks.items():
        if not task.static_vectors:
            able = ", ".join(other for other in TASKS.names() if TASKS.get(other).static_vectors)
            raise DataError(
                f"{name}: needs a model, but {folder} holds word vectors; tasks for word vectors: {able}"
            )
    return {language: WordVectors.load(folder, language) for language in languages}


def _task(target: Target, name: str) -> Task:
    """Return a task bound to the model; translation tasks take its learned directions and lengths."""
    task = target.recipe.evaluate.task(name).bind(target.run)
    if not isinstance(task, TranslationTask):
        return task
    known: ModelMetadata | None
    if target.trained is not None:
        known = ModelMetadata.of(target.trained)
    else:
        known = ModelMetadata.read(find_checkpoint(target.model))
    if known is None:
        return task
    learned = known.max_source_lengths
    task = with_learned_directions(task, target.recipe, learned)
    wanted = [
        str(task.direction(language)) for language in task.targets or target.recipe.evaluate.targets
    ]
    untrained = [direction for direction in wanted if direction not in learned]
    if untrained:
        log.warning(
            "%s: the model was not trained to translate %s; learned directions: %s",
            name, " and ".join(untrained), listed(learned) or "none",
        )  # fmt: skip
    return task.with_trained_lengths(learned)


class IncompleteError(RunError):
    """Some tasks could not be scored; `rows` are those of the others."""

    def __init__(self, failures: Sequence[InterlaceError], rows: list[Score]) -> None:
        super().__init__(
            "; ".join(str(failure) for failure in failures) + "; everything else was scored"
        )
        self.rows = rows


def _score(
    target: Target, model: str, store: ScoreStore, jobs: list[EvaluationJob]
) -> list[InterlaceError]:
    """Compute the missing scores of one task, a job per seed; return errors, which do not stop the other jobs."""
    name = jobs[0].name
    is_main = jobs[0].accelerator.is_main_process
    planned = [
        (job, run, identity_of(target.recipe, model, job, run))
        for job in jobs
        for run in fine_tune_runs(job)
    ]
    if not planned:
        raise DataError(
            f"{name}: no language to score; name some: --set 'evaluate.tasks.{name}.targets=[..]'"
        )
    identities = {identity for _, _, identity in planned}
    keyed = {
        (job.seed, identity): replace(job, output=target.into, key=identity.outcomes_key)
        for job, _, identity in planned
    }
    if is_main:
        remove_other_sweeps(
            _sweeps(target, name), {identity.outcomes_key for identity in identities}
        )
    failures: list[InterlaceError] = []
    if jobs[0].accelerator.num_processes > 1 and not isinstance(
        jobs[0].task, FineTuneTask
    ):  # which shares batches
        missing = [
            run
            for job, run, found in planned
            if not store.holds(_places(job, run), with_files(found, job, run))
        ]
        keyed[0, planned[0][2]].share([item for run in missing for item in run.items])
    for job, run, identity in planned:
        try:
            error = _score_missing(
                target, store, keyed[job.seed, identity], run, identity, identities
            )
        except InterlaceError as raised:
            error = raised
        if error and str(error) not in map(
            str, failures
        ):  # several seeds and directions may miss the same file
            failures.append(error)
    return failures


def _sweeps(target: Target, task: str) -> Path:
    """Return the folder of unfinished learning-rate sweeps of a task."""
    return target.into / "tuning" / safe_file_name(task)


def _check_unchanged(model: str, key: str) -> None:
    """Raise a RunError if a model no longer has the files that its key names, as when its run was extended."""
    folder = user_path(model)  # models of the hub do not change in its cache
    if folder.is_dir() and (folder_key(folder) or model) != key:
        raise RunError(
            f"{model}: changed while it was scored; its scores are not stored; evaluate it again"
        )


def _score_missing(
    target: Target,
    store: ScoreStore,
    job: EvaluationJob,
    run: FineTuneRun,
    identity: ScoreIdentity,
    identities: set[ScoreIdentity],
) -> InterlaceError | None:
    """Compute the missing scores of one fine-tuning run or probe and store them; return the error of missing files.

    identities: of all runs of the task; scores with others are discarded.
    """
    error = None
    identity = with_files(identity, job, run)
    places = _places(job, run)

    def is_valid(row: Score) -> bool:
        return job.models is None or is_saved(target.into, row)

    if run.train_language and not store.holds(places, identity, is_valid):
        run, error = readable(job, run)
        if error:
            identity = with_files(identity, job, run)
            places = _places(job, run)
    if store.holds(places, identity, is_valid):
        store.drop(job.name, identities)
    else:
        log.info("%s", _announcement(job, run))
        _check_unchanged(target.model, identity.model)
        sweep = None
        if run.train_language:  # a probe keeps its job, which holds the loaded model
            saving = (
                ".models" if job.models else ""
            )  # a sweep without them cannot be resumed by one that saves them
            sweep = _sweeps(target, job.name) / f"{job.key}.{identity.files}.{job.seed}{saving}"
            job = replace(job, sweep=sweep, identity=identity.columns)
        rows = score_within_memory(job, run)
        _check_unchanged(target.model, identity.model)
        if with_files(identity, job, run) != identity:
            raise RunError(
                f"{job.name}: its files changed while it was scored, which is not stored; evaluate it again"
            )
        store.drop(job.name, identities)  # only now: a task that fails keeps its earlier scores
        store.put(places, identity, rows)
        if sweep and job.accelerator.is_main_process:
            remove_sweep(sweep)
    store.requested += places
    return error


def _announcement(job: EvaluationJob, run: FineTuneRun) -> str:
    """Return what is about to be computed, with its languages."""
    languages = ", ".join(dict.fromkeys(language for _, language in run.items))
    if not run.train_language:
        return f"scoring {job.name} ({languages})"
    return f"fine-tuning {job.name} on {run.train_language}, seed {job.seed}, to score {languages}"


def _places(job: EvaluationJob, run: FineTuneRun) -> list[Place]:
    return [(job.name, job.seed, *item) for item in run.items]


def _contamination(
    target: Target, names: list[str], reported: list[str]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the contamination of test sets by task and language, in percent of the examples.

    reported: messages that the user has already seen.
    """
    if target.trained is None:
        return {}
    try:
        found = stored_contamination(target.into, target.trained, target.recipe, names, reported)
    except InterlaceError as error:
        log.warning("contamination could not be checked: %s", error)
        return {}
    facts = ("exact", "ngram", "n", "unknown")
    return {
        (row["task"], row["language"]): {
            "contamination": {key: row[key] for key in facts if key in row}
        }
        for row in found
    }


def _write_records(target: Target) -> None:
    if Path(target.model) == target.into / "model":
        write_card(target.into)
    write_json(target.into / EVALUATION, target.recipe.dump())


def _job(
    target: Target, name: str, task: Task, vocab: Vocab, accelerator: Accelerator
) -> EvaluationJob:
    recipe = target.recipe
    load_model = partial(_load, target.model, task, vocab)
    root = data_root(recipe)
    seed = 0
    return EvaluationJob(
        name,
        task,
        load_model,
        vocab,
        root,
        recipe.evaluate.source,
        recipe.targets,
        seed,
        accelerator,
    )


def _load(model: str, task: Task, vocab: Vocab | None = None) -> Backbone:
    """Load the model; a fine-tuning task takes the encoder of a translation model."""
    from interlace.models.seq2seq import Seq2Seq

    found = load(model, vocab)
    if isinstance(found, Seq2Seq) and isinstance(task, FineTuneTask):
        return found.encoder
    return found


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
    task = job.task
    found = {
        "tuning.tokens_per_batch": task.tuning.tokens_per_batch
        if isinstance(task, FineTuneTask)
        else None,
        "tokens_per_batch": getattr(task, "tokens_per_batch", None),
        "max_length": getattr(task, "max_length", None),
    }
    halved = {
        name: value // 2 for name, value in found.items() if isinstance(value, int) and value >= 32
    }
    options = " or ".join(
        f"--set evaluate.tasks.{job.name}.{name}={value}" for name, value in halved.items()
    )
    if options:
        hint = f"; reduce batches or sequences: {options}"
    else:
        hint = ""
    raise RunError(f"{job.name}: the GPU's memory is too small for this task{hint}")
