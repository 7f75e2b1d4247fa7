"""Writing a backbone as an ordinary checkpoint: to a temporary folder first, which then takes the place of the old."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from interlace.errors import CheckpointError
from interlace.models._quiet import quiet
from interlace.models.languages import FOLDED, fold

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from torch import Tensor

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


def export(backbone: Backbone, folder: Path, vocab: Vocab, *, fold_language: str | None, dtype: torch.dtype) -> Path:
    """See `Backbone.save_pretrained`."""
    tensors: dict[str, Tensor] = dict(backbone.model.state_dict())
    if fold_language is not None:
        tensors = fold(backbone.model, tensors, fold_language)
    tensors = _cast({**backbone.carried, **tensors}, dtype)
    partial = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        partial.mkdir(parents=True)
        with quiet():
            backbone.model.save_pretrained(partial, state_dict=tensors)
        _amend(partial / "config.json", {"dtype": str(dtype).removeprefix("torch.")}, fold_language)
        vocab.save(partial)
        _flush(partial)
        _replace(folder, partial)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CheckpointError(f"{folder}: cannot be written: {reason}; what stood there is untouched") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _cast(tensors: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """Copies on the CPU in `dtype`; tied weights stay tied, so that they are written once."""
    made: dict[tuple[Any, ...], Tensor] = {}
    cast = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape, tensor.dtype)
        if key not in made:
            made[key] = tensor.detach().to("cpu", dtype if tensor.is_floating_point() else tensor.dtype)
        cast[name] = made[key]
    return cast


def _amend(path: Path, changes: dict[str, Any], fold_language: str | None) -> None:
    """Say in the written configuration what was done to the weights."""
    config = json.loads(path.read_text(encoding="utf-8"))
    config.update(changes)
    if fold_language is not None:
        config[FOLDED] = fold_language
    path.write_text(json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def _flush(folder: Path) -> None:
    """On the disk before the rename, or a crash could leave a named folder of empty files."""
    for path in folder.iterdir():
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _replace(folder: Path, partial: Path) -> None:
    if not folder.exists():
        partial.rename(folder)
        return
    old = folder.with_name(f"{partial.name}.old")
    folder.rename(old)
    try:
        partial.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old)
