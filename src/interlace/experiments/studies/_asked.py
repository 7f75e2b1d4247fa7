"""What a cell asks of a task: the settings and languages that `interlace evaluate` scores it in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.training.selection import runs_of_task

if TYPE_CHECKING:
    from interlace.experiments.recipe import Recipe
    from interlace.training.selection import Item


def asked_of(recipe: Recipe, name: str) -> set[Item]:
    """(setting, language) that a recipe's task is scored in.

    Said without a model, nor torch.
    """
    fits = runs_of_task(recipe.task(name), recipe.evaluate.source, recipe.targets)
    return {item for fit in fits for item in fit.scored}
