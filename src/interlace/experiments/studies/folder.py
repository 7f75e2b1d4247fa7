"""The folder of a study: a run folder for each cell, what became of it, and the table of all scores."""

import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, RunError, SettingsError
from interlace.core.files import atomic, file_lock, must_exist
from interlace.core.json_files import read_json, write_json
from interlace.core.names import file_in
from interlace.core.version import VERSION
from interlace.experiments.recipe import Recipe
from interlace.experiments.score_store import content_keys
from interlace.experiments.studies import GridCell, Study
from interlace.scores import ZERO_SHOT, ScoreEntry, ScoreTable, table_of_entries
from interlace.training.run_folder import (
    CELL,
    EVALUATION,
    RECIPE,
    RUN,
    SCORES,
    VECTORS,
    locked,
    read_run,
)
from interlace.training.selection import Item, runs_of_task

TRAINING = "pretrain.json"
LOG = "log.txt"
CELLS = "cells"
ASIDE = "aside"
STUDY = "study.json"
RESULTS = "results.json"
PARQUET = "results.parquet"


@dataclass
class CellState:
    """The contents of `cell.json`.

    state: `waiting`, `running`, `stopped`, `failed` or `finished`. error: the last line of the log of a failed cell.
    seconds: by stage, over all attempts. training, evaluation: settings. scored: hashes of the model and test files.
    """

    state: str = "waiting"
    error: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    finished: str = ""
    interlace: str = ""
    commit: str = ""
    training: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)
    scored: dict[str, str] = field(default_factory=dict)


class StudyFolder:
    """The cells of a study on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def cell(self, name: str) -> Path:
        """Return a cell's run folder."""
        return file_in(self.path / CELLS, name)

    def lock(self) -> AbstractContextManager[None]:
        """Return the lock under which what all cells share is written: results, tables and the report."""
        return file_lock(self.path / ".lock")

    def cell_lock(self, name: str) -> AbstractContextManager[None]:
        """Return the lock of a cell, beside its folder; to hold it is a LockedError while another process has it."""
        return file_lock(file_in(self.path / CELLS, f".{name}.lock"), wait=False)

    def state(self, cell: GridCell) -> CellState:
        """Read the state of a cell; raise RunError if its file is damaged."""
        remedy = "remove the folder, or run with --archive"
        found: CellState = read_json(
            self.cell(cell.name) / CELL, CellState, CellState(), remedy=remedy, error=RunError
        )
        return found

    def write_state(self, cell: GridCell, state: CellState) -> None:
        """Write the state of a cell."""
        names = ("system", "label", "axes", "seed", "model", "origin")
        about = {"cell": cell.name, **{name: getattr(cell, name) for name in names}}
        write_json(self.cell(cell.name) / CELL, {**about, **vars(state)})

    def begin(self, cell: GridCell) -> CellState:
        """Write the settings of a cell into its folder and mark it as running."""
        folder = self.cell(cell.name)
        state = self.state(cell)
        folder.mkdir(parents=True, exist_ok=True)
        if (
            state.training != cell.training or not (folder / RECIPE).exists()
        ):  # a run resumes with its own recipe
            write_json(folder / TRAINING, cell.recipe.dump())
        write_json(folder / EVALUATION, cell.recipe.dump())
        state.training = cell.training
        state.evaluation = cell.evaluation
        state.state = "running"
        state.error = ""
        state.interlace = VERSION
        state.commit = commit()
        self.write_state(cell, state)
        return state

    def is_finished(self, cell: GridCell) -> bool:
        """Return whether a cell is finished under the study's current settings, model and test files."""
        state = self.state(cell)
        same = _is_same_training(state, cell) and state.evaluation == cell.evaluation
        has_model = bool(cell.model or cell.origin) or self.is_trained(cell.name)
        if (
            state.state != "finished"
            or not same
            or not has_model
            or not (self.cell(cell.name) / SCORES).is_file()
        ):
            return False
        return all(
            key in {"", state.scored.get(what, key)}
            for what, key in self.content_keys(cell).items()
        )

    def content_keys(self, cell: GridCell) -> dict[str, str]:
        """Return hashes of the model and the files that a cell's scores depend on; "" if unknown."""
        kind = VECTORS if cell.recipe.embeddings else "model"
        return content_keys(cell.model or str(self.home(cell) / kind), cell.recipe, cell.tasks)

    def home(self, cell: GridCell) -> Path:
        """Return the run whose model a cell scores: its own, or that of its origin."""
        return self.cell(
            cell.origin if cell.origin and not self.is_trained(cell.name) else cell.name
        )

    def status(self, cell: GridCell) -> str:
        """Return the state of a cell, or `changed` if it finished under settings that the study no longer has."""
        state = self.state(cell).state
        if state == "finished" and not self.is_finished(cell):
            return "changed"
        return state

    def is_trained(self, name: str) -> bool:
        """Return whether a cell's run has a finished model."""
        return bool(read_run(self.cell(name)).get("finished"))

    def changed(self, cells: Sequence[GridCell]) -> dict[str, list[str]]:
        """Return by cell how pre-training settings differ from those that it began with.

        Changed evaluation settings do not count: the cell is evaluated again. Nor do runs without a checkpoint.
        """
        found = {}
        for cell in cells:
            training = self.state(cell).training
            folder = self.cell(cell.name)
            begun = any((folder / "checkpoints").glob("*")) or any(
                (folder / name).exists() for name in (RUN, SCORES)
            )
            if training and begun and not _is_same_training(self.state(cell), cell):
                from interlace.experiments.run import differences

                found[cell.name] = differences(training, cell.training)
        return found

    def put_aside(self, name: str) -> Path:
        """Move a cell's folder to `aside/`, where no results are read from; a RunError while a process uses it."""
        number = 0
        while (place := file_in(self.path / ASIDE, f"{name}.{number}")).exists():
            number += 1
        with self.cell_lock(name), locked(self.cell(name)):
            place.parent.mkdir(exist_ok=True)
            self.cell(name).rename(place)
        for lock in place.glob(".lock*"):  # of the run, with the note of a killed holder
            lock.unlink()
        return place

    def finished_runs(self, cells: Sequence[GridCell]) -> list[Path]:
        """Return the folders of finished cells that have a recipe or scores to report."""
        runs = [self.cell(cell.name) for cell in cells if self.is_finished(cell)]
        return [run for run in runs if (run / RECIPE).is_file() or (run / SCORES).is_file()]

    def collect(self, study: Study, cells: Sequence[GridCell]) -> ScoreTable:
        """Return the scores of finished cells, of the tasks, settings, languages and seeds that the study has now."""
        return ScoreTable(
            row
            for cell in cells
            if self.is_finished(cell)
            for row in self._scores(study, cell, self.state(cell))
        )

    def _scores(self, study: Study, cell: GridCell, state: CellState) -> ScoreTable:
        folder = self.cell(cell.name)
        run = read_run(folder if cell.model else self.home(cell))
        seconds = run.get("seconds", {})
        requested = {task: requested_items(cell.recipe, task) for task in cell.tasks}
        entries = [
            entry
            for entry in read_json(folder / SCORES, list[ScoreEntry], [])
            if entry.get("seed", 0) < cell.fine_tuning_seeds
            and (entry.get("setting") or ZERO_SHOT, entry["language"])
            in requested.get(entry["task"], ())
        ]
        return table_of_entries(
            entries,
            str(folder / SCORES),
            lambda task, metric: cell.recipe.evaluate.task(task).scale(metric),
            **{key: run.get(key) for key in ("tokens", "steps", "parameters")},
            **{key: run.get(key) or "" for key in ("device", "precision")},
            **{key: getattr(state, key) for key in ("interlace", "commit", "finished")},
            **{key: getattr(cell, key) for key in ("system", "label", "axes")},
            study=study.name,
            cell=cell.name,
            model=cell.model or "",
            run=folder.relative_to(self.path).as_posix(),
            pretrained=cell.seed is not None,
            pretraining_seed=cell.seed,
            pretraining_seconds=round(
                sum(seconds.get(stage, 0.0) for stage in ("data", "training", "export")), 3
            ),
            evaluation_seconds=state.seconds.get("evaluate"),
        )

    def write_scores(self, table: ScoreTable) -> None:
        """Write `results.json` and `results.parquet`."""
        import pyarrow.parquet as pq

        with atomic(self.path / PARQUET) as partial:
            pq.write_table(table.to_arrow(), partial)
        write_json(self.path / RESULTS, table.to_json())

    def read_scores(self) -> ScoreTable:
        """Read the table; raise DataError if it is missing or empty, RunError if it is damaged."""
        rows = read_json(must_exist(self.path / RESULTS, "study's results"))
        if not rows:
            raise DataError(f"{self.path / RESULTS}: no scores yet; run the study first")
        return ScoreTable.from_json(rows, str(self.path / RESULTS))


def _is_same_training(state: CellState, cell: GridCell) -> bool:
    """Return whether a cell began with its current training settings; those added since then had their defaults."""
    if state.training == cell.training or cell.model:
        return state.training == cell.training
    other = {key: value for key, value in cell.recipe.dump().items() if key not in cell.training}
    try:
        found = Recipe.read({**other, **state.training}).dump()
    except SettingsError:
        return False
    return {key: found[key] for key in cell.training} == cell.training


def requested_items(recipe: Recipe, name: str) -> set[Item]:
    """Return the (setting, language) pairs that a recipe's task is scored in."""
    planned = runs_of_task(recipe.task(name), recipe.evaluate.source, recipe.targets)
    return {item for run in planned for item in run.items}


@cache
def commit() -> str:
    """Return the commit of the package, with `-dirty` after changes; "" if it is not installed from a checkout."""
    package = Path(__file__).resolve().parents[2]

    def git(*words: str) -> str:
        done = subprocess.run(  # noqa: S603
            ["git", *words],  # noqa: S607
            cwd=package,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() if not done.returncode else ""

    try:
        if not git(
            "ls-files", "--", "__init__.py"
        ):  # the environment may lie in a checkout of something else
            return ""
        return git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    except OSError:  # git is not installed
        return ""
