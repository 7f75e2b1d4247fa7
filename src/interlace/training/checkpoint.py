"""Checkpoints: weights, optimiser moments and counters in safetensors and JSON, written whole or not at all.

A checkpoint is a folder `step-00000100`. It is written under another name, flushed to the disk and renamed, so a killed
process leaves the one before it untouched; sizes and hashes in `state.json` reveal damage done later.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from interlace.core.errors import CheckpointError
from interlace.core.files import atomic_folder, remove_partials

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch import Tensor, nn
    from torch.optim import Optimizer

WEIGHTS, MOMENTS, STATE = "model.safetensors", "optimiser.safetensors", "state.json"


def save(folder: Path, step: int, model: nn.Module, optimiser: Optimizer, state: dict[str, Any]) -> Path:
    """Write `folder/step-XXXXXXXX`; `state` is plain JSON. Returns its path.

    Raises:
        DataError: the disk is full; the checkpoints before it are untouched.
    """
    final = path_of(folder, step)
    folder.mkdir(parents=True, exist_ok=True)
    remove_partials(final)
    with atomic_folder(final) as partial:
        save_file(dict(_weights(model)), partial / WEIGHTS)
        save_file(dict(_moments(model, optimiser)), partial / MOMENTS)
        hashes = {name: _hash(partial / name) for name in (WEIGHTS, MOMENTS)}
        (partial / STATE).write_text(json.dumps({"step": step, "hashes": hashes, **state}, indent=1))
    return final


def steps_in(folder: Path) -> list[int]:
    """Steps of the whole checkpoints in `folder`, rising."""
    return sorted(int(path.name.removeprefix("step-")) for path in folder.glob("step-*") if path.is_dir())


def path_of(folder: Path, step: int) -> Path:
    """Where the checkpoint of `step` stands."""
    return folder / f"step-{step:08d}"


def load(path: Path, model: nn.Module, optimiser: Optimizer | None = None) -> dict[str, Any]:
    """Fill the model (and the optimiser) from a checkpoint; returns its state.

    Raises:
        CheckpointError: a file is missing or damaged, or the checkpoint belongs to another model.
    """
    state = _state(path)
    _fill(dict(_weights(model)), _tensors(path / WEIGHTS, state), path)
    if optimiser is not None:
        _restore(model, optimiser, _tensors(path / MOMENTS, state))
    return state


def weights_of(path: Path) -> Path:
    """The file that holds the weights of a checkpoint, by their names in the model; its content was looked at.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    found = path / WEIGHTS
    try:
        whole = _hash(found) == _state(path)["hashes"].get(WEIGHTS)
    except OSError as error:
        raise CheckpointError(f"{found}: missing ({error}); {_cure(path)}") from error
    if not whole:
        raise CheckpointError(f"{found}: damaged (its content is not what was written); {_cure(path)}")
    return found


def prune(folder: Path, keep: int, best: int | None = None) -> None:
    """Remove all but the newest `keep` checkpoints and the best."""
    for step in steps_in(folder)[:-keep]:
        if step != best:
            shutil.rmtree(path_of(folder, step), ignore_errors=True)


def _weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers by name; one name where two share a tensor."""
    yield from ((name, parameter.data) for name, parameter in model.named_parameters())
    kept = set(model.state_dict())
    yield from ((name, buffer) for name, buffer in model.named_buffers() if name in kept)


def _moments(model: nn.Module, optimiser: Optimizer) -> Iterator[tuple[str, Tensor]]:
    for name, parameter in model.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            yield f"{key}:{name}", torch.as_tensor(value)


def _restore(model: nn.Module, optimiser: Optimizer, moments: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for key, value in moments.items():
        moment, _, name = key.partition(":")
        parameter = parameters[name]
        optimiser.state[parameter][moment] = value.to(parameter.device)  # fused AdamW wants its step there too


def _fill(tensors: dict[str, Tensor], saved: dict[str, Tensor], path: Path) -> None:
    missing, unknown = sorted(set(tensors) - set(saved)), sorted(set(saved) - set(tensors))
    if missing or unknown:
        raise CheckpointError(f"{path}: another model's: lacks {missing[:3]}, has {unknown[:3]} that the model lacks")
    for name, tensor in tensors.items():
        if tensor.shape != saved[name].shape:
            found, wanted = tuple(saved[name].shape), tuple(tensor.shape)
            raise CheckpointError(f"{path}: {name} has shape {found}, the model wants {wanted}")
        tensor.copy_(saved[name])


def _state(path: Path) -> dict[str, Any]:
    try:
        state: Any = json.loads((path / STATE).read_text())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path / STATE}: missing or damaged ({error}); {_cure(path)}") from error
    if not isinstance(state, dict) or not {"step", "hashes"} <= set(state):
        raise CheckpointError(f"{path / STATE}: damaged (no step or no hashes); {_cure(path)}")
    return dict(state)


def _tensors(path: Path, state: dict[str, Any]) -> dict[str, Tensor]:
    try:
        if _hash(path) != state["hashes"].get(path.name):
            raise CheckpointError(f"{path}: damaged (its content is not what was written); {_cure(path.parent)}")
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: missing or damaged ({error}); {_cure(path.parent)}") from error


def _cure(path: Path) -> str:
    return f"remove {path} to go on from the checkpoint before it"


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
