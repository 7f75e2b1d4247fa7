"""Studies: grids of experiments as TOML files, in the folders next to this module.

A study names the systems to compare, their settings and seeds, and the tasks that evaluate them. Each cell of the grid
is a run folder; the results are one table of scores, with significance tests and tables made from it.
"""

import copy
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from interlace.core.errors import InterlaceError, SettingsError, did_you_mean
from interlace.core.names import Name
from interlace.core.settings import Settings
from interlace.core.store import ConfigStore, change, leaves, merged, put
from interlace.experiments.recipe import CHECKPOINTS, RECIPES, Recipe
from interlace.scores import Score

STUDIES = ConfigStore(
    "study",
    Path(__file__).parent,
    whole=("axes",),
    folders=("data_root",),
    checkpoints=(*CHECKPOINTS, "model"),
)


class StudySystem(Settings):
    """A row of the study's table: a recipe with changes, or a checkpoint that is only evaluated."""

    recipe: str = Field(description="A shipped recipe, or a file under the study's own folder.")
    label: str = Field("", description="Name in tables; default: its key.")
    model: str | None = Field(
        None,
        min_length=1,
        description="A checkpoint's folder, a finished run or a hub name that is evaluated without pre-training, on "
        "the recipe's tasks. `{seed}` is replaced by the pre-training seed.",
    )
    set: dict[str, Any] = Field({}, description="Changes to the recipe, in its own tables.")
    seeds: list[int] | None = Field(
        None, description="Those of the study's seeds that it runs with; default: all."
    )


class StudyEvaluation(Settings):
    """How every cell is evaluated."""

    recipe: str | None = Field(
        None, description="A recipe whose [evaluate] section replaces the one of each system."
    )
    tasks: list[str] = Field(
        [], description="Names of tasks, with the recipes' settings; default: all of the recipe."
    )
    seeds: int | None = Field(
        None, ge=1, le=1000, description="Number of fine-tuning seeds; default: the recipe's."
    )
    metrics: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        {},
        description="Task -> its metrics to compare and show, in this order; default: the main metric.",
    )


class Study(Settings):
    """A grid of experiments."""

    name: str = Field(description="Name in tables and reports.")
    about: str = Field("", description="The research question, a sentence.")
    systems: dict[Name, StudySystem] = Field(
        min_length=1, description="The systems to compare by a short name, in order."
    )
    baseline: str = Field(
        "", description="The system that others are tested against; default: the first."
    )
    set: dict[str, Any] = Field(
        {}, description="Changes to the recipes of all systems, before their own."
    )
    axes: dict[Name, list[Any]] = Field(
        {},
        description="Recipe key, such as 'train.steps' -> values; every system runs with every combination.",
    )
    seeds: list[int] = Field([0], min_length=1, description="Pre-training seeds, one run each.")
    evaluate: StudyEvaluation = Field(
        default_factory=StudyEvaluation, description="How every cell is evaluated."
    )

    @field_validator("axes", mode="before")
    @classmethod
    def _flatten(cls, axes: Any) -> Any:
        """Read `train.steps = [1, 2]`, nested tables in TOML, like `"train.steps" = [1, 2]`."""
        return dict(leaves(axes)) if isinstance(axes, dict) else axes

    @field_validator("seeds")
    @classmethod
    def _each_once(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) < len(seeds) or min(seeds) < 0:
            raise ValueError(f"expected different seeds of 0 or more, found {seeds}")
        return seeds

    def model_post_init(self, _context: Any) -> None:
        """Check the baseline, the labels and the axes."""
        if self.baseline and self.baseline not in self.systems:
            raise ValueError(
                f"baseline: no system {self.baseline!r}{did_you_mean(self.baseline, self.systems)}"
            )
        labels = [self.label(name) for name in self.systems]
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise ValueError(f"systems: two have the label {twice[0]!r}")
        for key, values in self.axes.items():
            if key == "seed" or key.startswith("seed."):
                raise ValueError("axes.seed: set `seeds` instead")
            if key in Score.__dataclass_fields__:  # results could not tell the axis from the column
                raise ValueError(
                    f"axes.{key}: a column of the results; name keys inside, such as '{key}.start'"
                )
            if not values or any(value in values[:place] for place, value in enumerate(values)):
                raise ValueError(f"axes.{key}: expected different values, found {values}")

    @property
    def reference(self) -> str:
        """The system that others are tested against."""
        return self.baseline or next(iter(self.systems))

    def label(self, system: str) -> str:
        """Return the name of a system in tables."""
        return self.systems[system].label or system


def read_study(name: str, changes: Mapping[str, str] | None = None) -> tuple[Study, Path]:
    """Return a study, from a file or a shipped name such as `tiny/quick`, with changes, and the folder of its file."""
    path = STUDIES.find(name).path
    data = STUDIES.located(STUDIES.read(name), Path())
    for key, value in (changes or {}).items():
        first = key.split(".")[0]
        if first not in Study.model_fields:
            hint = did_you_mean(first, Study.model_fields)
            raise SettingsError(
                f"--set {key}: a study has no key {first!r}{hint}; to change all recipes: --set set.{key}=.."
            )
        if first == "axes":  # its keys contain dots
            data.setdefault("axes", {})
            data["axes"] = dict(leaves(data["axes"]))
            parsed: dict[str, Any] = {}
            change(parsed, "value", value)
            data["axes"][key.removeprefix("axes.")] = parsed["value"]
        else:
            change(data, key, value)
    return Study.read(STUDIES.located(data, Path()), str(path)), path.parent


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

    folder: of the study's file, where its recipes may be too. Impossible cells raise the error of their recipe.
    """
    cells: dict[str, GridCell] = {}
    faults: dict[str, InterlaceError] = {}
    for seed, values in product(study.seeds, product(*study.axes.values())):
        for name, system in study.systems.items():
            if system.seeds is not None and seed not in system.seeds:
                continue
            axes = dict(zip(study.axes, values, strict=True))
            if system.model is not None:  # of a checkpoint only those of its evaluation
                axes = {
                    key: value if key.startswith("evaluate.") else None
                    for key, value in axes.items()
                }
            if system.model is None or "{seed}" in system.model:
                own_seed = seed
            else:
                own_seed = None
            try:
                cell = _cell(study, name, axes, own_seed, folder)
            except InterlaceError as error:
                faults.setdefault(str(error), error)
                continue
            other = cells.get(cell.name)
            if other is not None and other != cell:
                raise SettingsError(
                    f"two cells have the name {cell.name!r}: rename systems or axis values"
                )
            cells[cell.name] = cell
    if faults:
        one = next(iter(faults.values()))
        raise one if len(faults) == 1 else SettingsError("\n  ".join(["several errors:", *faults]))
    first: dict[str, str] = {}  # cells with the same pre-training share the run of the first
    found = []
    for cell in cells.values():
        origin = first.setdefault(json.dumps(cell.training, sort_keys=True), cell.name)
        found.append(cell if cell.model or origin == cell.name else replace(cell, origin=origin))
    return found


def matching(cells: Sequence[GridCell], pattern: str) -> list[GridCell]:
    """Return the cells whose name or system matches a shell pattern, and those whose models they evaluate."""
    fits = [
        cell
        for cell in cells
        if fnmatchcase(cell.name, pattern) or fnmatchcase(cell.system, pattern)
    ]
    if not fits:
        hint = did_you_mean(pattern, [cell.name for cell in cells])
        raise SettingsError(f"--only {pattern!r} matches no cell{hint}")
    wanted = {cell.name for cell in fits} | {cell.origin for cell in fits}
    return [cell for cell in cells if cell.name in wanted]


def _cell(
    study: Study, system: str, axes: dict[str, Any], seed: int | None, folder: Path
) -> GridCell:
    settings = study.systems[system]
    shown = {_tail(key, axes): value for key, value in axes.items() if value is not None}
    label = ", ".join([study.label(system), *(f"{key} {value}" for key, value in shown.items())])
    data = RECIPES.located(RECIPES.read(settings.recipe, folder), Path())
    if study.evaluate.recipe:
        data = {**data, "evaluate": RECIPES.read(study.evaluate.recipe, folder).get("evaluate", {})}
    data = copy.deepcopy(merged(merged(data, study.set), settings.set))
    for key, value in axes.items():
        if value is not None:
            put(data, key, copy.deepcopy(value))
    recipe = Recipe.read(
        {**data, "name": label, "seed": seed or 0},
        f"{system} ({RECIPES.find(settings.recipe, folder)})",
    )
    if settings.model:
        model = settings.model.replace("{seed}", str(seed))
    else:
        model = None
    tasks = _tasks(study, system, recipe)
    seeds = study.evaluate.seeds or recipe.evaluate.seeds
    parts = [system, *(f"{key}={_slug(value)}" for key, value in shown.items())]
    not_training = {"about", "published", "changes", "name", "evaluate"}
    training = {key: value for key, value in recipe.dump().items() if key not in not_training}
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
        training={"model": model} if model else training,
        evaluation={"evaluate": recipe.evaluate.dump(), "tasks": list(tasks), "seeds": seeds},
    )


def _tasks(study: Study, system: str, recipe: Recipe) -> tuple[str, ...]:
    names = study.evaluate.tasks or list(recipe.evaluate.tasks)
    if not names:
        raise SettingsError(f"{study.name}: no tasks for {system!r}: name some in evaluate.tasks")
    tasks = {name: recipe.evaluate.task(name) for name in names}
    for name, metrics in study.evaluate.metrics.items():
        if name not in names:
            raise SettingsError(
                f"evaluate.metrics: task {name!r} is not evaluated{did_you_mean(name, names)}"
            )
        task = tasks[name]
        known = (task.metric, *task.other_scales, *(task.same_scale or ()))
        for metric in metrics if task.same_scale is not None else ():
            if metric.split(", ")[0] not in known:  # a suffix behind a comma is not checked
                raise SettingsError(
                    f"evaluate.metrics: {name} has no metric {metric!r}{did_you_mean(metric, known)}"
                )
    return tuple(names)


def _tail(key: str, others: Iterable[str]) -> str:
    """Shorten a key to the last parts that distinguish it."""
    parts = key.split(".")
    tails = (".".join(parts[-size:]) for size in range(1, len(parts)))
    return next(
        (tail for tail in tails if sum(f".{other}".endswith(f".{tail}") for other in others) == 1),
        key,
    )


def _slug(value: Any) -> str:
    """Return a value as part of a folder name: unchanged if it is plain, else its plain characters and a hash."""
    text = str(value)
    if re.fullmatch(r"[A-Za-z0-9_.+-]{1,40}", text):
        return text
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "-", text).strip("-.")[:24]
    return f"{plain}-{blake2b(text.encode(), digest_size=3).hexdigest()}"
