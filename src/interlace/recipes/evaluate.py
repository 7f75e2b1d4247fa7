"""Score a finished run, or any checkpoint, on the tasks of a recipe: a cell a task and seed, kept as it is done."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from interlace.data.vocab import Vocab
from interlace.errors import DataError, RunError
from interlace.models.build import load
from interlace.recipes import Recipe
from interlace.recipes.prepare import data_root
from interlace.train.device import accelerator_for
from interlace.train.folder import RECIPE, RUN, SCORES, locked, read_json, write_json
from interlace.train.tune import Cell, score_cell
from interlace.world import world_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from interlace.tasks import Task
    from interlace.train.loop import Step
    from interlace.train.tune import Score

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Target:
    """What is scored: a model folder (or hub name), the recipe that says on what, and where scores go."""

    model: str
    recipe: Recipe
    into: Path

    def changed(self, recipe: Recipe) -> Target:
        """The same model under another recipe."""
        return replace(self, recipe=recipe)


def target_of(path: str, recipe: Recipe | None = None, into: Path | None = None) -> Target:
    """A finished run with its own recipe, or a plain checkpoint with the one given.

    Raises:
        RunError: the run is not finished; DataError: a checkpoint needs a recipe and a place for its scores.
    """
    from pathlib import Path

    folder = Path(path)
    if (found := read_json(folder / RECIPE)) is not None:
        if not (read_json(folder / RUN) or {}).get("finished"):
            raise RunError(f"{folder}: this run is not finished; start it again with `interlace pretrain`")
        return Target(str(folder / "model"), recipe or Recipe.read(found, str(folder / RECIPE)), into or folder)
    if recipe is None or into is None:
        raise DataError(f"{path}: no run folder; for a plain checkpoint give --recipe (its tasks) and --into (scores)")
    return Target(path, recipe, into)


def evaluate(
    target: Target,
    on: Sequence[str] = (),
    seeds: int | None = None,
    watch: Callable[[str, int], Callable[[Step], None]] = lambda _name, _seed: lambda _step: None,
) -> list[Score]:
    """All rows of the tasks asked for (none: the recipe's); cells that are in `scores.json` are not run again."""
    settings = target.recipe.evaluate
    names = list(on) or list(settings.tasks)
    if not names:
        raise DataError(f"recipe {target.recipe.name!r} names no tasks; choose some with --on")
    tasks = {name: settings.task(name) for name in names}
    with locked(target.into):
        rows: list[Score] = read_json(target.into / SCORES, [])
        for name, task in tasks.items():
            for seed in range((seeds or settings.seeds) if task.learner() else 1):
                key = _key(target, name, task, seed)
                if any(row.get("key") == key for row in rows):
                    continue
                new = _scored(target, name, task, seed, watch(name, seed))
                rows = [row for row in rows if (row["task"], row["seed"]) != (name, seed)]
                rows += [{**row, "key": key} for row in new]
                write_json(target.into / SCORES, rows)
    return [row for row in rows if row["task"] in names]


def _scored(target: Target, name: str, task: Task, seed: int, watch: Callable[[Step], None]) -> list[Score]:
    recipe = target.recipe
    log.info("%s: scoring %s, seed %d", recipe.name, name, seed)
    cell = Cell(
        name=name,
        task=task,
        load=partial(load, target.model),
        vocab=Vocab.load(target.model),
        root=data_root(recipe),
        source=recipe.evaluate.source,
        targets=recipe.evaluate.targets
        or [language for language in recipe.languages if language != recipe.evaluate.source],
        seed=seed,
        accelerator=accelerator_for(recipe.train.precision, recipe.train.threads),
        watch=watch,
    )
    return score_cell(cell)


def _key(target: Target, name: str, task: Task, seed: int) -> str:
    """Names a cell by all that its scores depend on."""
    settings = target.recipe.evaluate
    content: dict[str, Any] = {
        "task": name,
        "settings": task.dump(),
        "seed": seed,
        "source": settings.source,
        "targets": settings.targets or target.recipe.languages,
        "data": target.recipe.data_root or [target.recipe.dump()["world"], world_version()],
        "precision": target.recipe.train.precision,
    }
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
