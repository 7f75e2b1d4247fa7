"""The files of a checkpoint: found on disk or on the Hugging Face hub, checked, read and written."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import CheckpointError, DataError, did_you_mean
from interlace.data.tokenizer_files import download, no_prompts, without_code
from interlace.models.families import MODEL_TYPES, SEQ2SEQ

if TYPE_CHECKING:
    from torch import Tensor


CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


def find_checkpoint(start: str | Path) -> Path:
    """Return the folder of a checkpoint, downloaded from the Hugging Face hub unless `start` is a local path.

    Raises:
        CheckpointError: the folder does not exist (names the nearest), or the hub does not provide it.
    """
    path = Path(start).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise CheckpointError(f"{path}: is a file; a checkpoint is a folder with {CONFIG} and {WEIGHTS}")
    parts, below = str(start).split("/"), path
    while not below.parent.is_dir():
        below = below.parent
    folders = [folder.name for folder in below.parent.iterdir() if folder.is_dir() and folder.name[0] != "."]
    nearest = did_you_mean(below.name, folders)
    # no hub name looks like it, or its parent exists
    if str(start).startswith((".", "/", "~")) or len(parts) > 2 or (len(parts) > 1 and path.parent.is_dir()):
        raise CheckpointError(f"{path}: no such folder{nearest}")
    try:
        return download(str(start), ["*.json", "*.safetensors", "*.txt", "*.model"])
    except DataError as error:
        raise CheckpointError(f"{error}{nearest if 'did you mean' in nearest else ''}") from error


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration as plain data, without keys that name code to run.

    Raises:
        CheckpointError: the file is missing or no JSON, or the model type cannot be a backbone.
    """
    path = folder / CONFIG
    if not path.is_file():
        inner = folder / "model" / CONFIG
        hint = f"; did you mean {inner.parent}?" if inner.is_file() else ""
        raise CheckpointError(f"{folder}: not a checkpoint, it has no {CONFIG}{hint}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        kind = str(config["model_type"])
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path}: damaged, or not a model's configuration ({error!r})") from error
    if kind not in MODEL_TYPES and kind not in SEQ2SEQ:
        raise CheckpointError(f"{path}: a {kind!r} model cannot be a backbone{did_you_mean(kind, MODEL_TYPES)}")
    return dict(without_code(config))


def write_config(path: Path, config: Mapping[str, Any]) -> None:
    """Write a configuration, without keys that name code to run."""
    text = json.dumps(without_code(dict(config)), indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def weight_files(folder: Path) -> dict[str, Path]:
    """Return the file of each weight, after checking that every file is complete.

    Raises:
        CheckpointError: a file is missing, truncated or damaged, or the weights are pickles.
    """
    from safetensors import SafetensorError, safe_open

    found = {}
    for path in _shards(folder):
        try:
            with safe_open(path, "pt") as file:
                found.update(dict.fromkeys(file.keys(), path))
        except FileNotFoundError as error:
            raise CheckpointError(f"{path}: missing, though {INDEX} names it; copy the whole checkpoint") from error
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{path}: damaged or truncated ({error}); copy or write it again") from error
    return found


def read_weights(files: Mapping[str, Path], names: Collection[str]) -> dict[str, Tensor]:
    """Return the named weights."""
    from safetensors import safe_open

    tensors = {}
    for name in sorted(names):
        with safe_open(files[name], "pt") as file:
            tensors[name] = file.get_tensor(name)
    return tensors


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress progress bars, reports, warnings and prompts of transformers within the context."""
    from transformers.utils import logging as theirs

    switches: Any = theirs  # they have no type hints
    level, bars = switches.get_verbosity(), switches.is_progress_bar_enabled()
    switches.set_verbosity(logging.CRITICAL)
    switches.disable_progress_bar()
    try:
        with no_prompts():
            yield
    finally:
        switches.set_verbosity(level)
        if bars:
            switches.enable_progress_bar()


def _shards(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        try:
            shards = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CheckpointError(f"{folder / INDEX}: damaged ({error!r})") from error
        return [folder / shard for shard in sorted(set(shards))]
    found = "its weights are pickles (*.bin), which are never read" if list(folder.glob("*.bin")) else f"no {WEIGHTS}"
    raise CheckpointError(
        f"{folder}: {found}; convert a checkpoint of pickles with transformers' AutoModelForMaskedLM.from_pretrained "
        "and save_pretrained"
    )
