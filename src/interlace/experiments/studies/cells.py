"""The cells of a study: a system under one combination of settings with one pre-training seed."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.store import merged, put
from interlace.experiments.recipe import RECIPES, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from interlace.experiments.studies import Study, System
    from interlace.tasks import Task

_TOLD = ("about", "published", "changes")  # to readers only
_FOLDER = ("/", "./", "../")  # what a checkpoint on the hub is never called
_PLAIN = re.compile(r"[A-Za-z0-9_.+-]{1,40}")


@dataclass(frozen=True)
class Cell:
    """One run of a study.

    axes: the values it has, by key; None where a value makes no difference to a checkpoint. seed: of pre-training;
    None for a checkpoint that is the same for all seeds. model: the checkpoint, where nothing is pre-trained.
    origin: another cell with the very same pre-training, whose model this one evaluates otherwise.
    """

    name: str
    system: str
    label: str
    axes: dict[str, Any]
    seed: int | None
    recipe: Recipe
    tasks: tuple[str, ...]
    tuning_seeds: int
    model: str | None = None
    origin: str | None = None
    training: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)


def cells_of(study: Study, folder: Path) -> list[Cell]:
    """All cells, seed by seed, so that systems can be compared long before the last run is done.

    folder: where the study's file stands; its recipes may stand there too.

    Raises:
        SettingsError: a recipe cannot be with these settings, names no task, or two cells have one name.
        DataError: a recipe is missing.
    """
    cells: dict[str, Cell] = {}
    for seed, values in product(study.seeds, product(*study.axes.values())):
        for name, system in study.systems.items():
            axes = _axes_of(system, dict(zip(study.axes, values, strict=True)))
            cell = _cell(study, name, axes, _seed_of(system, seed), folder)
            if (other := cells.get(cell.name)) is not None and other != cell:
                raise SettingsError(f"two cells are called {cell.name!r}: give systems or axis values other names")
            cells[cell.name] = cell
    return _with_origins(list(cells.values()))


def chosen(cells: Sequence[Cell], pattern: str) -> list[Cell]:
    """Cells whose name or system fits a shell pattern; what they evaluate of others comes along.

    Raises:
        SettingsError: none fits.
    """
    fits = [cell for cell in cells if fnmatchcase(cell.name, pattern) or fnmatchcase(cell.system, pattern)]
    if not fits:
        hint = did_you_mean(pattern, [cell.name for cell in cells])
        raise SettingsError(f"--only {pattern!r} fits no cell{hint}")
    wanted = {cell.name for cell in fits} | {cell.origin for cell in fits}
    return [cell for cell in cells if cell.name in wanted]


def must_have_models(cells: Iterable[Cell]) -> None:
    """Checkpoints that can only be folders must be there; others may have a name on the hub.

    Raises:
        SettingsError: they are not.
    """
    named = dict.fromkeys((cell.system, cell.model) for cell in cells if cell.model)
    missing = [(name, path) for name, path in named if path.startswith(_FOLDER) and not Path(path).is_dir()]
    if missing:
        told = "".join(f"\n  systems.{name}.model: {path}" for name, path in missing)
        raise SettingsError(f"no such checkpoint:{told}\nleave them out by --only, or make them first")


def _seed_of(system: System, seed: int) -> int | None:
    return seed if system.model is None or "{seed}" in system.model else None


def _axes_of(system: System, axes: dict[str, Any]) -> dict[str, Any]:
    """To a checkpoint only what concerns its evaluation makes a difference."""
    if system.model is None:
        return axes
    return {key: value if key.startswith("evaluate.") else None for key, value in axes.items()}


def _cell(study: Study, system: str, axes: dict[str, Any], seed: int | None, folder: Path) -> Cell:
    told = study.systems[system]
    label = ", ".join([study.label(system), *_shown(axes)])
    data = RECIPES.read(told.recipe, folder)
    if study.evaluate.recipe:
        data = {**data, "evaluate": RECIPES.read(study.evaluate.recipe, folder).get("evaluate", {})}
    data = copy.deepcopy(merged(merged(data, study.set), told.set))
    for key, value in axes.items():
        if value is not None:
            put(data, key, copy.deepcopy(value))
    recipe = Recipe.read({**data, "name": label, "seed": seed or 0}, f"{system} ({RECIPES.find(told.recipe, folder)})")
    model = told.model.replace("{seed}", str(seed)) if told.model else None
    tasks = _tasks(study, system, recipe)
    seeds = study.evaluate.seeds or recipe.evaluate.seeds
    parts = [system, *(f"{key}={_slug(value)}" for key, value in _short(axes).items() if value is not None)]
    return Cell(
        name=",".join([*parts, *([f"seed={seed}"] if seed is not None else [])]),
        system=system,
        label=label,
        axes=axes,
        seed=seed,
        recipe=recipe,
        tasks=tasks,
        tuning_seeds=seeds,
        model=model,
        training={"model": model} if model else _training(recipe),
        evaluation={"evaluate": recipe.evaluate.dump(), "tasks": list(tasks), "seeds": seeds},
    )


def _tasks(study: Study, system: str, recipe: Recipe) -> tuple[str, ...]:
    names = study.evaluate.tasks or list(recipe.evaluate.tasks)
    if not names:
        raise SettingsError(f"{study.name}: nothing measures {system!r}: name tasks in evaluate.tasks")
    tasks = {name: recipe.evaluate.task(name) for name in names}
    for name, metrics in study.evaluate.metrics.items():
        if name not in names:
            raise SettingsError(f"evaluate.metrics: nothing is measured by {name!r}{did_you_mean(name, names)}")
        _must_tell(tasks[name], name, metrics)
    return tuple(names)


def _must_tell(task: Task, name: str, metrics: Sequence[str]) -> None:
    """Refuse scores that the task does not tell; what stands behind a comma says of what, and a guest may tell any."""
    if task.same_scale is None:
        return
    known = (task.metric, *task.other_scales, *task.same_scale)
    for metric in metrics:
        if metric.split(", ")[0] not in known:
            raise SettingsError(f"evaluate.metrics: {name} has no score {metric!r}{did_you_mean(metric, known)}")


def _training(recipe: Recipe) -> dict[str, Any]:
    """All that a pre-training depends on, and nothing of what it is called or measured by."""
    return {key: value for key, value in recipe.dump().items() if key not in {*_TOLD, "name", "evaluate"}}


def _with_origins(cells: list[Cell]) -> list[Cell]:
    """A pre-training that several cells have in common is done once, by the first of them."""
    first: dict[str, str] = {}
    found = []
    for cell in cells:
        key = json.dumps(cell.training, sort_keys=True)
        origin = first.setdefault(key, cell.name)
        found.append(cell if cell.model or origin == cell.name else replace(cell, origin=origin))
    return found


def _shown(axes: dict[str, Any]) -> Iterator[str]:
    for key, value in _short(axes).items():
        if value is not None:
            yield f"{key} {value}"


def _short(axes: dict[str, Any]) -> dict[str, Any]:
    """Keys without the sections that no other axis needs to be told apart by."""
    return {_tail(key, axes): value for key, value in axes.items()}


def _tail(key: str, others: Iterable[str]) -> str:
    parts = key.split(".")
    tails = (".".join(parts[-size:]) for size in range(1, len(parts)))
    return next((tail for tail in tails if sum(f".{other}".endswith(f".{tail}") for other in others) == 1), key)


def _slug(value: Any) -> str:
    """A value as part of a folder's name: as it is where it can be, else what is plain in it and a hash."""
    text = str(value)
    if _PLAIN.fullmatch(text):
        return text
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "-", text).strip("-.")[:24]
    return f"{plain}-{blake2b(text.encode(), digest_size=3).hexdigest()}"
