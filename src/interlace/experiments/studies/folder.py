"""The folder of a study: a run folder for each cell, what became of it, and the table of all scores."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from interlace.core import VERSION
from interlace.core.errors import RunError
from interlace.core.files import file_lock, user_path
from interlace.core.json_files import JsonObject, read_json, write_json
from interlace.core.names import file_in
from interlace.core.system import commit
from interlace.experiments.recipe import Recipe, resolve_task
from interlace.experiments.run import differences
from interlace.experiments.score_store import folder_key
from interlace.experiments.studies import GridCell, Study
from interlace.scores import ZERO_SHOT, ScoreEntry, ScoreTable, table_of_entries
from interlace.training.run_folder import (
    CELL,
    EVALUATION,
    RECIPE,
    RUN,
    SCORES,
    read_run,
)
from interlace.training.selection import Item, runs_of_task

TRAINING = "pretrain.json"
LOG = "log.txt"
CELLS = "cells"
STUDY = "study.json"
RESULTS = "results.json"


@dataclass
class CellState:
    """The contents of `cell.json`.

    state: `waiting`, `running`, `stopped`, `failed` or `finished`. error: the last line of the log of a failed
    cell. seconds: by stage, over all attempts. training, evaluation: settings. model_key: hash of the checkpoint that
    was scored, if the cell has a local one.
    """

    state: str = "waiting"
    error: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    finished: str = ""
    interlace: str = ""
    commit: str = ""
    training: JsonObject = field(default_factory=dict)
    evaluation: JsonObject = field(default_factory=dict)
    model_key: str = ""


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
        path = self.cell(cell.name) / CELL
        return read_json(
            path, CellState, CellState(), remedy="remove the folder", error=RunError
        )

    def write_state(self, cell: GridCell, state: CellState) -> None:
        """Write the state of a cell."""
        about = {
            "cell": cell.name,
            "system": cell.system,
            "label": cell.label,
            "axes": cell.axes,
            "seed": cell.seed,
            "model": cell.model,
        }
        write_json(self.cell(cell.name) / CELL, {**about, **vars(state)})

    def changes(self, cell: GridCell) -> list[str]:
        """Return how the settings of a cell differ from those that its pre-training began with."""
        folder = self.cell(cell.name)
        state = self.state(cell)
        has_results = (folder / RUN).exists() or (folder / SCORES).exists()
        is_begun = has_results or any((folder / "checkpoints").glob("*"))
        if is_begun and state.training:
            return differences(state.training, cell.training)
        return []

    def begin(self, cell: GridCell) -> CellState:
        """Write the settings of a cell into its folder and mark it as running.

        With other evaluation settings, it is evaluated again.
        """
        folder = self.cell(cell.name)
        state = self.state(cell)
        folder.mkdir(parents=True, exist_ok=True)
        is_same = state.training == cell.training
        if not (is_same and (folder / RECIPE).exists()):  # a run resumes with its own recipe
            write_json(folder / TRAINING, cell.recipe.dump())
        write_json(folder / EVALUATION, cell.recipe.dump())
        state.training = cell.training
        state.evaluation = cell.evaluation
        state.state = "running"
        state.error = ""
        state.interlace = VERSION
        state.commit = commit()
        state.model_key = model_key(cell)
        self.write_state(cell, state)
        return state

    def is_finished(self, cell: GridCell) -> bool:
        """Return whether a cell is finished under the study's current settings, and with the current checkpoint."""
        state = self.state(cell)
        is_current = (
            state.training == cell.training
            and state.evaluation == cell.evaluation
            and model_key(cell) in {"", state.model_key}
        )
        has_model = bool(cell.model) or self.is_trained(cell.name)
        has_scores = (self.cell(cell.name) / SCORES).is_file()
        return state.state == "finished" and is_current and has_model and has_scores

    def status(self, cell: GridCell) -> str:
        """Return the state of a cell, or `changed` if it finished under settings that the study no longer has."""
        state = self.state(cell).state
        if state == "finished" and not self.is_finished(cell):
            return "changed"
        return state

    def is_trained(self, name: str) -> bool:
        """Return whether a cell's run has a finished model."""
        return bool(read_run(self.cell(name)).get("finished"))

    def finished_runs(self, cells: Sequence[GridCell]) -> list[Path]:
        """Return the folders of finished cells."""
        return [self.cell(cell.name) for cell in cells if self.is_finished(cell)]

    def collect(self, study: Study, cells: Sequence[GridCell]) -> ScoreTable:
        """Return the scores of finished cells, of the tasks, settings, languages and seeds that the study has now."""
        rows = []
        for cell in cells:
            if self.is_finished(cell):
                rows += list(self._scores(study, cell))
        return ScoreTable(rows)

    def _scores(self, study: Study, cell: GridCell) -> ScoreTable:
        folder = self.cell(cell.name)
        run = read_run(folder)
        requested = {task: requested_items(cell.recipe, task) for task in cell.tasks}
        entries = []
        for entry in read_json(folder / SCORES, list[ScoreEntry], []):
            item = (entry.get("setting") or ZERO_SHOT, entry["language"])
            is_requested = item in requested.get(entry["task"], ())
            if is_requested and entry.get("seed", 0) < cell.fine_tuning_seeds:
                entries.append(entry)
        return table_of_entries(
            entries,
            str(folder / SCORES),
            tokens=run.get("tokens"),
            steps=run.get("steps"),
            system=cell.system,
            label=cell.label,
            axes=cell.axes,
            study=study.name,
            cell=cell.name,
            model=cell.model or "",
            run=folder.relative_to(self.path).as_posix(),
            pretrained=cell.seed is not None,
            pretraining_seed=cell.seed,
        )

    def write_scores(self, table: ScoreTable) -> None:
        """Write `results.json`."""
        write_json(self.path / RESULTS, table.to_json())


def model_key(cell: GridCell) -> str:
    """Return a hash of the files of a cell's checkpoint; "" if it has none, or one of the hub."""
    return folder_key(user_path(cell.model)) if cell.model else ""


def requested_items(recipe: Recipe, name: str) -> set[Item]:
    """Return the (setting, language) pairs that a recipe's task is scored in."""
    runs = runs_of_task(
        resolve_task(recipe, name),
        recipe.evaluate.source,
        recipe.targets,
    )
    return {item for run in runs for item in run.items}
