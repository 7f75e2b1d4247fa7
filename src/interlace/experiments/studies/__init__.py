"""Studies: grids of experiments as data. TOML files live in the folders beside this module.

A study says which systems it compares, under which settings and seeds, and by what they are measured. It is run cell by
cell, each in a run folder of its own, and ends in tidy results, tests and tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, field_validator

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.names import Name
from interlace.core.settings import Settings
from interlace.core.store import ConfigStore, change

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STUDIES", "Study", "System", "read_study"]

STUDIES = ConfigStore("study", Path(__file__).parent, whole=("axes",))


class System(Settings):
    """A row of the study's table: a recipe with changes, or a checkpoint that is only evaluated."""

    recipe: str = Field(description="A shipped recipe, or a file under the study's own folder.")
    label: str = Field("", description="What tables call it; none: its key.")
    model: str | None = Field(
        None,
        min_length=1,
        description="A checkpoint's folder, a finished run or a hub name that is evaluated as it is, on the recipe's "
        "tasks. `{seed}` in it is filled in, for a folder a seed.",
    )
    set: dict[str, Any] = Field({}, description="Changes to the recipe: tables as a recipe has them.")


class StudyEvaluation(Settings):
    """What every cell is measured by."""

    recipe: str | None = Field(
        None, description="A recipe whose [evaluate] section takes the place of the systems' own."
    )
    tasks: list[str] = Field([], description="Names of tasks, with the recipes' settings; none: all of the recipe's.")
    seeds: int | None = Field(None, ge=1, description="Fine-tuning seeds; none: as many as the recipe says.")
    metrics: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        {}, description="Task -> which of its scores are compared and shown, in this order; none: the main one."
    )


class Study(Settings):
    """A grid of experiments."""

    name: str = Field(description="What reports call the study.")
    about: str = Field("", description="What the study asks, in a sentence.")
    systems: dict[Name, System] = Field(
        min_length=1, description="What is compared, by a short name, in the order told."
    )
    baseline: str = Field("", description="The system that others are tested against; none: the first.")
    set: dict[str, Any] = Field({}, description="Changes to the recipes of all systems, before their own.")
    axes: dict[Name, list[Any]] = Field(
        {}, description="Key of the recipes, such as 'train.steps', -> values; every system takes every combination."
    )
    seeds: list[int] = Field([0], min_length=1, description="Pre-training seeds (a recipe's `seed`); a run each.")
    evaluate: StudyEvaluation = Field(default_factory=StudyEvaluation, description="What every cell is measured by.")

    @field_validator("axes", mode="before")
    @classmethod
    def _flatten(cls, axes: Any) -> Any:
        """`train.steps = [1, 2]` is a table in a table to TOML; it means the same as `"train.steps" = [1, 2]`."""
        return dict(_leaves(axes)) if isinstance(axes, dict) else axes

    @field_validator("seeds")
    @classmethod
    def _each_once(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) < len(seeds) or min(seeds) < 0:
            message = f"each seed stands once and is 0 or more, found {seeds}"
            raise ValueError(message)
        return seeds

    def model_post_init(self, _context: Any) -> None:
        """The baseline must exist; axes must differ in something."""
        if self.baseline and self.baseline not in self.systems:
            message = f"baseline: there is no system {self.baseline!r}{did_you_mean(self.baseline, self.systems)}"
            raise ValueError(message)
        labels = [self.label(name) for name in self.systems]
        if twice := [label for label in labels if labels.count(label) > 1]:
            message = f"systems: two of them have the label {twice[0]!r}"
            raise ValueError(message)
        for key, values in self.axes.items():
            if key == "seed" or key.startswith("seed."):
                message = "axes.seed: seeds stand in `seeds`"
                raise ValueError(message)
            if not values or any(value in values[:place] for place, value in enumerate(values)):
                message = f"axes.{key}: expected values that differ, found {values}"
                raise ValueError(message)

    @property
    def reference(self) -> str:
        """The system that others are tested against."""
        return self.baseline or next(iter(self.systems))

    def label(self, system: str) -> str:
        """What tables call a system."""
        return self.systems[system].label or system


def _leaves(data: dict[str, Any], path: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in data.items():
        found += _leaves(value, f"{path}{key}.") if isinstance(value, dict) else [(path + key, value)]
    return found


def read_study(name: str, changes: Mapping[str, str] | None = None) -> tuple[Study, Path]:
    """A study from a TOML file or a shipped name such as `tiny/quick`, with changes, and the folder it stands in.

    Raises:
        DataError: no such file; SettingsError: it cannot be read, or a key or value is wrong.
    """
    path = STUDIES.find(name).path
    data = STUDIES.read(name)
    for key, value in (changes or {}).items():
        if (first := key.split(".")[0]) not in Study.model_fields:
            hint = did_you_mean(first, Study.model_fields)
            raise SettingsError(
                f"--set {key}: a study has no key {first!r}{hint}; of all its recipes: --set set.{key}=.."
            )
        if first == "axes":  # values of a key with dots in it
            data.setdefault("axes", {})
            data["axes"] = dict(_leaves(data["axes"]))
            parsed: dict[str, Any] = {}
            change(parsed, "value", value)
            data["axes"][key.removeprefix("axes.")] = parsed["value"]
        else:
            change(data, key, value)
    return Study.read(data, str(path)), path.parent
