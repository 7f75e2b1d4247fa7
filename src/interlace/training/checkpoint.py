"""Checkpoints: weights, optimizer state and counters in safetensors and JSON, written atomically.

A checkpoint is a folder `step-00000100`. It is written under another name, flushed to disk and renamed, so a killed
process leaves the previous one intact. Hashes in `state.json` reveal later damage.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from typing_extensions import TypedDict

from interlace.core.errors import CheckpointError
from interlace.core.files import atomic_folder
from interlace.core.json_files import json_record, read_json

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

WEIGHTS, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"


@json_record
class CheckpointState(TypedDict, total=False):
    """The content of `state.json`; keys from `drawn` on are what a training loop resumes from."""

    step: Required[int]
    hashes: Required[dict[str, str]]
    drawn: list[int]
    stop: bool
    reason: str
    evaluation: dict[str, Any] | None
    loss_scale: dict[str, int | float] | None


def save(folder: Path, step: int, model: nn.Module, optimizer: Optimizer, state: dict[str, Any]) -> Path:
    """Write `folder/step-XXXXXXXX` and return its path; `state` is plain JSON.

    Raises:
        DataError: the disk is full; earlier checkpoints stay intact.
    """
    final = path_of(folder, step)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_folder(final) as partial:
        save_file(dict(_weights(model)), partial / WEIGHTS)
        moments = {
            f"{key}:{name}": torch.as_tensor(value)
            for name, parameter in model.named_parameters()
            for key, value in optimizer.state.get(parameter, {}).items()
        }
        save_file(moments, partial / OPTIMIZER)
        hashes = {name: _hash(partial / name) for name in (WEIGHTS, OPTIMIZER)}
        (partial / STATE).write_text(json.dumps({"step": step, "hashes": hashes, **state}, indent=1))
    return final


def steps_in(folder: Path) -> list[int]:
    """Return the steps of the checkpoints in `folder`, ascending."""
    names = [path.name.removeprefix("step-") for path in folder.glob("step-*") if path.is_dir()]
    return sorted(int(name) for name in names if re.fullmatch("[0-9]{1,15}", name))


def path_of(folder: Path, step: int) -> Path:
    """Return the path of the checkpoint of `step`."""
    return folder / f"step-{step:08d}"


def load(path: Path, model: nn.Module, optimizer: Optimizer | None = None) -> CheckpointState:
    """Load a checkpoint into the model (and the optimizer), and return its state.

    Raises:
        CheckpointError: a file is missing or damaged, or the checkpoint belongs to another model.
    """
    state = read_state(path)
    tensors, saved = dict(_weights(model)), _tensors(path / WEIGHTS, state)
    missing, unknown = sorted(set(tensors) - set(saved)), sorted(set(saved) - set(tensors))
    if missing or unknown:
        raise CheckpointError(f"{path}: belongs to another model: lacks {missing[:3]}, and has {unknown[:3]} instead")
    for name, tensor in tensors.items():
        if tensor.shape != saved[name].shape:
            found, wanted = tuple(saved[name].shape), tuple(tensor.shape)
            raise CheckpointError(f"{path}: {name} has shape {found}, the model expects {wanted}")
        tensor.copy_(saved[name])
    if optimizer is not None:
        parameters = dict(model.named_parameters())
        for key, value in _tensors(path / OPTIMIZER, state).items():
            moment, _, name = key.partition(":")
            own = parameters[name]
            optimizer.state[own][moment] = value.to(own.device)  # fused AdamW needs its step there too
    return state


def content_of(path: Path) -> str:
    """Return the state of a checkpoint with its hashes as text; empty if there is none."""
    try:
        return (path / STATE).read_text()
    except OSError:
        return ""


def weights_of(path: Path) -> Path:
    """Return the file of a checkpoint's weights, by their names in the model, after checking its hash.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    _check_hash(path / WEIGHTS, read_state(path))
    return path / WEIGHTS


def prune(folder: Path, keep: int, best: int | None = None) -> None:
    """Remove all but the newest `keep` checkpoints and the best."""
    for step in steps_in(folder)[:-keep]:
        if step != best:
            shutil.rmtree(path_of(folder, step), ignore_errors=True)


def _weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield parameters and buffers by name; one name for a shared tensor."""
    yield from ((name, parameter.data) for name, parameter in model.named_parameters())
    kept = set(model.state_dict())
    yield from ((name, buffer) for name, buffer in model.named_buffers() if name in kept)


def read_state(path: Path) -> CheckpointState:
    """Return the state of a checkpoint; raise a CheckpointError if it is missing or damaged."""
    if not (path / STATE).is_file():
        raise CheckpointError(f"{path / STATE}: missing; {_cure(path)}")
    found: CheckpointState = read_json(path / STATE, CheckpointState, remedy=_cure(path), error=CheckpointError)
    return found


def _tensors(path: Path, state: CheckpointState) -> dict[str, Tensor]:
    _check_hash(path, state)
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: missing or damaged ({error}); {_cure(path.parent)}") from error


def _check_hash(path: Path, state: CheckpointState) -> None:
    try:
        intact = _hash(path) == state["hashes"].get(path.name)
    except OSError as error:
        raise CheckpointError(f"{path}: missing ({error}); {_cure(path.parent)}") from error
    if not intact:
        raise CheckpointError(f"{path}: damaged (its content is not what was written); {_cure(path.parent)}")


def _cure(path: Path) -> str:
    return f"remove {path} to resume from the previous checkpoint"


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
