"""What a cell's folder says of the cell: what was asked for, and what has come of it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace import __version__
from interlace.core.errors import RunError
from interlace.core.files import atomic
from interlace.core.names import file_in
from interlace.experiments.score_store import content_keys
from interlace.training.run_folder import EVALUATION, RECIPE, RUN, SCORES, VECTORS, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.experiments.studies.cells import Cell

CELL, TRAINING, LOG = "cell.json", "pretrain.json", "log.txt"
CELLS, ASIDE, STUDY = "cells", "aside", "study.json"


@dataclass
class State:
    """`cell.json`.

    state: `waiting`, `running`, `stopped`, `failed` or `finished`; error: the last line of the log of what failed.
    seconds: by stage, all attempts together. scored: what its model and files held.
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


class Places:
    """Where things stand in a study's folder."""

    def __init__(self, into: Path) -> None:
        self.into = into

    def cell(self, name: str) -> Path:
        """A cell's run folder."""
        return file_in(self.into / CELLS, name)

    def state(self, cell: Cell) -> State:
        """What has come of a cell; one that was never begun is waiting.

        Raises:
            RunError: its file is damaged.
        """
        found = read_json(path := self.cell(cell.name) / CELL)
        if found is None:
            return State()
        try:
            return State(**{key: value for key, value in found.items() if key in State.__dataclass_fields__})
        except (AttributeError, TypeError) as error:
            raise RunError(f"{path}: damaged: {error}; remove the folder, or run with --archive") from error

    def keep(self, cell: Cell, state: State) -> None:
        """Write what has come of a cell."""
        told = {"cell": cell.name, "system": cell.system, "label": cell.label, "axes": cell.axes, "seed": cell.seed}
        also = {"model": cell.model, "origin": cell.origin}
        write_json(self.cell(cell.name) / CELL, {**told, **also, **vars(state)})

    def is_finished(self, cell: Cell) -> bool:
        """Whether nothing is left to do, under the settings that the study has now.

        Scores of another model, or of files that have changed since, are made again; of what is gone, they stay.
        """
        state = self.state(cell)
        asked = (state.training, state.evaluation) == (cell.training, cell.evaluation)
        has_model = bool(cell.model or cell.origin) or self.is_trained(cell.name)
        if state.state != "finished" or not asked or not has_model or not (self.cell(cell.name) / SCORES).is_file():
            return False
        return all(key in {"", state.scored.get(what, key)} for what, key in self.scored(cell).items())

    def scored(self, cell: Cell) -> dict[str, str]:
        """What the model and the files hold that a cell's scores rest on; "" where nobody can tell."""
        kind = VECTORS if cell.recipe.embeddings else "model"
        return content_keys(cell.model or str(self.home(cell) / kind), cell.recipe, cell.tasks)

    def home(self, cell: Cell) -> Path:
        """The run whose model a cell scores, where it is pre-trained here: its own, or that of its origin."""
        return self.cell(cell.origin if cell.origin and not self.is_trained(cell.name) else cell.name)

    def standing(self, cell: Cell) -> str:
        """`waiting`, `running`, `stopped`, `failed`, `finished`, or `changed` where the study says otherwise now."""
        state = self.state(cell)
        if state.state != "finished":
            return state.state
        return "finished" if self.is_finished(cell) else "changed"

    def is_trained(self, name: str) -> bool:
        """Whether a cell's run has a model."""
        return bool((read_json(self.cell(name) / RUN) or {}).get("finished"))

    def changed(self, cells: Sequence[Cell]) -> dict[str, list[str]]:
        """By name, how the pre-training of cells that were begun differs from what the study says now.

        Another evaluation is no such change: it is made anew on the model that is there. What came to no checkpoint
        has nothing to lose.
        """
        found = {}
        for cell in cells:
            training = self.state(cell).training
            if training and training != cell.training and self._has_something(cell.name):
                from interlace.experiments.lineage import differences  # brings torch

                found[cell.name] = differences(training, cell.training)
        return found

    def _has_something(self, name: str) -> bool:
        folder = self.cell(name)
        return any((folder / "checkpoints").glob("*")) or any((folder / kept).exists() for kept in (RUN, SCORES))

    def put_aside(self, name: str) -> Path:
        """Move a cell's folder out of the way, where no result is read from."""
        number = 0
        while (place := file_in(self.into / ASIDE, f"{name}.{number}")).exists():
            number += 1
        place.parent.mkdir(parents=True, exist_ok=True)
        self.cell(name).rename(place)
        return place

    def claim(self, cell: Cell) -> State:
        """Write what is asked of a cell into its folder, and say what has come of it so far."""
        folder, state = self.cell(cell.name), self.state(cell)
        folder.mkdir(parents=True, exist_ok=True)
        if state.training != cell.training or not (folder / RECIPE).exists():  # a run goes on with what it began with
            write_json(folder / TRAINING, cell.recipe.dump())
        write_json(folder / EVALUATION, cell.recipe.dump())
        state.training, state.evaluation = cell.training, cell.evaluation
        state.state, state.error = "running", ""
        state.interlace, state.commit = __version__, commit()
        self.keep(cell, state)
        return state


def write_text(path: Path, text: str) -> None:
    """Write atomically."""
    with atomic(path) as partial:
        partial.write_text(text, encoding="utf-8")


@cache
def commit() -> str:
    """The commit that the package stands at, with `-dirty` after changes; empty where it is installed otherwise."""
    package = Path(__file__).resolve().parents[2]

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=package, capture_output=True, text=True, check=False)  # noqa: S603, S607
        return done.stdout.strip() if not done.returncode else ""

    try:
        own = bool(git("ls-files", "--", "__init__.py"))  # a checkout that only holds the environment is not ours
        return git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*") if own else ""
    except OSError:  # no git here
        return ""
