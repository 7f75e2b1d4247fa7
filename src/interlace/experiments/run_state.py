"""The state of a run's folder: the recipe that it belongs to, its initial vocabulary, and whether it is finished."""

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
RUN_STATE = "run_state.json"


def is_finished(into: Path) -> bool:
    """Return whether the run is finished."""
    return bool((read_json(into / RUN) or {}).get("finished"))


def claim_folder(recipe: Recipe, into: Path) -> None:
    """Write the recipe into a run's folder, or check that the folder holds a run of the same recipe.

    A run without a checkpoint may change its recipe; it starts over.

    Raises:
        RunError: the folder is not a run's, or holds a run of another recipe.
    """
    found = read_json(into / RECIPE)
    if found is None:
        if foreign := [name for name in ("model", "checkpoints", "vectors", METRICS) if (into / name).exists()]:
            raise RunError(f"{into}: holds {foreign[0]!r} but no {RECIPE}, so it is not a run; choose another folder")
    elif changed := differences(_with_defaults(found), recipe.dump()):
        if is_finished(into) or checkpoint.steps_in(into / "checkpoints"):
            raise RunError(f"{into} holds a run of another recipe: {'; '.join(changed[:5])}; choose another folder")
        log.info("%s holds a run without a checkpoint; restarting it with the changed recipe", into)
    if found != recipe.dump():
        write_json(into / RECIPE, recipe.dump())


def check_run_state(into: Path, vocab: Vocab, backbone: Backbone) -> None:
    """Store the vocabulary and the initialization of a new run; check the vocabulary of a resumed one.

    A resumed run takes the stored record of its initialization.

    Raises:
        RunError: the vocabulary has changed, so the rows of the checkpoints would belong to other tokens.
    """
    found: dict[str, Any] | None = read_json(into / RUN_STATE)
    if found is None or not checkpoint.steps_in(into / "checkpoints"):
        write_json(into / RUN_STATE, {"vocabulary": vocab.fingerprint, "initialization": backbone.initialization})
        return
    if found["vocabulary"] != vocab.fingerprint:
        raise RunError(
            f"{into}: the checkpoints of this run use another vocabulary than {vocab.name} has now; restore the old "
            "tokenizer (or the text it was learned from), or choose another folder"
        )
    backbone.initialization = found["initialization"]


def _with_defaults(stored: dict[str, Any]) -> dict[str, Any]:
    """Return a stored recipe with the defaults of settings that are newer than the run."""
    try:
        return Recipe.read(stored).dump()
    except InterlaceError:
        return stored
