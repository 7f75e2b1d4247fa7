"""The lineage of a model: the runs and public checkpoints that it was trained from; and how two recipes differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import InterlaceError
from interlace.experiments.recipe import Recipe
from interlace.training.run_folder import RECIPE, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOT_TRAINED_BY = ("about", "published", "changes", "evaluate")


@dataclass(frozen=True)
class Lineage:
    """recipes: of the run and of the runs that it continues. unknown: starting points of unknown training text."""

    recipes: list[Recipe]
    unknown: list[str]

    @classmethod
    def of(cls, recipe: Recipe) -> Lineage:
        """Follow the starting points of encoder, decoder and embeddings through run folders."""
        recipes, unknown = [recipe], list[str]()
        for each in recipes:  # grows inside the loop
            for start in _starts(each):
                before = _recipe_of(start)
                if before is None:
                    unknown.append(start)
                elif before not in recipes:
                    recipes.append(before)
        return cls(recipes, list(dict.fromkeys(unknown)))


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return `key was old, is new` for each setting of training in which two recipes differ."""
    before, after = (
        {key: value for key, value in _leaves(recipe) if key.partition(".")[0] not in _NOT_TRAINED_BY}
        for recipe in (old, new)
    )
    return [
        f"{key} was {before.get(key)!r}, is {after.get(key)!r}"
        for key in dict.fromkeys([*before, *after])
        if before.get(key) != after.get(key)
    ]


def _starts(recipe: Recipe) -> Iterator[str]:
    """Yield the folders and hub names that weights were taken from."""
    decoder = recipe.model.decoder
    for settings in (recipe.model, decoder) if decoder else (recipe.model,):
        if settings.start is not None and settings.take != "none":
            yield settings.start
    if recipe.model.vectors is not None:
        yield recipe.model.vectors


def _recipe_of(start: str) -> Recipe | None:
    """Return the recipe of the run that a model or vectors belong to; None if there is no readable one."""
    path = Path(start).expanduser().resolve().parent / RECIPE
    try:
        found = read_json(path) if Path(start).expanduser().is_dir() else None
        return None if found is None else Recipe.read(found, str(path))
    except InterlaceError:
        return None


def _leaves(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _leaves(value, f"{path}.{key}" if path else key)
    else:
        yield path, data
