"""Export of finished runs: the model as a Hugging Face checkpoint, on disk or the hub."""

import re
from pathlib import Path

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.core.finite import check_finite_weights
from interlace.core.hub import failure, hub_errors, is_reachable
from interlace.core.outputs import copy_files, regular_files
from interlace.experiments.card import CARD, card_text
from interlace.experiments.run import Run
from interlace.models.checkpoint_files import CHECKPOINT_FILES, CONFIG, iter_weights
from interlace.training.run_folder import read_run


def export_model(run: Path, into: Path) -> Path:
    """Copy the model of a finished run to a folder; replace a model that is already there.

    Raise a DataError if the folder holds other files, a RunError if the run is not finished, a CheckpointError if a
    weight is not finite.
    """
    must_be_replaceable(
        into,
        CONFIG,
        "model",
        CHECKPOINT_FILES,
    )
    _check_run(run)
    check_finite_weights(iter_weights(run / "model"), str(run / "model"))
    with atomic_folder(into) as partial:
        copy_files(run / "model", partial)
    return into


def push_to_hub(run: Path, name: str, *, private: bool = False, license_id: str = "") -> str:
    """Publish the model of a finished run with its card on the Hugging Face hub; return its address.

    One commit holds all files; a model of this name (`OWNER/NAME`) that is already there gets a new revision.
    Raise a DataError if the hub refuses it, a RunError if the run is not finished.

    private: whether a new repository is private. license_id: the hub's identifier.
    """
    from huggingface_hub import CommitOperationAdd, HfApi, constants
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    if not re.fullmatch(r"[a-z0-9.-]*", license_id):
        raise SettingsError(
            f"--license {license_id!r}: expected the hub's identifier, such as apache-2.0"
        )
    _check_run(run)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise SettingsError(f"{name!r}: expected OWNER/NAME of the hub")
    if not is_reachable(constants.ENDPOINT):
        later = f"where there is a network, run `hf upload {name} {run / 'model'}`"
        raise DataError(
            f"{constants.ENDPOINT} cannot be reached; {run / 'model'} is what would be pushed: {later}"
        )
    api = HfApi()
    folder = run / "model"
    card = card_text(
        run,
        read_run(run),
        name,
        license_id,
    )
    files = [path for path in regular_files(folder) if path != folder / CARD]
    operations = [CommitOperationAdd(path.relative_to(folder).as_posix(), path) for path in files]
    operations.append(CommitOperationAdd(CARD, card.encode()))
    try:
        with hub_errors():
            address = api.create_repo(name, private=private, exist_ok=True)
            api.create_commit(
                address.repo_id,
                operations,
                commit_message=f"Upload {run.name}",
            )
    except HFValidationError as error:
        raise SettingsError(f"{name!r}: {error}") from None
    except LocalTokenNotFoundError as error:
        raise DataError(
            f"{name}: not logged in to the hub; run `hf auth login`, or set HF_TOKEN"
        ) from error
    except (HfHubHTTPError, OSError) as error:
        raise DataError(f"{name}: {failure(error, 'write access')}") from error
    return str(address)


def _check_run(run: Path) -> None:
    """Raise an error unless the folder is a finished run with an unchanged model."""
    recipe = Run(run).finished_recipe()
    if recipe is None:
        what = "not a run" if run.exists() else "no such folder"
        raise DataError(f"{run}: {what}; expected the folder of a finished run")
    if recipe.embeddings:
        raise SettingsError(f"{run}: holds word vectors, not a model")
    regular_files(run / "model")  # before one is opened: a pipe would wait for ever
    Run(run).check_export(run / "model")
