"""What a cell asks of a task: the settings and languages that `interlace evaluate` scores it in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.train.selection import fits_of

if TYPE_CHECKING:
    from interlace.recipes import Recipe
    from interlace.train.selection import Item


def asked_of(recipe: Recipe, name: str) -> set[Item]:
    """(setting, language) that a recipe's task is scored in.

    The same as `train.tune.fits` says of a loaded model; it is said here without loading one, nor torch.
    """
    settings, task = recipe.evaluate, recipe.evaluate.task(name)
    targets = task.targets
    if targets is None:
        targets = settings.targets or [language for language in recipe.languages if language != settings.source]
        targets = [settings.source, *targets] if task.by_itself else targets
    if task.learner() is None:
        return {("zero-shot", language) for language in targets}
    return {item for fit in fits_of(task.settings, settings.source, targets) for item in fit.scored}
