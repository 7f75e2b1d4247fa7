"""Whose a run's folder is: that of one recipe, finished or not."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from interlace.core.errors import InterlaceError, RunError
from interlace.experiments.lineage import differences
from interlace.experiments.recipe import Recipe
from interlace.training import checkpoint
from interlace.training.run_folder import METRICS, RECIPE, RUN, read_json, write_json

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

log = logging.getLogger(__name__)


def finished(into: Path) -> bool:
    """Whether the run came to its end."""
    return bool((read_json(into / RUN) or {}).get("finished"))


def claim(recipe: Recipe, into: Path) -> None:
    """Write the recipe, or find the same one there; one that came to no checkpoint has nothing to lose.

    Raises:
        RunError: the folder is no run's, or that of another recipe.
    """
    found = read_json(into / RECIPE)
    if found is None:
        if foreign := [name for name in ("model", "checkpoints", "vectors", METRICS) if (into / name).exists()]:
            raise RunError(f"{into}: holds {foreign[0]!r} but no {RECIPE}, so it is no run's; choose another folder")
        write_json(into / RECIPE, recipe.dump())
    elif changed := differences(_whole(found), recipe.dump()):
        if not finished(into) and not checkpoint.steps_in(into / "checkpoints"):
            log.info("%s holds a run that came to no checkpoint; it starts anew with the changed recipe", into)
            write_json(into / RECIPE, recipe.dump())
            return
        raise RunError(f"{into} holds a run of another recipe: {'; '.join(changed[:5])}; choose another folder")
    elif found != recipe.dump():  # in how it is told or evaluated, which training does not read
        write_json(into / RECIPE, recipe.dump())


def _whole(kept: dict[str, Any]) -> dict[str, Any]:
    """A kept recipe with the settings that are new since then, whose defaults are what a run without them does."""
    try:
        return Recipe.read(kept).dump()
    except InterlaceError:
        return kept


# FROM _began:
# What a run began with and its recipe only names by a path: it must still be that when the run goes on.


RUN_STATE = "run_state.json"


def check_run_state(into: Path, vocab: Vocab, backbone: Backbone) -> None:
    """Write down what a run begins with; when it goes on, see that its subwords are the same, and tell the old facts.

    Raises:
        RunError: the vocabulary is another one now, so the checkpoint's rows would be of other subwords.
    """
    found: dict[str, Any] | None = read_json(into / RUN_STATE)
    if found is None or not checkpoint.steps_in(into / "checkpoints"):
        write_json(into / RUN_STATE, {"vocabulary": vocab.fingerprint, "initialization": backbone.initialization})
        return
    if found["vocabulary"] != vocab.fingerprint:
        raise RunError(
            f"{into}: this run began with other subwords than {vocab.name} has now, so its checkpoints would mean "
            "other words; bring the old tokenizer (or the text it was learnt from) back, or choose another folder"
        )
    backbone.initialization = found["initialization"]
