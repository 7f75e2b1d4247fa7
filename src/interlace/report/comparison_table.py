"""Scores of systems as tables: systems down, languages across, differences from a baseline and published rows below."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from markupsafe import Markup

from interlace.report import captions
from interlace.report.published_rows import (
    CitedRow,
    published_lines,
    published_notes,
    with_printed,
)
from interlace.report.runs import outcomes_path, read_outcomes
from interlace.report.tables import LOWER, Column, Entry, Line, Table, html_fragment, markdown
from interlace.report.text import DASH, p_value
from interlace.scores import COLLAPSED, ZERO_SHOT, Score, ScoreTable, from_to
from interlace.scores.aggregation import OTHERS, Measure, Results, System, aggregate, systems_of
from interlace.scores.comparison import Comparison, Unit, compare
from interlace.scores.examples import Examples
from interlace.scores.held_out import add_all_words, comparable_metrics
from interlace.scores.statistics import mean_interval

log = logging.getLogger(__name__)

_DRAWS = 2000
_UNITS: dict[Unit, str] = {
    "seeds": "over runs",
    "examples": "over examples",
    "both": "over runs and examples",
}


@dataclass(frozen=True)
class ComparisonTable:
    """Systems compared in all tasks of a score table: means over runs, tested against a baseline.

    Where systems held out different words of a dictionary, the scores are those over all words.

    baseline: name of a system; default: the first. metrics: by task, the metrics to show; default: the main one. cited:
    rows of papers, shown below the systems of their task, whose metrics are shown too. example_tests: tests over test
    examples, shown below those over runs.
    """

    scores: ScoreTable
    baseline: str = ""
    metrics: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cited: Sequence[CitedRow] = ()
    example_tests: Sequence[Comparison] = ()
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
        """Return the main table, then a table for each task and setting."""
        return [self.main(), *(self.task_table(name) for name in self.measures_by_table)]

    @cached_property
    def systems(self) -> list[System]:
        """The systems, the baseline first."""
        systems = systems_of(self.scores)
        if self.baseline:
            systems.sort(key=lambda system: system.name != self.baseline)
        return systems

    @cached_property
    def results(self) -> Results:
        """The finite scores by measure and system, with means over languages and transfer gaps."""
        scores = add_all_words(self.scores)
        return aggregate(scores, comparable_metrics(scores, self._shown_metrics))

    @cached_property
    def tests(self) -> dict[tuple[Measure, System], Comparison]:
        """The tests against the baseline over runs."""
        tests = compare(
            self.scores,
            self.baseline or None,
            metrics=self._shown_metrics,
        )
        return {(test.measure, test.system): test for test in tests}

    @cached_property
    def measures_by_table(self) -> dict[str, list[Measure]]:
        """The measures by the name of their table: the task, with the setting if the task has several."""
        settings = dict.fromkeys((measure.task, measure.setting) for measure in self.results)
        setting_counts = Counter(task for task, _ in settings)
        groups: dict[str, list[Measure]] = {}
        for measure in self.results:
            name = measure.task
            if setting_counts[name] > 1:
                name = f"{measure.task}.{measure.setting}"
            groups.setdefault(name, []).append(measure)
        return groups

    def main(self) -> Table:
        """Return by task the source language, and the mean of the others or the only other one, in one metric."""
        columns: list[Measure] = []
        for measures in self.measures_by_table.values():
            columns += headline(measures)
        lines = [self._system_line(system, columns) for system in self.systems]
        notes = captions.score_notes(
            columns,
            self._rows(columns),
            self.results,
            self.systems,
        )
        return _table(
            "main",
            self.title,
            columns,
            lines,
            notes,
        )

    def task_table(self, name: str) -> Table:
        """Return all languages of a task and setting; name: in `measures_by_table`."""
        measures = self.measures_by_table[name]
        systems = []
        for system in self.systems:
            if any(system in self.results[measure] for measure in measures):
                systems.append(system)
        rows = self._rows(measures)
        notes = captions.score_notes(
            measures,
            rows,
            self.results,
            systems,
        )
        lines = [self._system_line(system, measures) for system in systems]
        differences = self._difference_lines(measures)
        if differences:
            notes.append(captions.DIFFERENCES)
        notes += self.data_notes(name)
        theirs = published_lines(self.cited, measures)
        title = f"{self.title}: {name.replace('.', ', ')}"
        return _table(
            name,
            title,
            measures,
            [*lines, *differences, *theirs],
            notes,
        )

    def data_notes(self, name: str) -> list[str]:
        """Return sentences on the data of a task's table, and on published rows."""
        measures = self.measures_by_table[name]
        rows = self._rows(measures)
        rules = captions.rules_of(rows)
        return captions.data_notes(rows) + published_notes(self.cited, measures, rules)

    @cached_property
    def _shown_metrics(self) -> dict[str, Sequence[str]]:
        return with_printed(self.scores, self.metrics, self.cited)

    def _rows(self, measures: Iterable[Measure]) -> ScoreTable:
        return captions.rows_of(measures, self.scores)

    def _system_line(
        self,
        system: System,
        measures: Sequence[Measure],
    ) -> Line:
        entries: list[Entry | None] = []
        run_counts = []
        for measure in measures:
            result = self.results[measure].get(system)
            if result is None:
                entries.append(None)
                continue
            run_counts.append(len(result.sample))
            text = measure.format(result.mean)
            small = ""
            interval = mean_interval(result.sample)
            low, high = result.ends
            if not math.isnan(interval.low):
                text += f" ± {measure.format(interval.half_width)}"
            elif low != high:
                small = f"{measure.format(low)}{DASH}{measure.format(high)}"
            if result.collapsed:
                text += COLLAPSED
            test = self.tests.get((measure, system))
            entries.append(
                Entry(
                    text,
                    small,
                    bold=test is not None and test.significant,
                )
            )
        return Line(system.label, (Entry(from_to(run_counts)), *entries))

    def _difference_lines(self, measures: Sequence[Measure]) -> list[Line]:
        """Return a line for each system and what its test varies; none for single runs."""
        rows: dict[tuple[str, Unit], dict[Measure, Comparison]] = {}
        for test in (*self.tests.values(), *self.example_tests):
            if test.measure in measures and test.n > 1:
                label = f"{test.system.label} \N{MINUS SIGN} {test.baseline.label}"
                rows.setdefault((label, test.unit), {})[test.measure] = test
        lines = []
        for (label, unit), tests in rows.items():
            entries: list[Entry | None] = [Entry(from_to(test.n for test in tests.values()))]
            for measure in measures:
                entries.append(_difference(tests[measure]) if measure in tests else None)
            lines.append(
                Line(
                    f"{label}, {_UNITS[unit]}",
                    tuple(entries),
                    kind="difference",
                )
            )
        return lines


def compare_over_examples(
    scores: ScoreTable,
    baseline: str,
    root: Path = Path(),
) -> list[Comparison]:
    """Compare over test examples, and over runs and examples, in every task that has outcomes.

    root: the folder that runs are relative to. Comparisons over examples that are impossible are logged.
    """

    def read(row: Score) -> Examples:
        return read_outcomes(row, root)

    comparisons = []
    impossible: list[str] = []
    for rows in scores.group("task", "setting").values():
        paths = {outcomes_path(row, root) for row in rows}
        if any(path.is_file() for path in paths) and len(rows.filter(system=baseline)):
            comparisons += compare(
                rows,
                baseline,
                "examples",
                outcomes=read,
                draws=_DRAWS,
                impossible=impossible,
            )
            # with too few runs, or for the reasons above
            comparisons += compare(
                rows,
                baseline,
                "both",
                outcomes=read,
                impossible=[],
            )
    for message in dict.fromkeys(impossible):
        log.warning("%s", message)
    return comparisons


def headline(measures: Sequence[Measure]) -> list[Measure]:
    """Return the source language, and the mean of the others or these, in the first metric."""
    sources = []
    others = []
    for measure in measures:
        if measure.metric == measures[0].metric:
            if measure.is_source:
                sources.append(measure)
            else:
                others.append(measure)
    means = [measure for measure in others if measure.language == OTHERS]
    return sources + (means or others)


def _table(
    name: str,
    title: str,
    measures: Sequence[Measure],
    lines: Sequence[Line],
    notes: Sequence[str],
) -> Table:
    columns = [Column("n")]
    columns += [Column(measure.name, _column_group(measure)) for measure in measures]
    if any(line.theirs for line in lines):
        columns.append(Column("published mean"))
    padded = []
    for line in lines:
        missing = [None] * (len(columns) - len(line.entries))
        padded.append(
            Line(
                line.label,
                (*line.entries, *missing),
                line.theirs,
                line.kind,
            )
        )
    return Table(
        name,
        title,
        tuple(columns),
        tuple(padded),
        " ".join(notes),
    )


def _column_group(measure: Measure) -> str:
    """Return the head of columns: task, setting unless zero-shot, metric and unit, and an arrow if lower is better."""
    setting = "" if measure.setting == ZERO_SHOT else f", {measure.setting}"
    arrow = LOWER if measure.greater_is_better is False else ""
    unit = f", {measure.unit}" if measure.unit else ""
    return f"{measure.task}{setting}{arrow} ({measure.metric}{unit})"


def _difference(test: Comparison) -> Entry:
    """Return a difference with its interval and p-value."""
    measure = test.measure
    interval = test.difference
    small = p_value(test.adjusted_p)
    if not math.isnan(interval.low):
        low = measure.format_difference(interval.low)
        small = f"{low} to {measure.format_difference(interval.high)}, {small}"
    return Entry(
        measure.format_difference(interval.value),
        small,
        bold=test.significant,
    )
