"""Studies: grids of experiments as TOML files, in the folders next to this module.

A study names the systems to compare, their settings and seeds, and the tasks that evaluate them. Each cell of the grid
is a run folder; the results are one table of scores, with significance tests and tables made from it.
"""

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.json_files import JsonObject
from interlace.core.names import Name
from interlace.core.settings import Settings
from interlace.core.store import ConfigStore, change, leaves, merged, put
from interlace.experiments.recipe import PATHS, RECIPES, Recipe, resolve_task

STUDIES = ConfigStore(
    "study",
    Path(__file__).parent,
    whole=("axes",),
    paths=(*PATHS, ".model"),
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
    set: JsonObject = Field({}, description="Changes to the recipe, in its own tables.")
    seeds: list[int] | None = Field(
        None, description="Those of the study's seeds that it runs with; default: all."
    )


class StudyEvaluation(Settings):
    """How every cell is evaluated."""

    recipe: str | None = Field(
        None, description="A recipe whose [evaluate] section replaces the one of each system."
    )
    tasks: list[str] = Field(
        [],
        description="Names of tasks, with the recipes' settings; default: all of the recipe.",
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
    set: JsonObject = Field(
        {}, description="Changes to the recipes of all systems, before their own."
    )
    axes: dict[Name, Annotated[list[Any], Field(min_length=1)]] = Field(
        {},
        description="Recipe key, such as 'train.steps' -> values; every system runs with every combination.",
    )
    seeds: list[Annotated[int, Field(ge=0)]] = Field(
        [0], min_length=1, description="Pre-training seeds, one run each."
    )
    evaluate: StudyEvaluation = Field(
        default_factory=StudyEvaluation, description="How every cell is evaluated."
    )

    @field_validator("axes", mode="before")
    @classmethod
    def _flatten(cls, axes: Any) -> Any:
        """Read `train.steps = [1, 2]`, nested tables in TOML, like `"train.steps" = [1, 2]`."""
        return dict(leaves(axes)) if isinstance(axes, dict) else axes

    def model_post_init(self, _context: Any) -> None:
        """Check the baseline and the axes."""
        if self.baseline and self.baseline not in self.systems:
            raise ValueError(
                f"baseline: no system {self.baseline!r}{did_you_mean(self.baseline, self.systems)}"
            )
        if "seed" in self.axes:
            raise ValueError("axes.seed: set `seeds` instead")

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
        change(data, key, value)
    return Study.read(STUDIES.located(data, Path()), str(path)), path.parent


@dataclass(frozen=True)
class GridCell:
    """One run of a study.

    axes: its values by key; None for settings that a checkpoint does not have. seed: of pre-training; None for a
    checkpoint that is the same for all seeds. model: the checkpoint if nothing is pre-trained.
    """

    name: str
    system: str
    label: str
    axes: JsonObject
    seed: int | None
    recipe: Recipe
    tasks: tuple[str, ...]
    fine_tuning_seeds: int
    model: str | None = None

    @cached_property
    def training(self) -> JsonObject:
        """The settings that pre-training depends on, or the checkpoint."""
        if self.model:
            return {"model": self.model}
        settings = self.recipe.dump()
        for key in ("about", "published", "changes", "name", "evaluate"):
            del settings[key]
        return settings

    @cached_property
    def evaluation(self) -> JsonObject:
        """The settings that the evaluation depends on."""
        return {
            "evaluate": self.recipe.evaluate.dump(),
            "tasks": list(self.tasks),
            "seeds": self.fine_tuning_seeds,
        }


def cells_of(study: Study, folder: Path) -> list[GridCell]:
    """Return all cells, seed by seed, so that systems can be compared before the last run is done.

    folder: of the study's file, where its recipes may be too. Impossible cells raise the errors of their recipes.
    """
    cells: dict[str, GridCell] = {}
    for seed, values in product(study.seeds, product(*study.axes.values())):
        axes = dict(zip(study.axes, values, strict=True))
        for name, system in study.systems.items():
            if system.seeds is None or seed in system.seeds:
                cell = _cell(
                    study,
                    name,
                    axes,
                    seed,
                    folder,
                )
                if cells.setdefault(cell.name, cell) != cell:
                    raise SettingsError(
                        f"two cells have the name {cell.name!r}: rename systems or axis values"
                    )
    return list(cells.values())


def matching(cells: Sequence[GridCell], pattern: str) -> list[GridCell]:
    """Return the cells whose name or system matches a shell pattern."""
    matches = [
        cell
        for cell in cells
        if fnmatchcase(cell.name, pattern) or fnmatchcase(cell.system, pattern)
    ]
    if not matches:
        hint = did_you_mean(pattern, [cell.name for cell in cells])
        raise SettingsError(f"--only {pattern!r} matches no cell{hint}")
    return matches


def _cell(study: Study, name: str, axes: JsonObject, study_seed: int, folder: Path) -> GridCell:
    system = study.systems[name]
    seed: int | None = study_seed
    model = system.model
    if model is not None:
        if "{seed}" not in model:
            seed = None
        model = model.replace("{seed}", str(seed))
        axes = {
            key: value if key.startswith("evaluate.") else None for key, value in axes.items()
        }
    data = _recipe_data(study, system, folder)
    parts = [name]
    labels = [study.label(name)]
    for key, value in axes.items():
        if value is not None:
            put(data, key, copy.deepcopy(value))
            tail = _tail(key, axes)
            parts.append(f"{tail}={_slug(value)}")
            labels.append(f"{tail} {value}")
    if seed is not None:
        parts.append(f"seed={seed}")
    label = ", ".join(labels)
    data |= {"name": label, "seed": seed or 0}
    recipe = Recipe.read(data, f"{name} ({RECIPES.find(system.recipe, folder)})")
    recipe.check_tasks()
    return GridCell(
        name=",".join(parts),
        system=name,
        label=label,
        axes=axes,
        seed=seed,
        recipe=recipe,
        tasks=_tasks(study, name, recipe),
        fine_tuning_seeds=study.evaluate.seeds or recipe.evaluate.seeds,
        model=model,
    )


def _recipe_data(study: Study, system: StudySystem, folder: Path) -> JsonObject:
    """Return the recipe of a system with the changes of the study and its own; the caller may change the data."""
    data = RECIPES.located(RECIPES.read(system.recipe, folder), Path())
    if study.evaluate.recipe:
        evaluation = RECIPES.read(study.evaluate.recipe, folder)
        data["evaluate"] = evaluation.get("evaluate", {})
    return copy.deepcopy(merged(merged(data, study.set), system.set))


def _tasks(study: Study, system: str, recipe: Recipe) -> tuple[str, ...]:
    """Return the tasks of a system; check that there are such tasks."""
    names = study.evaluate.tasks or list(recipe.evaluate.tasks)
    if not names:
        raise SettingsError(
            f"{study.name}: no tasks for {system!r}: name some in evaluate.tasks"
        )
    tasks = {name: resolve_task(recipe, name) for name in names}
    for name, metrics in study.evaluate.metrics.items():
        if name not in names:
            raise SettingsError(
                f"evaluate.metrics: task {name!r} is not evaluated{did_you_mean(name, names)}"
            )
        for metric in metrics:
            tasks[name].check_metric(metric)
    return tuple(names)


def _tail(key: str, keys: Iterable[str]) -> str:
    """Shorten a key to the last parts that distinguish it from the other keys."""
    parts = key.split(".")
    for size in range(1, len(parts)):
        tail = ".".join(parts[-size:])
        if sum(f".{name}".endswith(f".{tail}") for name in keys) == 1:
            return tail
    return key


def _slug(value: Any) -> str:
    """Return a value as part of a folder name: unchanged if it is plain, else its plain characters and a hash."""
    text = str(value)
    if re.fullmatch(r"[A-Za-z0-9_.+-]{1,40}", text):
        return text
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "-", text).strip("-.")[:24]
    return f"{plain}-{blake2b(text.encode(), digest_size=3).hexdigest()}"
