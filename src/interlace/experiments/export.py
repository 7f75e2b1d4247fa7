"""Export of finished runs: the model as a Hugging Face checkpoint."""

from pathlib import Path

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic_folder, must_be_replaceable, nearest_folder
from interlace.core.finite import check_finite_weights
from interlace.core.outputs import copy_files, regular_files
from interlace.experiments.run import Run
from interlace.models.checkpoint_files import CHECKPOINT_FILES, CONFIG, iter_weights


def export_model(run: Path, into: Path) -> Path:
    """Copy the model of a finished run, with its card, to a folder; replace a model that is already there.

    Raise a DataError if the folder holds other files, a RunError if the run is not finished or its model was changed, a
    CheckpointError if a weight is not finite.
    """
    must_be_replaceable(
        into,
        CONFIG,
        "model",
        CHECKPOINT_FILES,
    )
    recipe = Run(run).finished_recipe()
    if recipe is None:
        what = "not a run" if run.exists() else f"no such folder{nearest_folder(run)}"
        raise DataError(f"{run}: {what}; expected the folder of a finished run")
    if recipe.embeddings:
        raise SettingsError(f"{run}: holds word vectors, not a model")
    model = run / "model"
    regular_files(model)  # before one is opened: a pipe would wait for ever
    Run(run).check_export(model)
    check_finite_weights(iter_weights(model), str(model))
    with atomic_folder(into) as partial:
        copy_files(model, partial)
    return into
