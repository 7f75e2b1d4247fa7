"""What was measured beside the main score of each task: exact match beside F1, bits beside a perplexity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interlace.report._parts import Score
    from interlace.report._run import Run
    from interlace.report._scores import TaskTable


@dataclass(frozen=True)
class Others:
    """Means over seeds of one task in one setting.

    names: of the scores, as the task calls them. lines: a recipe and a language each, with a mean a name; None where it
    was not measured or is no finite number.
    """

    names: list[str]
    lines: list[tuple[str, str, list[float | None]]]


def other_scores(runs: Sequence[Run], table: TaskTable) -> Others:
    """All scores but the main one of what a table holds, languages in its order; empty where there are none."""
    kind = (table.task, table.metric, table.source, table.setting)
    scored = [
        (run.label, score)
        for run in runs
        for score in run.scores
        if (score.task, score.metric, score.source, score.setting) == kind
    ]
    names = _beside(table.metric, [score for _, score in scored])
    lines = []
    for language in [line.language for line in table.lines]:
        for recipe in table.recipes:
            here = [_told(score) for label, score in scored if (label, score.language) == (recipe, language)]
            if here:
                lines.append((recipe, language, [_mean(scores.get(name) for scores in here) for name in names]))
    return Others(names, lines if names else [])


def _told(score: Score) -> dict[str, float]:
    """What was measured; without a dictionary the main score is over all words, as others' may be too."""
    return {f"{score.metric}, all": score.score, **score.scores}


def _beside(metric: str, scored: Sequence[Score]) -> list[str]:
    """Names of the scores beside the main one; what equals it everywhere is the same under its full name."""
    names = dict.fromkeys(name for score in scored for name in score.scores if name != metric)
    return [name for name in names if any(score.scores.get(name) != round(score.score, 4) for score in scored)]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return fmean(known) if known else None
