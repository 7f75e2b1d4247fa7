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
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from typing_extensions import TypedDict

from interlace.core.errors import CheckpointError, nearest
from interlace.core.files import atomic_folder, must_hold_files
from interlace.core.json_files import json_record, read_json, read_limited

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

WEIGHTS = "model.safetensors"
OPTIMIZER = "optimizer.safetensors"
STATE = "state.json"
_STEP = "step"  # the optimizer's count of updates of a weight


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
    evaluation: dict[str, Any] | None


def save(
    folder: Path, step: int, model: nn.Module, optimizer: Optimizer, state: dict[str, Any]
) -> Path:
    """Write `folder/step-XXXXXXXX` and return its path; `state` is plain JSON. Earlier checkpoints stay intact."""
    moments = {}
    for name, parameter in model.named_parameters():
        for moment, value in optimizer.state.get(parameter, {}).items():
            moments[f"{moment}:{name}"] = torch.as_tensor(value)
    folder.mkdir(parents=True, exist_ok=True)
    final = path_of(folder, step)
    with atomic_folder(final) as partial:
        save_file(dict(named_weights(model)), partial / WEIGHTS)
        save_file(moments, partial / OPTIMIZER)
        hashes = {name: _hash(partial / name) for name in (WEIGHTS, OPTIMIZER)}
        content = {"step": step, "hashes": hashes, **state}
        (partial / STATE).write_text(json.dumps({**content, "digest": _digest(content)}, indent=1))
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
    stored = StoredWeights(path)
    weights = dict(named_weights(model))
    saved = {name for name in stored.shapes if ":" not in name}
    if saved != weights.keys():
        missing = sorted(weights.keys() - saved)[:3]
        unknown = sorted(saved - weights.keys())[:3]
        raise CheckpointError(
            f"{path}: belongs to another model: lacks {missing}, and has {unknown} instead"
        )
    for name, weight in weights.items():
        weight.copy_(stored.get(name, weight))
    if optimizer is not None:
        _load_moments(
            stored, stored.shapes.keys() - saved, dict(model.named_parameters()), optimizer
        )
    return stored.state


def _load_moments(
    stored: StoredWeights,
    keys: Collection[str],
    parameters: Mapping[str, Tensor],
    optimizer: Optimizer,
) -> None:
    """Load the optimizer's state, of which each weight has all tensors or none."""
    moments = sorted({key.partition(":")[0] for key in keys})
    for key in sorted(keys):
        moment, _, name = key.partition(":")
        if name not in parameters:
            hint = nearest(name, parameters)
            raise CheckpointError(
                f"{stored.file_of(key)}: {key} belongs to no weight of the model{hint}"
            )
        for expected in moments:
            if f"{expected}:{name}" not in keys:
                raise CheckpointError(
                    f"{stored.file_of(key)}: lacks {expected}:{name}; expected it beside {key}"
                )
        weight = parameters[name]
        value = stored.get(key, torch.zeros(()) if moment == _STEP else weight)
        optimizer.state[weight][moment] = value.to(
            weight.device
        )  # fused AdamW needs its steps there, too


class StoredWeights:
    """The tensors of a checkpoint by name; those of the optimizer are called `MOMENT:NAME`.

    shapes: of all tensors.
    """

    def __init__(self, path: Path) -> None:
        self.path = must_hold_files(path)
        self.state = read_state(path)
        _check_hashes(path, self.state)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._files: dict[str, Path] = {}  # tensor -> its file
        self._readers: dict[Path, Any] = {}
        for file in sorted(path.glob("*.safetensors")):
            try:
                reader: Any = safe_open(file, "pt")
            except (OSError, SafetensorError) as error:
                raise CheckpointError(f"{file}: damaged ({error}); {_cure(path)}") from error
            self._readers[file] = reader
            for name in reader.keys():  # noqa: SIM118 - no mapping
                self._files[name] = file
                self.shapes[name] = tuple(reader.get_slice(name).get_shape())

    def file_of(self, name: str) -> Path:
        """Return the file of a tensor."""
        return self._files[name]

    def get(self, name: str, like: Tensor) -> Tensor:
        """Return a tensor; a CheckpointError names one that is missing, or unlike another in shape or kind."""
        if name not in self.shapes:
            raise CheckpointError(
                f"{self.path}: of another model: {name} is missing{nearest(name, self.shapes)}"
            )
        shape = self.shapes[name]
        if shape != tuple(like.shape):
            raise CheckpointError(
                f"{self.file_of(name)}: {name} has shape {shape}, expected {tuple(like.shape)}"
            )
        tensor = self[name]
        if tensor.is_floating_point() != like.is_floating_point():
            raise CheckpointError(
                f"{self.file_of(name)}: {name} has {tensor.dtype}, expected {like.dtype}"
            )
        return tensor

    def __getitem__(self, name: str) -> Tensor:
        """Return a tensor."""
        tensor: Tensor = self._readers[self._files[name]].get_tensor(name)
        return tensor


def content_of(path: Path) -> str:
    """Return the state of a checkpoint with its hashes as text; empty if there is none.

    Raises:
        CheckpointError: the file is too long to be a state, or no text.
    """
    if not (path / STATE).exists():
        return ""
    text: str = read_limited(path / STATE, bytes.decode, CheckpointError, "damaged")
    return text


def prune(folder: Path, keep: int, best: int | None, due: Callable[[int], bool]) -> None:
    """Remove all but the newest `keep` checkpoints and the best; earlier ones that were not due, as after SIGTERM, go.

    So interrupted runs keep the checkpoints of undisturbed ones.
    """
    steps = steps_in(folder)
    regular_steps = [step for step in steps if step in {best, steps[-1]} or due(step)]
    for step in set(steps) - {best, *regular_steps[-keep:]}:
        shutil.rmtree(path_of(folder, step), ignore_errors=True)


def named_weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield parameters and persistent buffers by name; one name for a shared tensor."""
    for name, parameter in model.named_parameters():
        yield name, parameter.data
    persistent = set(model.state_dict())
    for name, buffer in model.named_buffers():
        if name in persistent:
            yield name, buffer


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
        raise CheckpointError(f"{path}: is the checkpoint of step {state['step']}; {_cure(path)}")
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
        if Path(name).name != name:
            raise CheckpointError(
                f"{path / STATE}: names {name!r}, not a file of its folder; {_cure(path)}"
            )
        if (path / name).exists() and not (path / name).is_file():
            raise CheckpointError(
                f"{path / name}: a pipe, a device or a folder, not a file; {_cure(path)}"
            )
        try:
            digest = _hash(path / name)
        except OSError as error:
            raise CheckpointError(f"{path / name}: missing ({error}); {_cure(path)}") from error
        if digest != hashes.get(name):
            raise CheckpointError(
                f"{path / name}: damaged (its content is not what was written); {_cure(path)}"
            )


def _cure(path: Path) -> str:
    return f"remove {path}, so that training resumes from an earlier checkpoint or starts again"


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16).hexdigest()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
