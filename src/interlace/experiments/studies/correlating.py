"""Does what is aligned transfer? Probes of alignment against what is lost from the source to another language.

The paper of ALIGN-MLM gives Spearman's correlation of alignment (P@1 of translations) with what transfer does not lose.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from interlace.experiments.studies._words import over_all
from interlace.experiments.studies.measures import DIFFERENCE, OTHERS, scores_of
from interlace.experiments.studies.tables import Column, Entry, Line, Table
from interlace.scores.published import rows as published
from interlace.scores.statistics import spearman

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlace.experiments.studies.measures import Measure, Scores, Variant
    from interlace.experiments.studies.results import Row

    Group = list[Measure]  # the languages of a score

_LEAST = 4  # points: of three, no order has a p below a third
_CAPTION = (
    "Spearman's correlation of a probe, which trains nothing, with what transfer does not lose: zero-shot minus "
    "supervised scores of a language; where a task has no supervised ones, the score in a language minus that in the "
    "source. A point is a system in a language, the mean over its runs; behind the correlation p (two-sided) and the "
    "number of points. Points of one system, or of one language, are not independent, so p is too low where they are "
    "many; correlation over systems says nothing of causes."
)


def correlations(rows: Sequence[Row], title: str) -> list[Table]:
    """A table `alignment`, a row a probe and a column a task that transfers; none where there are too few points.

    Args:
        rows: as `read_results` gives them.
        title: of the study.
    """
    groups = _groups(scores := scores_of(rows))
    lost = [group for group in groups if group[0].setting == DIFFERENCE]
    known = {group[0].task for group in lost}
    tuned = [group for group in groups if any(measure.is_source for measure in group) and group[0].task not in known]
    trained = {group[0].task for group in [*tuned, *lost]}
    probes = [group for group in groups if group[0].task not in trained]
    whole = scores_of(over_all([row for row in rows if row["task"] not in trained]))
    told = {measure.task for measure in whole}  # their main scores are over other words with a dictionary than without
    probes = [*(group for group in probes if group[0].task not in told), *_groups(whole)]
    scores, tuned = {**scores, **whole}, [*tuned, *lost]
    lines = []
    for probe in probes:
        entries = [_entry(_points(scores, probe, task), probe[0], task[0]) for task in tuned]
        if any(entries):
            lines.append(Line(f"{probe[0].task} ({probe[0].metric})", tuple(entries)))
    if not lines:
        return []
    columns = tuple(Column("", f"{task[0].task}, {_against(task[0])}") for task in tuned)
    return [Table("alignment", f"{title}: alignment and transfer", columns, (*lines, *_theirs(tuned)), _CAPTION)]


def _theirs(tuned: Sequence[Group]) -> Iterator[Line]:
    """What ALIGN-MLM's paper has of the same tasks, over its twelve models; signs as ours, for what is not lost."""
    for row in published("correlation of alignment and transfer"):
        figures = [row.scores.get(task[0].task) if task[0].setting == DIFFERENCE else None for task in tuned]
        if any(figure is not None for figure in figures):
            entries = (None if figure is None else Entry(f"{-figure:.2f}") for figure in figures)
            yield Line(f"{row.cite}, {row.table.number}", tuple(entries), theirs=True)


def _against(task: Measure) -> str:
    return "\u2212 difference" if task.setting == DIFFERENCE else task.setting


def _groups(scores: Scores) -> list[Group]:
    found: dict[tuple[str, str, str], Group] = {}
    for measure in scores:
        if measure.language != OTHERS:
            found.setdefault((measure.task, measure.setting, measure.metric), []).append(measure)
    return list(found.values())


def _points(scores: Scores, probe: Group, task: Group) -> list[tuple[float, float]]:
    """(probe, what transfer does to the score) of each system in each language that has both."""
    changes = _changes(scores, task)
    return [
        (fmean(runs.values()), changes[one.language, variant])
        for one in probe
        for variant, runs in scores[one].items()
        if (one.language, variant) in changes
    ]


def _changes(scores: Scores, task: Group) -> dict[tuple[str, Variant], float]:
    """Zero-shot minus supervised scores, or a language's minus the source's, by language and system."""
    means = {
        (measure.language, variant): fmean(runs.values())
        for measure in task
        for variant, runs in scores[measure].items()
    }
    if task[0].setting == DIFFERENCE:
        return {place: -mean for place, mean in means.items()}
    source = task[0].source
    return {
        (language, variant): mean - means[source, variant]
        for (language, variant), mean in means.items()
        if language != source and (source, variant) in means
    }


def _entry(points: Sequence[tuple[float, float]], probe: Measure, task: Measure) -> Entry | None:
    """Signed so that more is better on both sides."""
    if len(points) < _LEAST:
        return None
    found = spearman(*zip(*points, strict=True))
    if math.isnan(found.statistic):
        return None
    greater = task.greater_is_better != (task.setting == DIFFERENCE)  # of the task's score: less loss is better
    sign = 1 if probe.greater_is_better == greater else -1
    p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.2g}"
    return Entry(f"{sign * found.statistic:.2f} ({p}, n = {found.n})")
