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

    from interlace.experiments.studies import Study, StudySystem
    from interlace.tasks import Task

_NOT_TRAINING = {"about", "published", "changes", "name", "evaluate"}  # recipe keys
_FOLDER = ("/", "./", "../")  # no hub name begins so
_PLAIN = re.compile(r"[A-Za-z0-9_.+-]{1,40}")


@dataclass(frozen=True)
class GridCell:
    """One run of a study.

    axes: its values by key; None for settings that a checkpoint does not have. seed: of pre-training; None for a
    checkpoint that is the same for all seeds. model: the checkpoint if nothing is pre-trained. origin: another cell
    with the same pre-training, whose model this one evaluates.
    """

    name: str
    system: str
    label: str
    axes: dict[str, Any]
    seed: int | None
    recipe: Recipe
    tasks: tuple[str, ...]
    fine_tuning_seeds: int
    model: str | None = None
    origin: str | None = None
    training: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)


def cells_of(study: Study, folder: Path) -> list[GridCell]:
    """Return all cells, seed by seed, so that systems can be compared before the last run is done.

    folder: of the study's file, where its recipes may be too.

    Raises:
        SettingsError: a recipe is impossible with these settings or names no task, or two cells have the same name.
        DataError: a recipe is missing.
    """
    cells: dict[str, GridCell] = {}
    for seed, values in product(study.seeds, product(*study.axes.values())):
        for name, system in study.systems.items():
            axes = _axes_of(system, dict(zip(study.axes, values, strict=True)))
            cell = _cell(study, name, axes, _seed_of(system, seed), folder)
            if (other := cells.get(cell.name)) is not None and other != cell:
                raise SettingsError(f"two cells have the name {cell.name!r}: rename systems or axis values")
            cells[cell.name] = cell
    return _with_origins(list(cells.values()))


def matching(cells: Sequence[GridCell], pattern: str) -> list[GridCell]:
    """Return the cells whose name or system matches a shell pattern, and the cells whose models they evaluate.

    Raises:
        SettingsError: none matches.
    """
    fits = [cell for cell in cells if fnmatchcase(cell.name, pattern) or fnmatchcase(cell.system, pattern)]
    if not fits:
        hint = did_you_mean(pattern, [cell.name for cell in cells])
        raise SettingsError(f"--only {pattern!r} matches no cell{hint}")
    wanted = {cell.name for cell in fits} | {cell.origin for cell in fits}
    return [cell for cell in cells if cell.name in wanted]


def check_models(cells: Iterable[GridCell]) -> None:
    """Raise SettingsError for checkpoints that are missing folders; other names may be on the hub."""
    named = dict.fromkeys((cell.system, cell.model) for cell in cells if cell.model)
    missing = [(name, path) for name, path in named if path.startswith(_FOLDER) and not Path(path).is_dir()]
    if missing:
        lines = "".join(f"\n  systems.{name}.model: {path}" for name, path in missing)
        raise SettingsError(f"no such checkpoint:{lines}\nleave them out with --only, or make them first")


def _seed_of(system: StudySystem, seed: int) -> int | None:
    return seed if system.model is None or "{seed}" in system.model else None


def _axes_of(system: StudySystem, axes: dict[str, Any]) -> dict[str, Any]:
    """Return the axes; of a checkpoint only those of its evaluation."""
    if system.model is None:
        return axes
    return {key: value if key.startswith("evaluate.") else None for key, value in axes.items()}


def _cell(study: Study, system: str, axes: dict[str, Any], seed: int | None, folder: Path) -> GridCell:
    settings = study.systems[system]
    label = ", ".join([study.label(system), *_shown(axes)])
    data = RECIPES.read(settings.recipe, folder)
    if study.evaluate.recipe:
        data = {**data, "evaluate": RECIPES.read(study.evaluate.recipe, folder).get("evaluate", {})}
    data = copy.deepcopy(merged(merged(data, study.set), settings.set))
    for key, value in axes.items():
        if value is not None:
            put(data, key, copy.deepcopy(value))
    recipe = Recipe.read(
        {**data, "name": label, "seed": seed or 0}, f"{system} ({RECIPES.find(settings.recipe, folder)})"
    )
    model = settings.model.replace("{seed}", str(seed)) if settings.model else None
    tasks = _tasks(study, system, recipe)
    seeds = study.evaluate.seeds or recipe.evaluate.seeds
    parts = [system, *(f"{key}={_slug(value)}" for key, value in _short(axes).items() if value is not None)]
    return GridCell(
        name=",".join([*parts, *([f"seed={seed}"] if seed is not None else [])]),
        system=system,
        label=label,
        axes=axes,
        seed=seed,
        recipe=recipe,
        tasks=tasks,
        fine_tuning_seeds=seeds,
        model=model,
        training={"model": model} if model else _training(recipe),
        evaluation={"evaluate": recipe.evaluate.dump(), "tasks": list(tasks), "seeds": seeds},
    )


def _tasks(study: Study, system: str, recipe: Recipe) -> tuple[str, ...]:
    names = study.evaluate.tasks or list(recipe.evaluate.tasks)
    if not names:
        raise SettingsError(f"{study.name}: no tasks for {system!r}: name some in evaluate.tasks")
    tasks = {name: recipe.evaluate.task(name) for name in names}
    for name, metrics in study.evaluate.metrics.items():
        if name not in names:
            raise SettingsError(f"evaluate.metrics: task {name!r} is not evaluated{did_you_mean(name, names)}")
        _check_metrics(tasks[name], name, metrics)
    return tuple(names)


def _check_metrics(task: Task, name: str, metrics: Sequence[str]) -> None:
    """Raise SettingsError for metrics that the task does not have; a suffix behind a comma is not checked."""
    if task.same_scale is None:
        return
    known = (task.metric, *task.other_scales, *task.same_scale)
    for metric in metrics:
        if metric.split(", ")[0] not in known:
            raise SettingsError(f"evaluate.metrics: {name} has no metric {metric!r}{did_you_mean(metric, known)}")


def _training(recipe: Recipe) -> dict[str, Any]:
    """Return the settings that pre-training depends on."""
    return {key: value for key, value in recipe.dump().items() if key not in _NOT_TRAINING}


def _with_origins(cells: list[GridCell]) -> list[GridCell]:
    """Let several cells with the same pre-training share the run of the first."""
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
    """Shorten keys to the last parts that distinguish them."""
    return {_tail(key, axes): value for key, value in axes.items()}


def _tail(key: str, others: Iterable[str]) -> str:
    parts = key.split(".")
    tails = (".".join(parts[-size:]) for size in range(1, len(parts)))
    return next((tail for tail in tails if sum(f".{other}".endswith(f".{tail}") for other in others) == 1), key)


def _slug(value: Any) -> str:
    """Return a value as part of a folder name: unchanged if it is plain, else its plain characters and a hash."""
    text = str(value)
    if _PLAIN.fullmatch(text):
        return text
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "-", text).strip("-.")[:24]
    return f"{plain}-{blake2b(text.encode(), digest_size=3).hexdigest()}"
