"""A task that the GPU's memory does not hold: told with what makes it smaller, so that the other tasks go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.core.errors import RunError
from interlace.training.fine_tuning import score_run

if TYPE_CHECKING:
    from interlace.training.evaluation_job import EvaluationJob, Score
    from interlace.training.selection import FineTuneRun


def score_within_memory(cell: EvaluationJob, fit: FineTuneRun) -> list[Score]:
    """The rows of one fine-tuning, or of a probe.

    Raises:
        RunError: it does not fit; names the settings to change. Of several processes the others would wait for ever
            for the one that went on, so there it is torch's error, which ends them all.
        InterlaceError: as `score_run`.
    """
    import torch

    try:
        return score_run(cell, fit)
    except torch.OutOfMemoryError:
        if cell.accelerator.num_processes > 1:
            raise
    cell.accelerator.free_memory()  # outside of `except`, where what the task held is free again
    raise RunError(f"{cell.name}: the GPU's memory does not hold this task{_cure(cell)}")


def _cure(cell: EvaluationJob) -> str:
    """The settings of a task that its memory follows, halved, as the end of a message."""
    task = cell.task
    found = {
        "tuning.tokens_per_batch": task.tuning.tokens_per_batch if task.learner() else None,
        "tokens_per_batch": getattr(task, "tokens_per_batch", None),
        "max_length": getattr(task, "max_length", None),
    }
    halved = {name: value // 2 for name, value in found.items() if isinstance(value, int) and value >= 32}
    told = [f"--set evaluate.tasks.{cell.name}.{name}={value}" for name, value in halved.items()]
    return f"; smaller batches and shorter rows need less: {' or '.join(told)}" if told else ""
