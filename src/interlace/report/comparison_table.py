"""Scores of systems as tables: systems down, languages across, with tests against a baseline and published rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from markupsafe import Markup

from interlace.report import captions
from interlace.report.published_rows import CitedRow, with_printed, with_published
from interlace.report.tables import (
    LOWER,
    Column,
    Entry,
    Line,
    Table,
    html_fragment,
    markdown,
    number_entries,
    table_names,
)
from interlace.report.text import DASH, NARROW, language_name, task_name
from interlace.scores import ZERO_SHOT, ScoreTable, from_to
from interlace.scores.aggregation import (
    OTHERS,
    Measure,
    Result,
    Results,
    System,
    aggregate,
    averaged_languages,
    systems_of,
)
from interlace.scores.comparison import Comparison, compare, significant_best
from interlace.scores.held_out import comparable_metrics, with_same_words
from interlace.scores.statistics import mean_interval


@dataclass(frozen=True)
class ComparisonTable:
    """Systems compared in all tasks of a score table: means over runs, tested against a baseline.

    Where systems held out different words of a dictionary, the scores are those over all words.

    baseline: name of a system; default: the first. metrics: by task, the metrics to show; default: the main one. cited:
    rows of papers, shown below the systems of their task, whose metrics are shown too.
    """

    scores: ScoreTable
    baseline: str = ""
    metrics: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cited: Sequence[CitedRow] = ()
    title: str = "Scores"

    def markdown(self) -> str:
        """Return the main table and those of the tasks as pipe tables."""
        return "\n".join(markdown(table) for table in self.tables())

    def html(self) -> Markup:
        """Return the main table and those of the tasks as HTML."""
        return Markup("").join(html_fragment(table) for table in self.tables())

    def _repr_html_(self) -> str:
        return str(self.html())

    def tables(self) -> list[Table]:
        """Return the main table, then a table for each task and setting, with cited rows below."""
        tables = [self.main()]
        for name in self.tasks_by_table:
            ours = self.task_table(name)
            published = self.published_table(name)
            if published is not None:
                ours = replace(published, caption=f"{ours.caption} {published.caption}")
            tables.append(ours)
        return tables

    @cached_property
    def scores_over_same_words(self) -> ScoreTable:
        """The scores with main metrics over the same words."""
        return with_same_words(self.scores)

    @cached_property
    def systems(self) -> list[System]:
        """The systems in order."""
        return systems_of(self.scores_over_same_words)

    @cached_property
    def results(self) -> Results:
        """The finite scores by measure and system, with means over languages and transfer gaps."""
        return self._aggregate(self._shown_metrics)

    @cached_property
    def tests(self) -> dict[tuple[Measure, System], Comparison]:
        """The tests against the baseline over runs."""
        tests = compare(
            self.scores_over_same_words, self.baseline or None, metrics=self._shown_metrics
        )
        return {(test.measure, test.system): test for test in tests}

    @cached_property
    def tasks(self) -> list[TaskScores]:
        """The scores of each task, setting, metric and source language."""
        groups: dict[tuple[str, ...], list[Measure]] = {}
        for measure in self.results:
            groups.setdefault(measure.group, []).append(measure)
        return [TaskScores(self, _in_order(measures)) for measures in groups.values()]

    @cached_property
    def tasks_by_table(self) -> dict[str, list[TaskScores]]:
        """The scores by the name of their table: the task, with the setting if the task has several."""
        names = table_names((task.name, task.setting) for task in self.tasks)
        groups: dict[str, list[TaskScores]] = {}
        for task in self.tasks:
            groups.setdefault(names[task.name, task.setting], []).append(task)
        return groups

    @property
    def baseline_label(self) -> str:
        """The label of the baseline."""
        name = self.baseline or self.systems[0].name
        return next((system.label for system in self.systems if system.name == name), name)

    def main(self) -> Table:
        """Return by task the source language, and the mean of the others or the only other one."""
        selected = self._aggregate(self.metrics)
        columns: list[Measure] = []
        for task in self.tasks:
            measures = [measure for measure in task.measures if measure in selected]
            means = [measure for measure in measures if measure.language == OTHERS]
            columns += [measure for measure in measures if measure.is_source]
            columns += means or [measure for measure in measures if not measure.is_source]
        return self._table("main", self.title, columns, self.systems)

    def task_table(self, name: str) -> Table:
        """Return all languages of a task and setting, a name in `tasks_by_table`."""
        measures = self._measures(name)
        scored = set(chain.from_iterable(self.results[measure] for measure in measures))
        systems = [system for system in self.systems if system in scored]
        table = self._table(name, f"{self.title}: {name.replace('.', ', ')}", measures, systems)
        rows = captions.rows_of(measures, self.scores_over_same_words)
        results = list(chain.from_iterable(self.results[measure].values() for measure in measures))
        return replace(
            table, caption=" ".join([table.caption, *captions.data_notes(rows, results)])
        )

    def published_table(self, name: str) -> Table | None:
        """Return the table of a task and setting with cited rows below; None if no row has figures of its columns."""
        measures = self._measures(name)
        rules = captions.rules_of(captions.rows_of(measures, self.scores_over_same_words))
        return with_published(self.task_table(name), measures, self.cited, rules)

    @cached_property
    def _shown_metrics(self) -> dict[str, Sequence[str]]:
        return with_printed(self.scores_over_same_words, self.metrics, self.cited)

    def _aggregate(self, metrics: Mapping[str, Sequence[str]]) -> Results:
        scores = self.scores_over_same_words
        return aggregate(scores, comparable_metrics(scores, metrics))

    def _measures(self, name: str) -> list[Measure]:
        return list(chain.from_iterable(task.measures for task in self.tasks_by_table[name]))

    def _table(
        self, name: str, title: str, measures: Sequence[Measure], systems: Sequence[System]
    ) -> Table:
        best = {measure: significant_best(measure, self.results[measure]) for measure in measures}
        lines = []
        for system in systems:
            entries = [
                self._entry(measure, system, is_best=system == best[measure])
                for measure in measures
            ]
            lines.append(Line(system.label, (Entry(self._run_count(measures, system)), *entries)))
        columns = [Column("runs")]
        columns += [Column(measure.name, _column_group(measure)) for measure in measures]
        return Table(name, title, tuple(columns), tuple(lines), self._caption(measures, systems))

    def _entry(self, measure: Measure, system: System, *, is_best: bool) -> Entry | None:
        result = self.results[measure].get(system)
        if result is None:
            return None
        interval = mean_interval(result.sample)
        test = self.tests.get((measure, system))
        return Entry(
            measure.format(result.mean),
            spread="" if math.isnan(interval.low) else measure.format(interval.half_width),
            bold=is_best,
            significant=test is not None and test.significant,
            collapsed=result.collapsed,
            small=_range(measure, result),
        )

    def _run_count(self, measures: Sequence[Measure], system: System) -> str:
        """Return how many values each mean of a system is over, such as `4` or `3 to 4`."""
        counts = [
            len(self.results[measure][system].sample)
            for measure in measures
            if system in self.results[measure]
        ]
        return from_to(counts)

    def _caption(self, measures: Sequence[Measure], systems: Sequence[System]) -> str:
        rows = captions.rows_of(measures, self.scores_over_same_words)
        notes = [
            captions.MEANS_NOTE,
            captions.checkpoints_note(systems),
            captions.direction_note(measures),
        ]
        if len(self.systems) > 1:
            notes += captions.significance_notes(self.baseline_label)
            notes.append(self._too_few_runs_note(measures))
        notes += captions.mean_notes(measures, self.results)
        notes += [rows.collapse_note(), rows.candidates_note(), rows.majority_note()]
        notes += captions.words_notes(measures, rows)
        return " ".join(filter(None, notes))

    def _too_few_runs_note(self, measures: Sequence[Measure]) -> str:
        """Return a sentence on the systems with too few runs for a significant difference, or nothing."""
        smallest_p: dict[str, float] = {}
        for (measure, system), test in self.tests.items():
            if measure in measures and not test.can_be_significant:
                smallest_p[system.label] = max(
                    smallest_p.get(system.label, 0.0), test.adjusted_min_p
                )
        if not smallest_p:
            return ""
        parts = ", ".join(f"{label} {p:.2g}" for label, p in smallest_p.items())
        return f"With so few runs these cannot be significant (smallest possible p): {parts}."


@dataclass(frozen=True)
class TaskScores:
    """The scores of all systems in one task, setting, metric and source language.

    measures: the source language, the mean over the languages that all systems share, the others by code.
    """

    comparison: ComparisonTable = field(repr=False)
    measures: Sequence[Measure]

    @property
    def first(self) -> Measure:
        """A measure, for metric, unit, source and direction."""
        return self.measures[0]

    @property
    def name(self) -> str:
        """The task."""
        return self.first.task

    @property
    def setting(self) -> str:
        """How the task is trained."""
        return self.first.setting

    @property
    def title(self) -> str:
        """The title of the task with its setting."""
        return task_name(self.name, self.setting)

    @property
    def unit(self) -> str:
        """The unit behind a number."""
        if not self.first.unit:
            return ""
        space = NARROW if self.first.unit == "%" else " "
        return space + self.first.unit

    @cached_property
    def rows(self) -> ScoreTable:
        """The scores of the task and setting, with the other metrics."""
        return captions.rows_of(self.measures, self.comparison.scores_over_same_words)

    @cached_property
    def results(self) -> Results:
        """The scores by measure and system."""
        return {measure: self.comparison.results[measure] for measure in self.measures}

    @property
    def systems(self) -> list[System]:
        """The systems with a score, in order."""
        scored = set(chain.from_iterable(self.results.values()))
        return [system for system in self.comparison.systems if system in scored]

    @property
    def mean(self) -> Measure | None:
        """The mean over the languages that all systems share, without the source."""
        return next((measure for measure in self.measures if measure.language == OTHERS), None)

    @property
    def others(self) -> list[Measure]:
        """The languages other than the source."""
        return [
            measure
            for measure in self.measures
            if measure.language != OTHERS and not measure.is_source
        ]

    @property
    def summary(self) -> Measure | None:
        """The mean, or the only language other than the source."""
        if self.mean is None and len(self.others) == 1:
            return self.others[0]
        return self.mean

    @property
    def averaged(self) -> list[str]:
        """The languages of the mean."""
        return averaged_languages(self.results, self.mean) if self.mean else []

    @property
    def is_tuned(self) -> bool:
        """Whether models were fine-tuned."""
        return any(row.tuning for row in self.rows)

    def measure_name(self, measure: Measure) -> str:
        """Return the name of a language or of the mean for figures."""
        if measure.language:
            return language_name(measure.language)
        if len(self.averaged) < len(self.others):
            return f"Mean of {len(self.averaged)} shared"
        return "Mean of others" if measure.has_source else "Mean"

    def other_metrics(self) -> Table | None:
        """Return the metrics other than this one, a row per language and system; None if there are none."""
        metrics = [metric for metric in self.rows.unique("metric") if metric != self.first.metric]
        means: dict[tuple[str, System, str], float] = {}
        for measure, by_system in aggregate(self.rows, {self.name: metrics}).items():
            for system, result in by_system.items():
                means[measure.language, system, measure.metric] = result.mean
        lines = []
        for measure in self.measures:
            for system in self.systems:
                values = [means.get((measure.language, system, metric)) for metric in metrics]
                if any(value is not None for value in values):
                    entries = (Entry(system.label), *number_entries(values, ".2f"))
                    lines.append(Line(self.measure_name(measure), entries))
        if not lines:
            return None
        columns = (Column("System", is_text=True), *map(Column, metrics))
        return Table("other", f"{self.title}: other metrics", columns, tuple(lines), "", "Language")


def _in_order(measures: Sequence[Measure]) -> list[Measure]:
    """Return the source language, the mean, and the others by code."""
    return sorted(measures, key=lambda measure: (not measure.is_source, measure.language))


def _column_group(measure: Measure) -> str:
    """Return the head of columns: task, setting unless zero-shot, metric and unit, and an arrow if lower is better."""
    setting = "" if measure.setting == ZERO_SHOT else f", {measure.setting}"
    arrow = LOWER if measure.greater_is_better is False else ""
    unit = f", {measure.unit}" if measure.unit else ""
    return f"{measure.task}{setting}{arrow} ({measure.metric}{unit})"


def _range(measure: Measure, result: Result) -> str:
    """Return lowest to highest measurement, or the bootstrap interval of a single one; nothing without a range."""
    low, high = result.ends
    if low == high:
        return ""
    text = f"{measure.format(low)}{DASH}{measure.format(high)}"
    return f"95 %: {text}" if result.interval else text
