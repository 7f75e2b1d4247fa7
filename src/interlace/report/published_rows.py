"""Rows of papers below our scores: which rows belong there, and what to know before comparing them with ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from interlace.report.tables import Column, Entry, Line, Table, number_entries
from interlace.scores import ScoreTable
from interlace.scores.aggregation import Measure
from interlace.scores.published import PublishedRow, rows

if TYPE_CHECKING:
    from interlace.experiments.recipe import Recipe

THEIRS = "Rows in italics are published results (other data and models), not comparable with ours."


@dataclass(frozen=True)
class CitedRow:
    """A row of a paper to show below ours, with the note of the recipe that cites it."""

    row: PublishedRow
    note: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identifies the row among those of all papers."""
        return self.row.where, self.row.system, self.row.table.task, self.row.table.score

    def figures(self, measure: Measure) -> dict[str, float]:
        """Return the figures of the task, setting and metric of a measure, by language and "mean"."""
        return self.row.figures(measure.task, measure.setting, measure.metric)

    @property
    def label(self) -> str:
        """The paper's name of the row, with what was measured."""
        table = self.row.table
        split = "" if table.split.startswith("test") else table.split
        measured = ", ".join(filter(None, [table.task, self.row.setting, table.measured, split]))
        return f"{self.row.where} ({measured})"


def cited_by(recipes: Iterable[Recipe]) -> list[CitedRow]:
    """Return the rows that recipes cite, each once."""
    cited: dict[tuple[str, ...], CitedRow] = {}
    for recipe in recipes:
        for place in recipe.published:
            for row in place.rows():
                entry = CitedRow(row, place.note)
                cited.setdefault(entry.key, entry)
    return list(cited.values())


def rows_on(tasks: Iterable[str], cited: Sequence[CitedRow]) -> list[CitedRow]:
    """Return the rows of all papers on these tasks; rows of a condition of pre-training only if a recipe cites them.

    Languages derived under another condition, such as another order of words, are no comparison.
    """
    notes = {entry.key: entry.note for entry in cited}
    entries = []
    for task in tasks:
        for row in rows(task):
            entry = CitedRow(row)
            if not row.condition or entry.key in notes:
                entries.append(CitedRow(row, notes.get(entry.key, "")))
    return entries


def printed_metrics(scores: ScoreTable, cited: Sequence[CitedRow]) -> dict[str, list[str]]:
    """Return by task the metrics of ours that the rows have figures of."""
    scored = {(row.task, row.metric) for row in scores}
    metrics: dict[str, list[str]] = {}
    for entry in cited:
        table = entry.row.table
        if (table.task, table.score) in scored:
            names = metrics.setdefault(table.task, [])
            if table.score not in names:
                names.append(table.score)
    return metrics


def with_printed(
    scores: ScoreTable, metrics: Mapping[str, Sequence[str]], cited: Sequence[CitedRow]
) -> dict[str, Sequence[str]]:
    """Return the metrics to show by task: those in `metrics`, or the main one, then those that papers print."""
    shown = dict(metrics)
    for task, printed in printed_metrics(scores, cited).items():
        named = shown.get(task) or scores.filter(task=task, main=True).unique("metric")
        shown[task] = list(dict.fromkeys([*named, *printed]))
    return shown


def with_published(
    table: Table, measures: Sequence[Measure], cited: Sequence[CitedRow], rules: Sequence[str]
) -> Table | None:
    """Return a table of ours with the cited rows that have figures of its columns below; None if no row has any.

    measures: of the columns behind the first. rules: by which weights of our models were selected. The caption says
    what to know before comparing.
    """
    lines = []
    remarks: dict[str, None] = {}
    for entry in cited:
        figures = _figures(entry, measures)
        if not any(figures):
            continue
        lines.append(Line(entry.label, (None, *figures), theirs=True))
        units = {measure.unit or measure.metric for measure in measures if entry.figures(measure)}
        remarks |= dict.fromkeys(entry.row.remarks(units, rules))
        if entry.note:
            remarks[f"{entry.row.where}: {entry.note}"] = None
    if not lines:
        return None
    ours = [replace(line, entries=(*line.entries, None)) for line in table.lines]
    return replace(
        table,
        columns=(*table.columns, Column("published mean")),
        lines=(*ours, *lines),
        caption=" ".join([THEIRS, *remarks]),
    )


def _figures(entry: CitedRow, measures: Sequence[Measure]) -> tuple[Entry | None, ...]:
    """Return the figure of each measure, and the printed mean at the end."""
    figures = [entry.figures(measure).get(measure.language) for measure in measures]
    means = [entry.figures(measure).get("mean") for measure in measures]
    figures.append(next((mean for mean in means if mean is not None), None))
    return number_entries(figures, "g")
