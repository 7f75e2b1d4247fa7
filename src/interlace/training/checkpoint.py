"""Checkpoints: weights, optimizer state and counters in safetensors and JSON, written atomically.

A checkpoint is a folder `step-00000100`. It is written under another name, flushed to disk and renamed, so a killed
process leaves the previous one intact. `state.json` names the run and has hashes of all files and of itself, which
reveal later damage and checkpoints of other runs. Sharded training writes the same
tensors in a file per process, `shard-00001-model-00001-of-00001.safetensors`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from typing_extensions import TypedDict

from interlace.core.errors import CheckpointError, nearest
from interlace.core.files import atomic_folder, must_hold_files
from interlace.core.json_files import json_record, read_json

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch import Tensor, nn
    from torch.optim import Optimizer

_STEP = "step"  # the optimizer's count of updates of a weight
WEIGHTS, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"


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
    folder: Path,
    step: int,
    model: nn.Module,
    optimizer: Optimizer,
    state: dict[str, Any],
    accelerator: Accelerator | None = None,
) -> Path:
    """Write `folder/step-XXXXXXXX` and return its path; `state` is plain JSON. Earlier checkpoints stay intact.

    accelerator: of sharded weights, of which each process writes its part; all processes must then call this.
    """
    final = path_of(folder, step)
    folder.mkdir(parents=True, exist_ok=True)
    weights = dict(named_weights(model))
    moments = {
        f"{key}:{name}": torch.as_tensor(value)
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }
    main = accelerator is None or accelerator.is_main_process
    with atomic_folder(final) if main else nullcontext(final) as partial:
        if accelerator is None:
            save_file(weights, partial / WEIGHTS)
            save_file(moments, partial / OPTIMIZER)
        else:
            _save_parts(weights | moments, partial)
        if main:
            hashes = {path.name: _hash(path) for path in sorted(partial.glob("*.safetensors"))}
            content = {"step": step, "hashes": hashes, **state}
            (partial / STATE).write_text(json.dumps({**content, "digest": _digest(content)}, indent=1))
    return final


def _save_parts(tensors: dict[str, Tensor], folder: Path) -> None:
    """Write this process's parts of sharded tensors into the first one's folder, with their places in the header."""
    from accelerate.utils import broadcast_object_list
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    place = Path(broadcast_object_list([str(folder)])[0])
    try:
        save(dict(tensors), storage_writer=HuggingFaceStorageWriter(str(place), save_distributed=True))
    except CheckpointException as error:
        rank, (reason, _) = next(iter(error.failures.items()))
        raise CheckpointError(f"{place}: process {rank} cannot write its part of the checkpoint: {reason}") from error


def steps_in(folder: Path) -> list[int]:
    """Return the steps of the checkpoints in `folder`, ascending."""
    names = [path.name.removeprefix("step-") for path in folder.glob("step-*") if path.is_dir()]
    return sorted(int(name) for name in names if re.fullmatch("[0-9]{1,15}", name))


def path_of(folder: Path, step: int) -> Path:
    """Return the path of the checkpoint of `step`."""
    return folder / f"step-{step:08d}"


@torch.no_grad()
def load(path: Path, model: nn.Module, optimizer: Optimizer | None = None) -> CheckpointState:
    """Load a checkpoint into the model (and the optimizer), and return its state; or raise a CheckpointError.

    Either may be sharded, over any number of processes: each process reads its parts.
    """
    stored, tensors = StoredWeights(path), dict(named_weights(model))
    saved = {name for name in stored.shapes if ":" not in name}
    missing, unknown = sorted(set(tensors) - saved), sorted(saved - set(tensors))
    if missing or unknown:
        raise CheckpointError(f"{path}: belongs to another model: lacks {missing[:3]}, and has {unknown[:3]} instead")
    for name, tensor in tensors.items():
        tensor.copy_(_like(tensor, stored.get(name, tensor)))
    if optimizer is not None:
        _load_moments(stored, stored.shapes.keys() - saved, dict(model.named_parameters()), optimizer)
    return stored.state


def _load_moments(
    stored: StoredWeights, keys: Collection[str], parameters: Mapping[str, Tensor], optimizer: Optimizer
) -> None:
    """Load the optimizer's state, of which each weight has all tensors or none."""
    moments = {key.partition(":")[0] for key in keys}
    for key in sorted(keys):
        moment, _, name = key.partition(":")
        if name not in parameters:
            hint = nearest(name, parameters)
            raise CheckpointError(f"{stored.file_of(key)}: {key} belongs to no weight of the model{hint}")
        if lacking := sorted(other for other in moments if f"{other}:{name}" not in keys):
            raise CheckpointError(f"{stored.file_of(key)}: lacks {lacking[0]}:{name}; expected it beside {key}")
        weight = parameters[name]
        if moment == _STEP:
            value = stored.get(key, torch.zeros(()))
            optimizer.state[weight][moment] = value.to(weight.device)  # fused AdamW needs it there
        else:
            value = stored.get(key, weight)
            optimizer.state[weight][moment] = _like(weight, value.to(weight.device))


def _like(own: Any, value: Tensor) -> Tensor:
    """Return this process's part of a value that is divided as `own` is; the whole value if it is not."""
    if not hasattr(own, "full_tensor"):
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value.to(own.device), own.device_mesh, own.placements, src_data_rank=None)


class StoredWeights:
    """The tensors of a checkpoint by name, sharded or not; those of the optimizer are called `MOMENT:NAME`.

    shapes: of all tensors.
    """

    def __init__(self, path: Path) -> None:
        from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

        self.path, self.state = must_hold_files(path), read_state(path)
        _check_hashes(path, self.state)
        try:
            found: Any = HuggingFaceStorageReader(str(path)).read_metadata()
            self._files: dict[str, Any] = {}
            self._parts: defaultdict[str, list[tuple[str, Any]]] = defaultdict(list)  # file and place of each part
            for part, stored in found.storage_data.items():
                self._parts[part.fqn].append((stored.relative_path, part.offset))
                self._files.setdefault(stored.relative_path, safe_open(stored.relative_path, "pt"))
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"{path}: damaged ({error}); {_cure(path)}") from error
        self.shapes = {name: each.size for name, each in found.state_dict_metadata.items()}

    def file_of(self, name: str) -> Path:
        """Return the file of a tensor, or of its first part."""
        return self.path / Path(self._parts[name][0][0]).name

    def get(self, name: str, like: Tensor) -> Tensor:
        """Return a whole tensor; a CheckpointError names one that is missing, or unlike another in shape or kind."""
        if name not in self.shapes:
            raise CheckpointError(f"{self.path}: of another model: {name} is missing{nearest(name, self.shapes)}")
        if self.shapes[name] != like.shape:
            shape = tuple(self.shapes[name])
            raise CheckpointError(f"{self.file_of(name)}: {name} has shape {shape}, expected {tuple(like.shape)}")
        tensor = self[name]
        if tensor.is_floating_point() != like.is_floating_point():
            raise CheckpointError(f"{self.file_of(name)}: {name} has {tensor.dtype}, expected {like.dtype}")
        return tensor

    def __getitem__(self, name: str) -> Tensor:
        """Return a whole tensor."""
        parts = [(self._files[file].get_tensor(name), offset) for file, offset in self._parts[name]]
        whole: Tensor = parts[0][0]
        if len(parts) == 1:
            return whole
        whole = whole.new_empty(self.shapes[name])
        for part, offset in parts:
            whole[tuple(slice(start, start + size) for start, size in zip(offset, part.shape, strict=True))] = part
        return whole


def content_of(path: Path) -> str:
    """Return the state of a checkpoint with its hashes as text; empty if there is none."""
    try:
        return (path / STATE).read_text()
    except OSError:
        return ""


def prune(folder: Path, keep: int, best: int | None, due: Callable[[int], bool]) -> None:
    """Remove all but the newest `keep` checkpoints and the best; earlier ones that were not due, as after SIGTERM, go.

    So interrupted runs keep the checkpoints of undisturbed ones.
    """
    steps = steps_in(folder)
    kept = [step for step in steps if step in {best, steps[-1]} or due(step)][-keep:]
    for step in set(steps) - {best, *kept}:
        shutil.rmtree(path_of(folder, step), ignore_errors=True)


def named_weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield parameters and buffers by name; one name for a shared tensor."""
    yield from ((name, parameter.data) for name, parameter in model.named_parameters())
    kept = set(model.state_dict())
    yield from ((name, buffer) for name, buffer in model.named_buffers() if name in kept)


def read_state(path: Path) -> CheckpointState:
    """Return the state of a checkpoint; raise a CheckpointError if it is missing, damaged, or of another step."""
    if not (path / STATE).is_file():
        raise CheckpointError(f"{path / STATE}: missing; {_cure(path)}")
    state: CheckpointState = read_json(path / STATE, CheckpointState, remedy=_cure(path), error=CheckpointError)
    content = {key: value for key, value in state.items() if key != "digest"}
    if state["digest"] != _digest(content):
        raise CheckpointError(f"{path / STATE}: damaged (its content is not what was written); {_cure(path)}")
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
    for name in sorted({*state["hashes"], *(file.name for file in path.glob("*.safetensors"))}):
        _check_hash(path / name, state)


def _check_hash(path: Path, state: CheckpointState) -> None:
    try:
        intact = _hash(path) == state["hashes"].get(path.name)
    except OSError as error:
        raise CheckpointError(f"{path}: missing ({error}); {_cure(path.parent)}") from error
    if not intact:
        raise CheckpointError(f"{path}: damaged (its content is not what was written); {_cure(path.parent)}")


def _cure(path: Path) -> str:
    return f"remove {path}, so that training resumes from an earlier checkpoint or starts again"


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16).hexdigest()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
