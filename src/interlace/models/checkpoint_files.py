"""The files of a checkpoint: found, checked before transformers sees them, and read where it would drop weights.

Keep transformers from printing: what matters is raised or noted by us.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import CheckpointError, DataError, did_you_mean
from interlace.data.tokenizer_files import download, no_prompts, without_code
from interlace.models.families import MODEL_TYPES, SEQ2SEQ

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from torch import Tensor


CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


def find_checkpoint(start: str | Path) -> Path:
    """The folder of a checkpoint, fetched from the Hugging Face hub where `start` is not a local path.

    Raises:
        CheckpointError: no such folder (names the nearest), or the hub does not give it.
    """
    path = Path(start).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise CheckpointError(f"{path}: is a file; a checkpoint is a folder with {CONFIG} and {WEIGHTS}")
    if _is_local(str(start), path):
        raise CheckpointError(f"{path}: no such folder{_nearest(path)}")
    return _fetch(str(start), path)


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration as plain data, without keys that name code to run.

    Raises:
        CheckpointError: it is missing, no JSON, or of a model that cannot be a backbone.
    """
    path = folder / CONFIG
    if not path.is_file():
        inner = folder / "model" / CONFIG
        hint = f"; did you mean {inner.parent}?" if inner.is_file() else ""
        raise CheckpointError(f"{folder}: holds no {CONFIG}, so it is no checkpoint{hint}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        kind = str(config["model_type"])
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path}: damaged, or not a model's configuration ({error!r})") from error
    if kind not in MODEL_TYPES and kind not in SEQ2SEQ:
        raise CheckpointError(f"{path}: a {kind!r} model cannot be a backbone{did_you_mean(kind, MODEL_TYPES)}")
    return dict(without_code(config))


def weight_files(folder: Path) -> dict[str, Path]:
    """The file of each weight, every file checked to be whole.

    Raises:
        CheckpointError: a file is missing, cut short or damaged, or the weights are pickles.
    """
    from safetensors import SafetensorError, safe_open

    found = {}
    for path in _weight_files(folder):
        try:
            with safe_open(path, "pt") as file:
                found.update(dict.fromkeys(file.keys(), path))
        except FileNotFoundError as error:
            raise CheckpointError(f"{path}: missing, though {INDEX} names it; copy the whole checkpoint") from error
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{path}: damaged or cut short ({error}); copy or write it again") from error
    return found


def read_weights(files: dict[str, Path], names: Collection[str]) -> dict[str, Tensor]:
    """The named weights."""
    from safetensors import safe_open

    tensors = {}
    for name in sorted(names):
        with safe_open(files[name], "pt") as file:
            tensors[name] = file.get_tensor(name)
    return tensors


def _weight_files(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        try:
            shards = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CheckpointError(f"{folder / INDEX}: damaged ({error!r})") from error
        return [folder / shard for shard in sorted(set(shards))]
    if list(folder.glob("*.bin")):
        raise CheckpointError(
            f"{folder}: its weights are pickles, which are not read here; open it with transformers' "
            f"AutoModelForMaskedLM.from_pretrained and write it again with save_pretrained"
        )
    raise CheckpointError(
        f"{folder}: holds no {WEIGHTS}; a checkpoint that has only pickles (*.bin) is opened and written again with "
        "transformers' AutoModelForMaskedLM.from_pretrained and save_pretrained"
    )


def _is_local(name: str, path: Path) -> bool:
    """Whether a name that does not exist was meant as a path: no hub name looks like it, or its folder is here."""
    parts = name.split("/")
    return name.startswith((".", "/", "~")) or len(parts) > 2 or (len(parts) > 1 and path.parent.is_dir())


def _nearest(path: Path) -> str:
    while not path.parent.is_dir():
        path = path.parent
    folders = [folder.name for folder in path.parent.iterdir() if folder.is_dir()]
    return did_you_mean(path.name, [name for name in folders if not name.startswith(".")])


def _fetch(name: str, path: Path) -> Path:
    try:
        return download(name, ["*.json", "*.safetensors", "*.txt", "*.model"])
    except DataError as error:
        hint = near if "did you mean" in (near := _nearest(path)) else ""
        raise CheckpointError(f"{error}{hint}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars, reports, warnings or prompts of transformers inside; its settings come back after."""
    from transformers.utils import logging as theirs

    loud: Any = theirs  # its switches have no type hints
    level, bars = loud.get_verbosity(), loud.is_progress_bar_enabled()
    loud.set_verbosity(logging.CRITICAL)
    loud.disable_progress_bar()
    try:
        with no_prompts():
            yield
    finally:
        loud.set_verbosity(level)
        if bars:
            loud.enable_progress_bar()
