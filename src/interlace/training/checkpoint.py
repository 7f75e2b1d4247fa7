"""Checkpoints: weights, optimizer state and counters in safetensors and JSON, written atomically.

A checkpoint is a folder `step-00000100`. It is written under another name, flushed to disk and renamed, so a killed
process leaves the previous one intact. `state.json` names the run and has hashes of all files and of itself, which
reveal later damage and checkpoints of other runs.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Required

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from typing_extensions import TypedDict

from interlace.core.errors import CheckpointError, nearest
from interlace.core.files import atomic_folder, must_hold_files
from interlace.core.json_files import JsonMapping, JsonObject, json_record, read_json
from interlace.models.backbone import Tensors, untied_state

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

WEIGHTS = "model.safetensors"
OPTIMIZER = "optimizer.safetensors"
STATE = "state.json"
_STEP = "step"  # the optimizer's count of updates of a weight
_MOMENTS = (("exp_avg", "exp_avg_sq", _STEP), ("momentum_buffer",))  # of AdamW, of Muon


@json_record
class CheckpointState(TypedDict, total=False):
    """The content of `state.json`, beside what a training loop resumes from.

    hashes: of the other files. digest: of the rest of this content. run: the id of the run. evaluation: of early
    stopping.
    """

    step: Required[int]
    hashes: Required[dict[str, str]]
    digest: Required[str]
    run: str
    evaluation: JsonObject | None


def save(
    folder: Path,
    step: int,
    model: nn.Module,
    optimizer: Optimizer,
    state: JsonObject,
) -> Path:
    """Write `folder/step-XXXXXXXX` and return its path; `state` is plain JSON. Earlier checkpoints stay intact."""
    moments = {}
    for name, parameter in model.named_parameters():
        for moment, value in optimizer.state.get(parameter, {}).items():
            moments[f"{moment}:{name}"] = torch.as_tensor(value)
    folder.mkdir(parents=True, exist_ok=True)
    final = path_of(folder, step)
    with atomic_folder(final) as partial:
        save_file(untied_state(model), partial / WEIGHTS)
        save_file(moments, partial / OPTIMIZER)
        hashes = {name: _hash(partial / name) for name in (WEIGHTS, OPTIMIZER)}
        content = {"step": step, "hashes": hashes, **state}
        (partial / STATE).write_text(
            json.dumps({**content, "digest": _digest(content)}, indent=1)
        )
    return final


def steps_in(folder: Path) -> list[int]:
    """Return the steps of the checkpoints in `folder`, ascending."""
    names = [path.name.removeprefix("step-") for path in folder.glob("step-*") if path.is_dir()]
    return sorted(int(name) for name in names if re.fullmatch("[0-9]{1,15}", name))


def path_of(folder: Path, step: int) -> Path:
    """Return the path of the checkpoint of `step`."""
    return folder / f"step-{step:08d}"


@torch.no_grad()
def load(path: Path, model: nn.Module, optimizer: Optimizer | None = None) -> CheckpointState:
    """Load a checkpoint into the model (and the optimizer), and return its state; or raise a CheckpointError."""
    must_hold_files(path)
    state = read_state(path)
    _check_hashes(path, state)
    saved_weights = _tensors(path / WEIGHTS)
    weights = untied_state(model)
    if saved_weights.keys() != weights.keys():
        missing = sorted(weights.keys() - saved_weights.keys())[:3]
        unknown = sorted(saved_weights.keys() - weights.keys())[:3]
        raise CheckpointError(
            f"{path}: belongs to another model: lacks {missing}, and has {unknown} instead"
        )
    for name, weight in weights.items():
        _check_like(saved_weights[name], weight, f"{path / WEIGHTS}: {name}")
        weight.copy_(saved_weights[name])
    if optimizer is not None:
        _load_moments(path / OPTIMIZER, dict(model.named_parameters()), optimizer)
    return state


def _load_moments(file: Path, parameters: Mapping[str, Tensor], optimizer: Optimizer) -> None:
    """Load the optimizer's state, of which each weight has all tensors of an algorithm or none."""
    tensors = _tensors(file)
    for key, value in tensors.items():
        moment, _, name = key.partition(":")
        if name not in parameters:
            hint = nearest(name, parameters)
            raise CheckpointError(f"{file}: {key} belongs to no weight of the model{hint}")
        for expected in next((names for names in _MOMENTS if moment in names), ()):
            if f"{expected}:{name}" not in tensors:
                raise CheckpointError(
                    f"{file}: lacks {expected}:{name}; expected it beside {key}"
                )
        weight = parameters[name]
        _check_like(value, torch.zeros(()) if moment == _STEP else weight, f"{file}: {key}")
        # fused AdamW needs its steps on the device, too
        optimizer.state[weight][moment] = value.to(weight.device)


def _tensors(file: Path) -> Tensors:
    """Return the tensors of a file by name; none if there is no file."""
    if not file.exists():
        return {}
    try:
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{file}: damaged ({error}); {_cure(file.parent)}") from error


def _check_like(tensor: Tensor, expected: Tensor, name: str) -> None:
    """Raise a CheckpointError that names a tensor which differs from what is expected in shape or kind."""
    if tensor.shape != expected.shape:
        raise CheckpointError(
            f"{name} has shape {tuple(tensor.shape)}, expected {tuple(expected.shape)}"
        )
    if tensor.is_floating_point() != expected.is_floating_point():
        raise CheckpointError(f"{name} has {tensor.dtype}, expected {expected.dtype}")


def prune(folder: Path, keep: int, best: int | None, due: Callable[[int], bool]) -> None:
    """Remove all but the newest `keep` checkpoints and the best; earlier ones that were not due, as after SIGTERM, go.

    So interrupted runs keep the checkpoints of undisturbed ones.
    """
    steps = steps_in(folder)
    regular_steps = [step for step in steps if step in {best, steps[-1]} or due(step)]
    for step in set(steps) - {best, *regular_steps[-keep:]}:
        shutil.rmtree(path_of(folder, step), ignore_errors=True)


def read_state(path: Path) -> CheckpointState:
    """Return the state of a checkpoint; raise a CheckpointError if it is missing, damaged, or of another step."""
    if not (path / STATE).is_file():
        raise CheckpointError(f"{path / STATE}: missing; {_cure(path)}")
    state: CheckpointState = read_json(
        path / STATE, CheckpointState, remedy=_cure(path), error=CheckpointError
    )
    content = {key: value for key, value in state.items() if key != "digest"}
    if state["digest"] != _digest(content):
        raise CheckpointError(
            f"{path / STATE}: damaged (its content is not what was written); {_cure(path)}"
        )
    if path_of(path.parent, state["step"]).name != path.name:
        raise CheckpointError(
            f"{path}: is the checkpoint of step {state['step']}; {_cure(path)}"
        )
    return state


def verify(path: Path, run: str) -> None:
    """Raise a CheckpointError if a checkpoint is missing, damaged, or of another run; run: the id of the right one."""
    state = read_state(path)
    if state.get("run", "") != run:
        raise CheckpointError(f"{path}: belongs to another run; {_cure(path)}")
    _check_hashes(path, state)


def _check_hashes(path: Path, state: CheckpointState) -> None:
    hashes = state["hashes"]
    present = {file.name for file in path.glob("*.safetensors")}
    for name in sorted(hashes.keys() | present):
        file = path / name
        if Path(name).name != name or not file.is_file():
            raise CheckpointError(
                f"{file}: missing, or not a file of its folder; {_cure(path)}"
            )
        try:
            digest = _hash(file)
        except OSError as error:
            raise CheckpointError(f"{file}: {error.strerror}; {_cure(path)}") from error
        if digest != hashes.get(name):
            raise CheckpointError(
                f"{file}: damaged (its content is not what was written); {_cure(path)}"
            )


def _cure(path: Path) -> str:
    return f"remove {path}, so that training resumes from an earlier checkpoint or starts again"


def _digest(content: JsonMapping) -> str:
    return hashlib.blake2b(
        json.dumps(content, sort_keys=True).encode(), digest_size=16
    ).hexdigest()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
