"""Run whole evaluation jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.training.fine_tuning import score_run
from interlace.training.selection import runs_of_task

if TYPE_CHECKING:
    from interlace.training.evaluation_job import EvaluationJob, Score


def score_job(job: EvaluationJob) -> list[Score]:
    """Return the score rows of all settings and languages of a task."""
    return [
        row
        for run in runs_of_task(job.task, job.source, job.targets)
        for row in score_run(job, run)
    ]
