"""Where training runs: accelerate's `Accelerator`, made the same way everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedDataParallelKwargs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def accelerator_for(
    precision: str, threads: int | None = None, trackers: Sequence[str] = (), folder: Path | None = None
) -> Accelerator:
    """CPU, one GPU, or the processes that `torchrun` or `accelerate launch` started.

    precision: `"no"` (float32) or `"bf16"` (autocast).
    """
    if threads:
        torch.set_num_threads(threads)
    if AcceleratorState._shared_state:  # noqa: SLF001 - accelerate keeps one precision a process unless told to forget
        AcceleratorState._reset_state()  # noqa: SLF001
    accelerator = Accelerator(
        cpu=not torch.cuda.is_available(),
        mixed_precision=precision,
        log_with=list(trackers) or None,
        project_dir=str(folder) if folder else None,
        # heads of objectives that a step does not draw get no gradient
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
    )
    if trackers:
        accelerator.init_trackers("trackers")
    return accelerator
