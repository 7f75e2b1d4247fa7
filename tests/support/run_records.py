"""What a run left in its folder, and a way to stop one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from safetensors.torch import load_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch import Tensor

    from interlace.training.loop import TrainingStep


class StoppedError(Exception):
    """Stands for a signal or a person."""


def stop_at(number: int) -> Callable[[TrainingStep], None]:
    """Return what stops a run after a step."""

    def watch(step: TrainingStep) -> None:
        if step.index == number:
            raise StoppedError

    return watch


def about(run: Path) -> dict[str, Any]:
    """Return what `run.json` says."""
    found: dict[str, Any] = json.loads((run / "run.json").read_text())
    return found


def records(run: Path, kind: str) -> list[dict[str, Any]]:
    """Return the lines of `metrics.jsonl` of a kind."""
    rows = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [row for row in rows if row["kind"] == kind]


def weights(run: Path, step: int | None = None) -> dict[str, Tensor]:
    """Return the weights of the exported model, or of a checkpoint."""
    folder = run / "model" if step is None else run / "checkpoints" / f"step-{step:08}"
    return load_file(folder / "model.safetensors")
