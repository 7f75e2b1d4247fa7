"""Run whole evaluation jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.training.fine_tuning import fine_tune_runs, score_run

if TYPE_CHECKING:
    from interlace.training.evaluation_job import EvaluationJob, Score


def score_job(job: EvaluationJob) -> list[Score]:
    """Return the score rows of all settings and languages of a task."""
    return [row for run in fine_tune_runs(job) for row in score_run(job, run)]
