"""Studies: grids of experiments as TOML files, in the folders next to this module.

A study names the systems to compare, their settings and seeds, and the tasks that evaluate them. Each cell of the grid
is a run folder; the results are one table of scores, with significance tests and tables made from it.
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

__all__ = ["STUDIES", "Study", "StudySystem", "read_study"]

STUDIES = ConfigStore("study", Path(__file__).parent, whole=("axes",))


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


class StudyEvaluation(Settings):
    """How every cell is evaluated."""

    recipe: str | None = Field(None, description="A recipe whose [evaluate] section replaces the one of each system.")
    tasks: list[str] = Field([], description="Names of tasks, with the recipes' settings; default: all of the recipe.")
    seeds: int | None = Field(None, ge=1, description="Number of fine-tuning seeds; default: as in the recipe.")
    metrics: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        {}, description="Task -> its metrics to compare and show, in this order; default: the main metric."
    )


class Study(Settings):
    """A grid of experiments."""

    name: str = Field(description="Name in tables and reports.")
    about: str = Field("", description="The research question, a sentence.")
    systems: dict[Name, StudySystem] = Field(
        min_length=1, description="The systems to compare by a short name, in order."
    )
    baseline: str = Field("", description="The system that others are tested against; default: the first.")
    set: dict[str, Any] = Field({}, description="Changes to the recipes of all systems, before their own.")
    axes: dict[Name, list[Any]] = Field(
        {}, description="Recipe key, such as 'train.steps' -> values; every system runs with every combination."
    )
    seeds: list[int] = Field([0], min_length=1, description="Pre-training seeds, one run each.")
    evaluate: StudyEvaluation = Field(default_factory=StudyEvaluation, description="How every cell is evaluated.")

    @field_validator("axes", mode="before")
    @classmethod
    def _flatten(cls, axes: Any) -> Any:
        """Read `train.steps = [1, 2]`, nested tables in TOML, like `"train.steps" = [1, 2]`."""
        return dict(_leaves(axes)) if isinstance(axes, dict) else axes

    @field_validator("seeds")
    @classmethod
    def _each_once(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) < len(seeds) or min(seeds) < 0:
            message = f"expected different seeds of 0 or more, found {seeds}"
            raise ValueError(message)
        return seeds

    def model_post_init(self, _context: Any) -> None:
        """Check the baseline, the labels and the axes."""
        if self.baseline and self.baseline not in self.systems:
            message = f"baseline: no system {self.baseline!r}{did_you_mean(self.baseline, self.systems)}"
            raise ValueError(message)
        labels = [self.label(name) for name in self.systems]
        if twice := [label for label in labels if labels.count(label) > 1]:
            message = f"systems: two have the label {twice[0]!r}"
            raise ValueError(message)
        for key, values in self.axes.items():
            if key == "seed" or key.startswith("seed."):
                message = "axes.seed: set `seeds` instead"
                raise ValueError(message)
            if not values or any(value in values[:place] for place, value in enumerate(values)):
                message = f"axes.{key}: expected different values, found {values}"
                raise ValueError(message)

    @property
    def reference(self) -> str:
        """The system that others are tested against."""
        return self.baseline or next(iter(self.systems))

    def label(self, system: str) -> str:
        """Return the name of a system in tables."""
        return self.systems[system].label or system


def _leaves(data: dict[str, Any], path: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in data.items():
        found += _leaves(value, f"{path}{key}.") if isinstance(value, dict) else [(path + key, value)]
    return found


def read_study(name: str, changes: Mapping[str, str] | None = None) -> tuple[Study, Path]:
    """Return a study, from a file or a shipped name such as `tiny/quick` and with changes, and the folder of its file.

    Raises:
        DataError: no such file. SettingsError: the file is damaged, or a key or value is wrong.
    """
    path = STUDIES.find(name).path
    data = STUDIES.read(name)
    for key, value in (changes or {}).items():
        if (first := key.split(".")[0]) not in Study.model_fields:
            hint = did_you_mean(first, Study.model_fields)
            raise SettingsError(
                f"--set {key}: a study has no key {first!r}{hint}; to change all recipes: --set set.{key}=.."
            )
        if first == "axes":  # its keys contain dots
            data.setdefault("axes", {})
            data["axes"] = dict(_leaves(data["axes"]))
            parsed: dict[str, Any] = {}
            change(parsed, "value", value)
            data["axes"][key.removeprefix("axes.")] = parsed["value"]
        else:
            change(data, key, value)
    return Study.read(data, str(path)), path.parent
