"""What a run goes on from: its weights have read the text of the runs before it, and of a public model's who knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.errors import InterlaceError
from interlace.experiments import Recipe
from interlace.training.run_folder import RECIPE, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Ancestry:
    """recipes: of the run, and then of those it goes on from. unknown: starts of whose text nothing is known here."""

    recipes: list[Recipe]
    unknown: list[str]

    @classmethod
    def of(cls, recipe: Recipe) -> Ancestry:
        """Follow the starts of encoder, decoder and table as long as each is what a run folder holds."""
        recipes, unknown = [recipe], list[str]()
        for each in recipes:  # which grows
            for start in _starts(each):
                before = _recipe_of(start)
                if before is None:
                    unknown.append(start)
                elif before not in recipes:
                    recipes.append(before)
        return cls(recipes, list(dict.fromkeys(unknown)))


def _starts(recipe: Recipe) -> Iterator[str]:
    """Where weights were taken from."""
    decoder = recipe.model.decoder
    for settings in (recipe.model, decoder) if decoder else (recipe.model,):
        if settings.start is not None and settings.take != "none":
            yield settings.start
    if recipe.model.vectors is not None:
        yield recipe.model.vectors


def _recipe_of(start: str) -> Recipe | None:
    """The recipe of the run whose model or vectors these are; None where no run has them, or it cannot be read."""
    path = Path(start).expanduser().resolve().parent / RECIPE
    try:
        found = read_json(path) if Path(start).expanduser().is_dir() else None
        return None if found is None else Recipe.read(found, str(path))
    except InterlaceError:
        return None
