"""The device of training: accelerate's `Accelerator`, made the same way everywhere."""

import ctypes
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedDataParallelKwargs

from interlace.core.errors import MissingDependencyError
from interlace.core.files import atomic

TRACKERS = "trackers"  # folder of TensorBoard's files in a run's folder


def accelerator_for(
    precision: str, threads: int | None = None, trackers: Sequence[str] = (), folder: Path | None = None
) -> Accelerator:
    """Return an accelerator for a CPU, one GPU, or the processes of `torchrun` or `accelerate launch`.

    precision: `"no"` (float32), `"bf16"` (autocast), or `"auto"`, see `resolved`.
    trackers: accelerate's names of trackers; they write below `folder` after `start_trackers`.

    Raises:
        MissingDependencyError: a tracker's package is not installed.
    """
    for tracker in trackers:
        if find_spec(tracker) is None:
            raise MissingDependencyError(f"the tracker {tracker!r}", tracker)
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # glibc: on a CPU, returning pages and faulting them in again takes 15 % of a step
        libc.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    if threads:
        torch.set_num_threads(threads)
    if AcceleratorState._shared_state:  # noqa: SLF001 - accelerate allows one precision a process without a reset
        AcceleratorState._reset_state()  # noqa: SLF001
    return Accelerator(
        cpu=not torch.cuda.is_available(),
        mixed_precision=resolved(precision),
        log_with=list(trackers) or None,
        project_dir=str(folder / TRACKERS) if folder else None,
        # heads of objectives that a step does not draw get no gradient
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True, gradient_as_bucket_view=True)],
    )


def start_trackers(accelerator: Accelerator, folder: Path, group: str, config: Mapping[str, Any] | None = None) -> None:
    """Start a run of each tracker, named after the run's folder; Weights & Biases resumes an earlier one of it.

    The run's id is random, and kept in `trackers/id` of the folder.

    group: the recipe's name. config: settings by dotted key, shown beside the run.
    """
    place, project = folder.resolve(), os.environ.get("WANDB_PROJECT") or "interlace"
    kept = place / TRACKERS / "id"
    if accelerator.is_main_process and not kept.exists():
        with atomic(kept) as path:
            path.write_text(token_hex(8), encoding="utf-8")
    accelerator.wait_for_everyone()
    key = kept.read_text(encoding="utf-8")
    wandb = {"name": place.name, "group": group, "id": key, "resume": "allow", "dir": str(place)}
    flat = {name: value if isinstance(value, int | float) else str(value) for name, value in (config or {}).items()}
    options = {"wandb": wandb, "mlflow": {"run_name": place.name, "tags": {"recipe": group, "folder": key}}}
    accelerator.init_trackers(project, flat or None, options)


def resolved(precision: str) -> str:
    """Return the precision, `"no"` or `"bf16"`; `"auto"` becomes what is fast on this hardware."""
    return fast_precision() if precision == "auto" else precision


def fast_precision() -> str:
    """Return `"bf16"` where the hardware supports it, else `"no"`: bf16 is 50 times slower on a CPU without AVX-512."""
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "no"
    return "bf16" if torch.backends.cpu.get_cpu_capability().startswith(("AVX512", "AMX")) else "no"
