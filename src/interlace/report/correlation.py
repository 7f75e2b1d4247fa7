"""Correlation of alignment with cross-lingual transfer (Tang et al. 2022, section 5 and appendix E)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interlace.core.randomness import Purpose, generator
from interlace.report.differences import IMPOSSIBLE
from interlace.report.tables import Column, Entry, Line, Table
from interlace.report.text import p_value
from interlace.scores import ScoreTable, held_out
from interlace.scores.aggregation import GAP, OTHERS, Measure, Results, System, aggregate
from interlace.scores.published import rows as published_rows
from interlace.scores.statistics import ALPHA, rank_correlation

_CAPTION = (
    "Spearman correlation of a probe with the transfer gap, negated: zero-shot minus supervised scores in a "
    "language, or the score in a language minus that in the source if a task has no supervised scores. Systems, by the "
    "mean over their runs, are ranked within each condition (a language under one combination of settings), and the "
    "test permutes systems in all conditions alike, since scores of one system are not independent. p is two-sided, "
    f"unadjusted; {IMPOSSIBLE}: cannot be significant (p < {ALPHA}) with so few systems. n: systems x conditions."
)


@dataclass(frozen=True)
class _MetricScores:
    """The scores of one task, setting and metric, by language, without their mean."""

    measures: Sequence[Measure]
    results: Results

    @property
    def first(self) -> Measure:
        return self.measures[0]

    @property
    def is_gap(self) -> bool:
        return self.first.setting == GAP

    def means(self) -> dict[tuple[str, System], float]:
        """Return the mean over runs by language and system."""
        means = {}
        for measure in self.measures:
            for system, result in self.results[measure].items():
                means[measure.language, system] = result.mean
        return means


def correlation_tables(scores: ScoreTable, title: str) -> list[Table]:
    """Return the table `alignment`, a row per probe and a column per fine-tuned task; none with too few points."""
    groups = _by_metric(aggregate(scores))
    tasks = _fine_tuned(groups)
    trained = {task.first.task for task in tasks}
    untrained = scores.filter(lambda row: row.task not in trained)
    probes_over_all_words = _by_metric(aggregate(held_out.over_all_words(untrained)))
    # main metrics of probes with a dictionary are over different words
    left_out = trained | {probe.first.task for probe in probes_over_all_words}
    probes = [group for group in groups if group.first.task not in left_out]
    lines = []
    for probe in (*probes, *probes_over_all_words):
        entries = tuple(_correlation(probe, task) for task in tasks)
        if any(entries):
            lines.append(Line(f"{probe.first.task} ({probe.first.metric})", entries))
    if not lines:
        return []
    lines += _published_lines(tasks)
    columns = []
    for task in tasks:
        head = "\N{MINUS SIGN} difference" if task.is_gap else task.first.setting
        columns.append(Column(f"{task.first.task}, {head}"))
    caption = " ".join(filter(None, [_CAPTION, scores.candidates_note()]))
    return [
        Table(
            "alignment", f"{title}: alignment and transfer", tuple(columns), tuple(lines), caption
        )
    ]


def _by_metric(results: Results) -> list[_MetricScores]:
    groups: dict[tuple[str, str, str], list[Measure]] = {}
    for measure in results:
        if measure.language != OTHERS:
            groups.setdefault((measure.task, measure.setting, measure.metric), []).append(measure)
    return [_MetricScores(measures, results) for measures in groups.values()]


def _fine_tuned(groups: Sequence[_MetricScores]) -> list[_MetricScores]:
    """Return the fine-tuned tasks without a transfer gap, by their scores, then the gaps of the others."""
    gaps = [group for group in groups if group.is_gap]
    with_gap = {gap.first.task for gap in gaps}
    tasks = []
    for group in groups:
        is_tuned = any(measure.is_source for measure in group.measures)
        if is_tuned and group.first.task not in with_gap:
            tasks.append(group)
    return tasks + gaps


def _published_lines(tasks: Sequence[_MetricScores]) -> list[Line]:
    """Return the correlations that ALIGN-MLM's appendix prints for these tasks, with the signs of ours."""
    printed = {(row.table.task, row.table.score) for row in published_rows()}
    lines = []
    for row in published_rows("correlation of alignment and transfer"):
        entries: list[Entry | None] = []
        for task in tasks:
            is_comparable = task.is_gap and (task.first.task, task.first.metric) in printed
            figure = row.scores.get(task.first.task) if is_comparable else None
            entries.append(None if figure is None else Entry(f"{-figure:.2f}"))
        if any(entries):
            lines.append(Line(f"{row.cite}, {row.table.number}", tuple(entries), theirs=True))
    return lines


def _correlation(probe: _MetricScores, task: _MetricScores) -> Entry | None:
    """Correlate a probe with the change by transfer over systems and languages; greater is better on both sides."""
    changes = _changes(task)
    lone = (
        len({system.name for _, system in changes}) == 1
    )  # its variants are compared with each other
    points: dict[tuple[Any, Any], tuple[float, float]] = {}
    for (language, system), mean in probe.means().items():
        if (language, system) not in changes:
            continue
        condition = (language, () if lone else system.axes)
        points[condition, system if lone else system.name] = (mean, changes[language, system])
    correlation, conditions = rank_correlation(points, generator(Purpose.STATISTICS, 0, 4))
    if math.isnan(correlation.statistic):
        return None
    greater_is_better = (
        task.first.greater_is_better != task.is_gap
    )  # of the task's score: a smaller gap is better
    sign = 1 if probe.first.greater_is_better == greater_is_better else -1
    mark = IMPOSSIBLE if correlation.min_p >= ALPHA else ""
    statistic = f"{sign * correlation.statistic:.2f}"
    return Entry(
        f"{statistic} ({p_value(correlation.p)}{mark}, n = {correlation.n} x {conditions})"
    )


def _changes(task: _MetricScores) -> dict[tuple[str, System], float]:
    """Return the negated gap, or the score minus that in the source language, by language and system."""
    means = task.means()
    if task.is_gap:
        return {point: -mean for point, mean in means.items()}
    changes = {}
    source = task.first.source
    for (language, system), mean in means.items():
        if language != source and (source, system) in means:
            changes[language, system] = mean - means[source, system]
    return changes
