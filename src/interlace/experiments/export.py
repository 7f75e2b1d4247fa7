"""Export of models as Hugging Face checkpoints: of finished runs, and of any model with a trimmed vocabulary."""

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic_folder, must_be_replaceable, nearest_folder, user_path
from interlace.core.finite import check_finite_weights
from interlace.core.json_files import JsonObject, read_json, write_json
from interlace.core.outputs import copy_files, regular_files
from interlace.core.ragged import IntArray
from interlace.data.trimming import Kept, trim_vocab
from interlace.data.vocab import Vocab
from interlace.experiments.run import Run
from interlace.models.checkpoint_files import (
    CHECKPOINT_FILES,
    COMPANIONS,
    CONFIG,
    GENERATION_CONFIG,
    UNUSED_KEYS,
    find_checkpoint,
    iter_weights,
    renumber_tokens,
    write_config,
)

log = logging.getLogger(__name__)


def export_model(run: Path, into: Path) -> Path:
    """Copy the model of a finished run, with its card, to a folder; replace a model that is already there.

    Raise a DataError if the folder holds other files, a RunError if the run is not finished or its model was changed, a
    CheckpointError if a weight is not finite.
    """
    _check_output(into)
    model = _model_of(run)
    if model is None:
        what = "not a run" if run.exists() else f"no such folder{nearest_folder(run)}"
        raise DataError(f"{run}: {what}; expected the folder of a finished run")
    with atomic_folder(into) as partial:
        copy_files(model, partial)
    return into


def export_trimmed(start: str, lines: Iterable[str], into: Path, keep: Kept = "text") -> Path:
    """Write a model with only the tokens that text needs, as `trim_vocab` selects them; its weights keep their type.

    start: the folder of a finished run, or a checkpoint: a folder, or its name on the Hugging Face hub.

    Raises:
        DataError: the folder to write holds other files, or the text is empty.
        RunError: the run is not finished, or its model was changed.
        CheckpointError: the checkpoint is missing or damaged, or of another family than those of `pretrain`.
    """
    from interlace.models.build import load

    _check_output(into)
    folder = _model_of(user_path(start)) or find_checkpoint(start)
    vocab = trim_vocab(Vocab.load(folder), lines, keep)
    backbone = load(folder, vocab)
    weights = (tensor for _, tensor in iter_weights(folder))
    dtype = next(tensor.dtype for tensor in weights if tensor.is_floating_point())
    with atomic_folder(into) as partial:
        has_head = not backbone.fresh_head  # not one that was drawn here
        backbone.save_pretrained(partial, vocab, dtype=dtype, head=has_head)
        _write_companions(folder, partial, vocab.origin.kept)
    log.info("kept %s of %s tokens", f"{vocab.size:,}", f"{vocab.origin.original_size:,}")
    return into


def _write_companions(folder: Path, into: Path, kept: IntArray) -> None:
    """Copy what else a model's folder holds, and what its configuration says of other heads.

    kept: the original ids of the tokens, in the order of the new ones.
    """
    from interlace.models.sentence_modules import WORD_WEIGHTS

    for pattern in COMPANIONS:
        for path in filter(Path.is_file, folder.glob(pattern)):
            copy = into / path.relative_to(folder)
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, copy)
    word_weights = into / WORD_WEIGHTS / "config.json"
    if word_weights.is_file():
        config = read_json(word_weights, JsonObject)
        config["vocab"] = [config["vocab"][number] for number in kept.tolist()]
        write_json(word_weights, config)
    if (folder / GENERATION_CONFIG).is_file():
        generation = read_json(folder / GENERATION_CONFIG, JsonObject)
        write_config(into / GENERATION_CONFIG, renumber_tokens(generation, kept))
    original = read_json(folder / CONFIG, JsonObject)
    config = read_json(into / CONFIG, JsonObject)
    for key in original.keys() & {"architectures", *UNUSED_KEYS}:
        config[key] = original[key]
    write_config(into / CONFIG, config)


def _check_output(into: Path) -> None:
    must_be_replaceable(into, CONFIG, "model", CHECKPOINT_FILES)


def _model_of(run: Path) -> Path | None:
    """Return the model of a finished run after checking it; None if the folder is not a run's."""
    recipe = Run(run).finished_recipe()
    if recipe is None:
        return None
    if recipe.embeddings:
        raise SettingsError(f"{run}: holds word vectors, not a model")
    model = run / "model"
    regular_files(model)  # before one is opened: a pipe would wait for ever
    Run(run).check_export(model)
    check_finite_weights(iter_weights(model), str(model))
    return model
