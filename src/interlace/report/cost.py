"""What each run took: time, subwords, speed, and the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._format import NOTHING, count, duration
from interlace.report._templates import render
from interlace.training.selection import ALONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._parts import Score
    from interlace.report._run import Run

_HEADS = ("run", "device", "parameters", "subwords", "pre-training", "subwords/s", "fine-tuning", "scoring")


def cost(runs: Sequence[Run]) -> Section:
    """The section: a row a run, and what all of them took together."""
    rows = [_row(run) for run in runs]
    spent = [sum(seconds) for seconds in zip(*(_seconds(run) for run in runs), strict=True)]
    total = ["together", "", "", _counted(sum(run.facts.tokens or 0 for run in runs)), *map(_lasted, spent)]
    total.insert(5, "")
    told = f"Pre-training, fine-tuning and scoring took {duration(sum(spent))}, as far as it is counted below."
    lead = told if sum(spent) else "No timings were recorded."
    return Section("What it took", lead, render("cost", heads=_HEADS, rows=rows, total=total if len(runs) > 1 else []))


def _row(run: Run) -> list[str]:
    facts = run.facts
    training, tuning, scoring = _seconds(run)
    processes = facts.get("processes") or 1
    device = str(facts.get("device") or NOTHING) + (f" × {processes}" if processes > 1 else "")
    speed = count(facts.tokens / training) if facts.tokens and training else NOTHING
    sizes = [device, _counted(facts.parameters), _counted(facts.tokens)]
    return [_name(run), *sizes, _lasted(training), speed, _lasted(tuning), _lasted(scoring)]


def _name(run: Run) -> str:
    return run.label if run.label.endswith(run.folder.name) else f"{run.label} ({run.folder.name})"


def _seconds(run: Run) -> tuple[float, float, float]:
    """Pre-training, fine-tuning, scoring.

    Languages that share a fine-tuning each tell its time up to the check that chose their weights; the last of these
    counts, as it holds the others.
    """
    tuned: dict[tuple[object, ...], float] = {}
    for score in run.scores:
        if score.tuning:
            fit = _fit(score)
            tuned[fit] = max(tuned.get(fit, 0.0), float(score.tuning.get("seconds") or 0.0))
    return run.facts.seconds.get("training", 0.0), sum(tuned.values()), sum(score.seconds for score in run.scores)


def _fit(score: Score) -> tuple[object, ...]:
    """Whose rows rest on one training."""
    alone = score.language if score.setting in ALONE else ""
    return score.task, score.seed, score.key, alone, score.tuning.get("learning_rate")


def _counted(value: float | None) -> str:
    return count(value) if value else NOTHING


def _lasted(seconds: float) -> str:
    return duration(seconds) if seconds else NOTHING
