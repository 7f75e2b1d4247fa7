"""The scores of a run folder (`scores.json`), and the identity that decides whether a score is still valid.

A score is identified by four columns: a hash of the model's files, a hash of the task's settings and of how it is
fine-tuned, a hash of the files that are read, and the task's scoring version. `key` is a hash of all four.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.data_root import Root
from interlace.core.errors import DataError, RunError
from interlace.core.json_files import JsonMapping, JsonObject, read_json, write_json
from interlace.data.cache import content_key, plugin_hash
from interlace.models.checkpoint_files import find_checkpoint
from interlace.scores import ScoreEntry
from interlace.tasks import FineTuneTask, Task
from interlace.tasks.common.files import MissingDataError
from interlace.training.evaluation_job import EvaluationJob, Score
from interlace.training.predictions import hashed, outcomes_key
from interlace.training.run_folder import SCORES
from interlace.training.selection import FineTuneRun, sets_read

if TYPE_CHECKING:
    from interlace.experiments.recipe import Recipe

log = logging.getLogger(__name__)

Place = tuple[Any, ...]  # task, seed, setting, language

_MODEL_FILES = (
    *("*.safetensors", "*/model.safetensors", "config.json", "*/config.json"),
    *("tokenizer*.json", "*.model", "vocab.*", "*.words"),
)


@dataclass(frozen=True)
class ScoreIdentity:
    """What a score depends on, apart from the seed; `files_key` is "" where a file is missing or on the hub."""

    model_key: str
    settings_key: str
    scoring_version: int
    files_key: str

    @property
    def columns(self) -> JsonObject:
        """The columns of the score's row."""
        parts = [self.model_key, self.settings_key, self.files_key, str(self.scoring_version)]
        return {**asdict(self), "key": hashed(parts)}

    @property
    def outcomes_key(self) -> str:
        """Identifies the outcomes of test examples, which are kept for several languages with files of their own."""
        return outcomes_key(self.columns)

    def matches(self, row: JsonMapping) -> bool:
        """Return whether a row has this identity; unknown files match any."""
        is_same = outcomes_key(row) == self.outcomes_key
        stored_files = row.get("files_key") or self.files_key
        return is_same and self.files_key in {"", stored_files}


def identity_of(
    recipe: Recipe, model: str, job: EvaluationJob, run: FineTuneRun
) -> ScoreIdentity:
    """Return the identity of the scores of a fine-tuning or probe; `model` is its `model_key`."""
    from interlace.training.device import resolved  # imports torch

    task = job.task
    dumped = recipe.dump()
    by_mean = isinstance(task, FineTuneTask) and task.tuning.select == "mean-dev"
    settings = {
        "task": job.name,
        "settings": {
            key: value
            for key, value in task.dump().items()
            if key not in {"settings", "targets"}
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
        model_key=model,
        settings_key=hashed([json.dumps(settings, sort_keys=True)]),
        scoring_version=task.scoring_version,
        files_key=_files_key(task, job.source, job.root, run),
    )


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


def _files_key(task: Task, source: str, root: Root, run: FineTuneRun) -> str:
    """Return a hash of the contents of all files that a fine-tuning or probe reads; "" if one is missing.

    Scores outlive their data: missing files are no reason to score again.
    """
    try:
        paths = list(files_read(task, source, root, run))
        return hashed([content_key(path) for path in paths])
    except DataError:  # scoring reports it
        return ""


def files_read(task: Task, source: str, root: Root, run: FineTuneRun) -> Iterator[Path]:
    """Yield the test files, then those of the dev sets that select weights, then those of the training sets."""
    tuned: Any = task  # a FineTuneTask wherever it is trained
    for read in sets_read(task, source, run):
        yield from read.task.read_files(read.split, read.language, root)
        for other in tuned.held_out_splits(read.split) if read.split != "test" else ():
            with suppress(MissingDataError):  # then there is nothing to decontaminate against
                yield from task.read_files(other, read.language, root)


class ScoreStore:
    """The rows of `scores.json` in a folder; every change is written at once.

    requested: the places (task, seed, setting, language) that the caller evaluates, in order.
    """

    def __init__(
        self,
        folder: Path,
        model: str | None,
        model_key: str,
        on_write: Callable[[], None] = lambda: None,
        *,
        writes: bool = True,
    ) -> None:
        """Read the rows; discard those of previous contents of this model, reject those of another checkpoint.

        folder: holds `scores.json`. on_write: called after each writing. writes: False except in the main process.
        model: name of the checkpoint that is scored; None: the run of the folder. model_key: of the checkpoint.
        """
        self._path = folder / SCORES
        self._on_write = on_write
        self._writes = writes
        self._model = {"model": model} if model else {}
        self.model_key = model_key
        self.requested: list[Place] = []
        remedy = "move the file away to score again"
        rows = read_json(
            self._path,
            list[ScoreEntry],
            [],
            remedy=remedy,
            error=RunError,
        )
        self._rows = [row for row in rows if row.get("model_key") == model_key]
        stale = [row for row in rows if row.get("model_key") != model_key]
        for row in stale:
            if model and row.get("model") not in {None, model}:
                raise RunError(
                    f"{folder}: holds scores of {row['model']!r}, not of {model!r}; choose another folder with "
                    f"--output, or remove {self._path}"
                )
        if stale:
            log.warning(
                "%s: discarding %d scores of a previous version of this model",
                folder,
                len(stale),
            )

    def rows_of(self, identity: ScoreIdentity) -> list[Score]:
        """Return the rows of this identity."""
        return [row for row in self._rows if identity.matches(row)]

    def drop(self, task: str, identities: Collection[ScoreIdentity]) -> None:
        """Discard the rows of a task that have none of these identities, regardless of files."""
        keys = {identity.outcomes_key for identity in identities}
        current = []
        for row in self._rows:
            if row["task"] != task or outcomes_key(row) in keys:
                current.append(row)
        dropped = len(self._rows) - len(current)
        if dropped:
            log.warning(
                "%s: discarding %d scores of %s with other settings; to keep both, give one a table of its own, "
                "[evaluate.tasks.NAME] with task = %r",
                self._path.parent, dropped, task, task,
            )  # fmt: skip
        self._rows = current

    def put(
        self, places: Collection[Place], identity: ScoreIdentity, rows: Sequence[Score]
    ) -> None:
        """Store rows in place of those at these places."""
        others = [row for row in self._rows if place_of(row) not in places]
        stored = others + [{**row, **self._model, **identity.columns} for row in rows]
        # whatever was scored first
        self._rows = sorted(stored, key=lambda row: place_of(row)[:2])
        self._write()

    def add(self, facts: Mapping[tuple[str, str], JsonMapping]) -> None:
        """Add facts about the test text of a task and language to its rows, except those of translated text."""
        before = self._rows
        self._rows = []
        for row in before:
            fact = facts.get((row["task"], row["language"]), {})
            if row.get("setting") == "translate-test":
                fact = {}
            self._rows.append({**row, **fact})
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
