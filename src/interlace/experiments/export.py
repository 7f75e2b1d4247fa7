"""Export of finished runs: the model as a Hugging Face checkpoint, on disk or the hub, or a mean of checkpoints.

Vaswani et al. (2017, section 6.1) evaluate the mean of the last 5 checkpoints of a translation model, 20 of a big one.
Heads of objectives are dropped. An averaged run keeps the recipe and the dictionaries, so that `translate` and
`evaluate` accept it.
"""

import logging
import re
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.core.finite import check_finite_weights
from interlace.core.hub import failure, hub_errors, is_reachable
from interlace.core.json_files import write_json
from interlace.core.outputs import copy_files, regular_files
from interlace.data.vocab import Vocab
from interlace.experiments.card import CARD, card_text, write_card
from interlace.experiments.model_folder import save_model
from interlace.experiments.recipe import LICENSE, Recipe
from interlace.experiments.run import Run
from interlace.experiments.score_store import folder_key
from interlace.models.build import load
from interlace.models.checkpoint_files import CHECKPOINT_FILES, CONFIG, iter_weights
from interlace.tasks.common.dictionaries import DICTIONARIES
from interlace.training import checkpoint
from interlace.training.run_folder import RECIPE, RUN, read_run

log = logging.getLogger(__name__)
AVERAGED = "averaged.json"


def export_model(run: Path, into: Path) -> Path:
    """Copy the model of a finished run to a folder; replace a model that is already there.

    Raise a DataError if the folder holds other files, a RunError if the run is not finished, a CheckpointError if a
    weight is not finite.
    """
    must_be_replaceable(into, CONFIG, "model", CHECKPOINT_FILES)
    _finished(run)
    check_finite_weights(iter_weights(run / "model"), str(run / "model"))
    with atomic_folder(into) as partial:
        copy_files(run / "model", partial)
    return into


def average_checkpoints(run: Path, into: Path, last: int = 5) -> Path:
    """Write the mean of the `last` checkpoints of a finished run as another finished run.

    Memory holds the model and one weight at a time. `averaged.json` records the run and the steps. The recipe gets
    another name, so that reports show both runs. An averaged run that is already at `into` is replaced.
    """
    model_files = [f"model/{name}" for name in CHECKPOINT_FILES]
    must_be_replaceable(
        into, AVERAGED, "averaged run", [RECIPE, RUN, f"{DICTIONARIES}/*.tsv", *model_files]
    )
    recipe, stored, steps = _last_checkpoints(run, last)
    vocab = Vocab.load(run / "model")
    backbone = load(run / "model")
    _load_mean(backbone, stored)
    averaged = ", ".join(f"{step:,}" for step in steps)
    about = f"{recipe.about} Mean of the checkpoints of steps {averaged}.".strip()
    with atomic_folder(into) as partial:
        save_model(backbone, vocab, recipe, partial / "model")
        write_json(
            partial / RECIPE,
            {**recipe.dump(), "name": f"{recipe.name}-mean-of-{len(steps)}", "about": about},
        )
        copy_files(run / DICTIONARIES, partial / DICTIONARIES)
        key = folder_key(partial / "model")
        write_json(partial / RUN, {**read_run(run), "averaged": steps, "model_key": key})
        write_card(partial)
        write_json(partial / AVERAGED, {"run": recipe.name, "folder": run.name, "steps": steps})
    return into


def push_to_hub(run: Path, name: str, *, private: bool = False, license_id: str = "") -> str:
    """Publish the model of a finished run with its card on the Hugging Face hub; return its address.

    One commit holds all files; a model of this name (`OWNER/NAME`) that is already there gets a new revision.
    Raise a DataError if the hub refuses it, a RunError if the run is not finished.

    private: whether a new repository is private. license_id: the hub's identifier; default: the recipe's.
    """
    from huggingface_hub import CommitOperationAdd, HfApi, constants
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    if not re.fullmatch(LICENSE, license_id):
        raise SettingsError(
            f"--license {license_id!r}: expected the hub's identifier, such as apache-2.0"
        )
    _finished(run)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise SettingsError(f"{name!r}: expected OWNER/NAME of the hub")
    if not is_reachable(constants.ENDPOINT):
        later = f"where there is a network, run `hf upload {name} {run / 'model'}`"
        raise DataError(
            f"{constants.ENDPOINT} cannot be reached; {run / 'model'} is what would be pushed: {later}"
        )
    api = HfApi()
    folder = run / "model"
    card = card_text(run, read_run(run), name, license_id)
    files = [path for path in regular_files(folder) if path != folder / CARD]
    operations = [CommitOperationAdd(path.relative_to(folder).as_posix(), path) for path in files]
    operations.append(CommitOperationAdd(CARD, card.encode()))
    try:
        with hub_errors():
            address = api.create_repo(name, private=private, exist_ok=True)
            api.create_commit(address.repo_id, operations, commit_message=f"Upload {run.name}")
    except HFValidationError as error:
        raise SettingsError(f"{name!r}: {error}") from None
    except LocalTokenNotFoundError as error:
        raise DataError(
            f"{name}: not logged in to the hub; run `hf auth login`, or set HF_TOKEN"
        ) from error
    except (HfHubHTTPError, OSError) as error:
        raise DataError(f"{name}: {failure(error, 'write access')}") from error
    return str(address)


def _last_checkpoints(
    run: Path, last: int
) -> tuple[Recipe, list[checkpoint.StoredWeights], list[int]]:
    """Return the run's recipe, and the weights and steps of its last checkpoints."""
    recipe = _finished(run)
    folder = run / "checkpoints"
    steps = checkpoint.steps_in(folder)
    if recipe.model.lora is not None:
        raise SettingsError(
            f"{run}: was trained with model.lora; the mean of its adapters is not the mean of its models"
        )
    if not steps:
        raise SettingsError(f"{run}: has no checkpoints to average")
    state = checkpoint.read_state(checkpoint.path_of(folder, steps[-1]))
    if recipe.train.patience:
        best = (state.get("evaluation") or {}).get("best_step")
    else:
        best = None
    apart = ""
    if len(steps) > recipe.train.keep and steps[0] == best:
        steps = steps[1:]
        apart = f" and the best one, step {best}, after which checkpoints are missing"
    if not 1 <= last <= len(steps):
        there = ", ".join(map(str, steps))
        if len(steps) == 1:
            what = "1 checkpoint"
        else:
            what = f"{len(steps)} checkpoints"
        raise SettingsError(
            f"--average {last}: {run} has {what} (steps {there}){apart}; train with --set train.keep={last} "
            f"for more, or use --average {len(steps)}"
        )
    chosen = steps[-last:]
    if best and best < chosen[0]:
        later = ", ".join(f"{step:,}" for step in chosen)
        if best in steps:
            cure = f"; --average {len(steps) - steps.index(best)} includes it"
        else:
            cure = ""
        message = "%s: early stopping chose step %s; all averaged checkpoints are later: %s%s"
        log.warning(message, run, f"{best:,}", later, cure)
    return (
        recipe,
        [checkpoint.StoredWeights(checkpoint.path_of(folder, step)) for step in chosen],
        chosen,
    )


def _finished(run: Path) -> Recipe:
    recipe = Run(run).finished_recipe()
    if recipe is None:
        what = "not a run" if run.exists() else "no such folder"
        raise DataError(f"{run}: {what}; expected the folder of a finished run")
    if recipe.embeddings:
        raise SettingsError(f"{run}: holds word vectors, not a model")
    regular_files(run / "model")  # before one is opened: a pipe would wait for ever
    Run(run).check_export(run / "model")
    return recipe


@torch.no_grad()
def _load_mean(backbone: nn.Module, checkpoints: Sequence[checkpoint.StoredWeights]) -> None:
    """Load the mean of checkpoints into every parameter and persistent buffer; integers are those of the last one.

    Shared tensors have one name, as in checkpoints; other weights there are heads.
    """
    for name, tensor in checkpoint.named_weights(backbone):
        key = f"backbone.{name}"
        if tensor.is_floating_point():
            total = torch.zeros_like(tensor, dtype=torch.float64)
            for stored in checkpoints:
                total += stored.get(key, tensor)
            tensor.copy_(total / len(checkpoints))
        else:
            tensor.copy_(checkpoints[-1].get(key, tensor))
