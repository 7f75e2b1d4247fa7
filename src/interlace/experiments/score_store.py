"""The scores of a run folder (`scores.json`), and the identity that decides whether a score is still valid.

A score is identified by four columns: a hash of the model's files, a hash of the task's settings and of how it is
fine-tuned, a hash of the files that are read, and the task's scoring version. `key` is a hash of all four.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from interlace.core.data_root import Root
from interlace.core.errors import DataError, RunError
from interlace.core.json_files import read_json, write_json
from interlace.data.cache import content_key, plugin_hash
from interlace.models.checkpoint_files import find_checkpoint
from interlace.scores import ScoreEntry
from interlace.tasks import FineTuneTask, Task
from interlace.tasks.common.files import MissingDataError
from interlace.training.evaluation_job import EvaluationJob, Score
from interlace.training.run_folder import SCORES
from interlace.training.selection import FineTuneRun, runs_of_task, sets_read

if TYPE_CHECKING:
    from interlace.experiments.recipe import Recipe

log = logging.getLogger(__name__)

_Row = TypeVar("_Row", bound=Mapping[str, Any])
Place = tuple[Any, ...]  # task, seed, setting, language

_MODEL_FILES = (
    *("*.safetensors", "*/model.safetensors", "config.json", "*/config.json"),
    *("tokenizer*.json", "*.model", "vocab.*", "*.words"),
)
_COLUMNS = {
    "model_key": "model content",
    "settings_key": "task settings",
    "files_key": "test files",
    "scoring_version": "scoring version",
}


@dataclass(frozen=True)
class ScoreIdentity:
    """What a score depends on, apart from the seed; `files` is "" where a file is missing or on the hub."""

    model: str
    settings: str
    version: int
    files: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the score's row."""
        values = (self.model, self.settings, self.files, self.version)
        return {**dict(zip(_COLUMNS, values, strict=True)), "key": hashed([*map(str, values)])}

    @property
    def outcomes_key(self) -> str:
        """Identifies the outcomes of test examples, which are kept for several languages with files of their own."""
        return outcomes_key(self.columns)

    def differences(self, row: Mapping[str, Any]) -> list[str]:
        """Return which of the four columns of a row differ; unknown files match any."""
        mine = self.columns
        return [
            name
            for column, name in _COLUMNS.items()
            if row.get(column) != mine[column]
            and not (column == "files_key" and not (row.get(column) and mine[column]))
        ]


def outcomes_key(row: Mapping[str, Any]) -> str:
    """Return the key under which the outcomes of a score's test examples are stored."""
    return hashed([str(row.get(name)) for name in ("model_key", "settings_key", "scoring_version")])


def identity_of(recipe: Recipe, model: str, job: EvaluationJob, run: FineTuneRun) -> ScoreIdentity:
    """Return the identity of the scores of a fine-tuning or probe, without its files; `model` is its `model_key`."""
    from interlace.training.device import resolved  # imports torch

    task = job.task
    dumped = recipe.dump()
    by_mean = isinstance(task, FineTuneTask) and task.tuning.select == "mean-dev"
    settings = {
        "task": job.name,
        "settings": {
            key: value for key, value in task.dump().items() if key not in {"settings", "targets"}
        },
        "code": plugin_hash(type(task)),
        "source": job.source,
        "classes": list(getattr(task, "classes", ())),
        "trained": run.train_language,
        "judges": sorted({run.dev_language(item) for item in run.items}) if by_mean else [],
        "toy": dumped["toy"],
        "derived": dumped["derived"],
        "precision": resolved(recipe.train.precision),
    }
    return ScoreIdentity(
        model, hashed([json.dumps(settings, sort_keys=True)]), task.scoring_version
    )


def with_files(identity: ScoreIdentity, job: EvaluationJob, run: FineTuneRun) -> ScoreIdentity:
    """Return the identity with the hash of the files that a fine-tuning or probe reads."""
    return replace(identity, files=files_key(job.task, job.source, job.root, run))


def model_key(model: str) -> str:
    """Return a hash of all files of a checkpoint that its scores depend on.

    model: a folder, or a name on the hub, which is the key itself if no such file is found.
    """
    return folder_key(find_checkpoint(model)) or model


def folder_key(folder: Path) -> str:
    """Return a hash of the files of a model in a folder; "" if there are none."""
    found = sorted({path for name in _MODEL_FILES for path in folder.glob(name)})
    if found:
        return hashed([str(path.relative_to(folder)) + content_key(path) for path in found])
    return ""


def scores_of_model(run: Path, rows: Sequence[_Row]) -> list[_Row]:
    """Return the rows that are scores of the model that a run has now; say how many are of previous weights.

    A run without a model, as a folder of scores of another checkpoint, keeps all rows.
    """
    key = folder_key(run / "model")
    kept = [row for row in rows if not key or row.get("model_key", key) == key]
    left_out = len(rows) - len(kept)
    if left_out:
        log.warning(
            "%s: leaving out %d scores of previous weights of this model; evaluate it again",
            run,
            left_out,
        )
    return kept


def files_key(task: Task, source: str, root: Root, run: FineTuneRun) -> str:
    """Return a hash of the contents of all files that a fine-tuning or probe reads; "" if one is missing.

    Scores outlive their data: missing files are no reason to score again.
    """
    try:
        return hashed([content_key(path) for path in _files_read(task, source, root, run)])
    except DataError:  # scoring reports it
        return ""


def _files_read(task: Task, source: str, root: Root, run: FineTuneRun) -> Iterator[Path]:
    """Yield the test files, then those of the dev sets that select weights, then those of the training sets."""
    tuned: Any = task  # a FineTuneTask wherever it is trained
    for read in sets_read(task, source, run):
        yield from read.task.read_files(read.split, read.language, root)
        for other in tuned.held_out_splits(read.split) if read.split != "test" else ():
            with suppress(MissingDataError):  # then there is nothing to decontaminate against
                yield from task.read_files(other, read.language, root)


def content_keys(model: str, recipe: Recipe, names: Sequence[str]) -> dict[str, str]:
    """Return the hashes `model` and `files` of what the scores of these tasks depend on; "" of what is not local.

    Toy and derived data are identified by how they are made, so that nothing is generated or downloaded.
    """
    # a report reads stored scores without the modules that make data
    from interlace.experiments.data_root import data_key, data_root

    try:
        if recipe.toy is not None or recipe.derived:
            found = [json.dumps(data_key(recipe), sort_keys=True)]
        else:
            root = data_root(recipe)
            source = recipe.evaluate.source
            tasks = [recipe.evaluate.task(name) for name in names]
            planned = [
                (task, run) for task in tasks for run in runs_of_task(task, source, recipe.targets)
            ]
            found = [files_key(task, source, root, run) for task, run in planned]
    except DataError:
        found = [""]
    return {
        "model": model_key(model) if Path(model).is_dir() else "",
        "files": hashed(found) if all(found) else "",
    }


def hashed(parts: Sequence[str]) -> str:
    """Return a hash of 16 hexadecimal digits."""
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


class ScoreStore:
    """The rows of `scores.json` in a folder; every change is written at once.

    requested: the places (task, seed, setting, language) that the caller evaluates, in order.
    """

    def __init__(
        self,
        folder: Path,
        on_write: Callable[[], None] = lambda: None,
        *,
        writes: bool = True,
        model: str | None = None,
        model_key: str = "",
    ) -> None:
        """Read the rows; discard those of previous contents of this model, reject those of another checkpoint.

        folder: holds `scores.json`. on_write: called after each writing. writes: False except in the main process.
        model: name of the checkpoint that is scored; None: the run of the folder. model_key: of the checkpoint.
        """
        self._path = folder / SCORES
        self._on_write = on_write
        self._writes = writes
        self._model = {"model": model} if model else {}
        self.requested: list[Place] = []
        remedy = "move the file away to score again"
        rows = read_json(self._path, list[ScoreEntry], [], remedy=remedy, error=RunError)
        self._rows = [row for row in rows if row.get("model_key") == model_key]
        stale = [row for row in rows if row.get("model_key") != model_key]
        others = (
            {row["model"] for row in stale if row.get("model") not in {None, model}}
            if model
            else set()
        )
        if others:
            names = " and ".join(map(repr, sorted(others)))
            raise RunError(
                f"{folder}: holds scores of {names}, not of {model!r}; choose another folder with --output, or remove "
                f"{self._path}"
            )
        if stale:
            log.warning(
                "%s: discarding %d scores of a previous version of this model", folder, len(stale)
            )

    def holds(
        self,
        places: Sequence[Place],
        identity: ScoreIdentity,
        is_valid: Callable[[Score], bool] = lambda _: True,
    ) -> bool:
        """Return whether there is a row of this identity at every place; rows that are not valid do not count."""
        rows = [row for row in self._rows if not identity.differences(row) and is_valid(row)]
        return set(places) <= set(map(place_of, rows))

    def drop(self, task: str, identities: Collection[ScoreIdentity]) -> None:
        """Discard the rows of a task that have none of these identities, regardless of files."""
        kept = []
        why: dict[str, None] = {}
        for row in self._rows:
            differing = [set(each.differences(row)) - {"test files"} for each in identities]
            if row["task"] != task or not all(differing):
                kept.append(row)
            else:
                fewest = min(len(names) for names in differing)
                why |= dict.fromkeys(
                    sorted(next(names for names in differing if len(names) == fewest))
                )
        dropped = len(self._rows) - len(kept)
        if dropped:
            log.warning(
                "%s: discarding %d scores of %s with different %s; to keep both, give one a table of its own, "
                "[evaluate.tasks.NAME] with task = %r",
                *(self._path.parent, dropped, task, " and ".join(why), task),
            )
        self._rows = kept

    def put(
        self, places: Collection[Place], identity: ScoreIdentity, rows: Sequence[Score]
    ) -> None:
        """Store rows in place of those at these places."""
        others = [row for row in self._rows if place_of(row) not in places]
        stored = others + [{**row, **self._model, **identity.columns} for row in rows]
        self._rows = sorted(stored, key=lambda row: place_of(row)[:2])  # whatever was scored first
        self._write()

    def add(self, facts: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
        """Add facts about the test text of a task and language to its rows, except those of translated text."""
        rows: Iterable[Score] = (
            row
            if row.get("setting") == "translate-test"
            else {**row, **facts.get((row["task"], row["language"]), {})}
            for row in self._rows
        )
        before = self._rows
        self._rows = list(rows)
        if self._rows != before:
            self._write()

    def requested_rows(self) -> list[Score]:
        """Return the rows at the requested places, in their order."""
        by_place = {place_of(row): row for row in self._rows}
        return [by_place[place] for place in dict.fromkeys(self.requested) if place in by_place]

    def _write(self) -> None:
        if self._writes:
            write_json(self._path, self._rows)
            self._on_write()


def place_of(row: Score) -> Place:
    """Return task, seed, setting and language of a row."""
    return (row["task"], row.get("seed", 0), row.get("setting", "zero-shot"), row["language"])
