"""The device of training: accelerate's `Accelerator`, made the same way everywhere."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedDataParallelKwargs

from interlace.core.errors import LostProcessError, require
from interlace.core.json_files import JsonMapping
from interlace.core.system import keep_freed_memory, peak_resident_memory

# oneDNN and PyTorch each keep the compiled products of the last shapes, by default 1,024 (0.7 MB each).
_CACHED_SHAPES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128", "LRU_CACHE_CAPACITY": "128"}

TRACKERS = "trackers"  # folder of TensorBoard's files in a run's folder


def accelerator_for(
    precision: str,
    threads: int | None = None,
    trackers: Sequence[str] = (),
    folder: Path | None = None,
) -> Accelerator:
    """Return an accelerator for a CPU, one GPU, or the processes of `torchrun` or `accelerate launch`.

    precision: `"no"` (float32), `"bf16"` or `"fp16"` (autocast), or `"auto"`, see `resolved`. With autocast, products
    that stay in float32 have TF32's precision on a GPU.
    trackers: accelerate's names of trackers; they write below `folder` after `start_trackers`.
    """
    for tracker in trackers:
        require(tracker, f"the tracker {tracker!r}")
    for variable, capacity in _CACHED_SHAPES.items():  # read at the first product
        os.environ.setdefault(variable, capacity)
    keep_freed_memory()
    if threads:
        torch.set_num_threads(threads)
    if AcceleratorState._shared_state:  # noqa: SLF001 - accelerate allows one precision a process without a reset
        AcceleratorState._reset_state()  # noqa: SLF001
    cuda = torch.cuda.is_available()
    precision = resolved(precision)
    if cuda:
        torch.set_float32_matmul_precision("highest" if precision == "no" else "high")
    accelerator = Accelerator(
        cpu=not cuda,
        mixed_precision=precision,
        log_with=list(trackers) or None,
        project_dir=str(folder / TRACKERS) if folder else None,
        # heads of objectives that a step does not draw get no gradient
        kwargs_handlers=[
            DistributedDataParallelKwargs(
                find_unused_parameters=True, gradient_as_bucket_view=True
            )
        ],
    )
    # accelerate leaves autocast out for fp16 on a CPU
    accelerator.native_amp = precision != "no"
    return accelerator


def start_trackers(
    accelerator: Accelerator, folder: Path, group: str, config: JsonMapping
) -> None:
    """Start a run of each tracker, named after the run's folder.

    group: the recipe's name. config: settings by dotted key, shown beside the run.
    """
    folder = folder.resolve()
    shown_config = {}
    for name, value in config.items():
        shown_config[name] = value if isinstance(value, int | float) else str(value)
    options = {"wandb": {"name": folder.name, "group": group, "dir": str(folder)}}
    project = os.environ.get("WANDB_PROJECT") or "interlace"
    accelerator.init_trackers(project, shown_config, options)


@contextmanager
def naming_lost_processes(accelerator: Accelerator) -> Iterator[None]:
    """Turn the errors of an exchange with a process that has ended into a LostProcessError."""
    try:
        yield
    except RuntimeError as error:
        if accelerator.num_processes == 1:  # torch may be built without torch.distributed
            raise
        is_lost = isinstance(error, torch.distributed.DistError) or re.search(
            r"gloo|NCCL|by peer", str(error)
        )
        if not is_lost:
            raise
        raise LostProcessError(
            f"process {accelerator.process_index} of {accelerator.num_processes} has lost another one, whose own "
            "message says why it ended; rerun the same command to resume from the last checkpoint "
            f"({str(error).partition(chr(10))[0]})"
        ) from error


def resolved(precision: str) -> str:
    """Return the precision, `"no"`, `"bf16"` or `"fp16"`.

    `"auto"` becomes `"bf16"` where the hardware supports it, else `"no"`: bf16 is 50 times slower on a CPU without
    AVX-512.
    """
    if precision != "auto":
        return precision
    if torch.cuda.is_available():
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        has_bf16 = torch.backends.cpu.get_cpu_capability().startswith(("AVX512", "AMX"))
    return "bf16" if has_bf16 else "no"


def peak_memory(device: torch.device) -> int:
    """Return the peak of this process's memory in bytes: allocated on its GPU, else resident."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return peak_resident_memory()
