"""How cells share a machine: how many run at once, and which cores and GPUs each gets."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.experiments.studies.cells import Cell


@dataclass(frozen=True)
class Share:
    """What a study makes of a machine: `jobs` cells at once, `threads` for each, `gpus` dealt in turn."""

    jobs: int
    threads: int
    gpus: tuple[str, ...] = ()

    def environment(self, slot: int) -> dict[str, str]:
        """Variables for what runs in a slot; a recipe's own `train.threads` comes before the number told here."""
        threads = {"OMP_NUM_THREADS": str(self.threads)}
        return {**threads, "CUDA_VISIBLE_DEVICES": self.gpus[slot % len(self.gpus)]} if self.gpus else threads


def share_of(cells: Sequence[Cell], jobs: int | None = None) -> Share:
    """How the cells share this machine.

    jobs: cells at once; none: one a GPU, without GPUs as many as have cores for the threads that recipes ask for, and
    one where they ask for none, because torch then takes all.
    """
    cores, gpus = cores_here(), gpus_here()
    asked = max((cell.recipe.train.threads or 0 for cell in cells), default=0)
    jobs = jobs or len(gpus) or max(1, cores // (asked or cores))
    return Share(jobs, asked or max(1, cores // jobs), gpus)


def cores_here() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus_here() -> tuple[str, ...]:
    """Names of the GPUs that children may be given, as CUDA_VISIBLE_DEVICES takes them."""
    if (told := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return tuple(name for part in told.split(",") if (name := part.strip()) and name != "-1")
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=20)  # noqa: S607
    except (OSError, subprocess.TimeoutExpired):
        return ()
    lines = done.stdout.splitlines() if not done.returncode else []
    return tuple(str(number) for number, line in enumerate([line for line in lines if line.startswith("GPU ")]))
