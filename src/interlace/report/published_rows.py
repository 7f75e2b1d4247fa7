"""Rows of papers below our scores: which rows belong there, and what to know before comparing them with ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.report.tables import Line, number_entries
from interlace.scores import ScoreTable
from interlace.scores.aggregation import Measure
from interlace.scores.published import PublishedRow, rows

if TYPE_CHECKING:
    from interlace.experiments.recipe import Recipe

THEIRS = (
    "Rows in italics are published results (other data and models), not comparable with ours."
)


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
        return self.row.figures(
            measure.task,
            measure.setting,
            measure.metric,
        )

    @property
    def label(self) -> str:
        """The paper's name of the row, with what was measured."""
        table = self.row.table
        split = "" if table.split.startswith("test") else table.split
        measured = ", ".join(
            filter(None, [table.task, self.row.setting, table.measured, split])
        )
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
            key = CitedRow(row).key
            if not row.condition or key in notes:
                entries.append(CitedRow(row, notes.get(key, "")))
    return entries


def with_printed(
    scores: ScoreTable,
    metrics: Mapping[str, Sequence[str]],
    cited: Sequence[CitedRow],
) -> dict[str, Sequence[str]]:
    """Return the metrics to show by task: those in `metrics`, or the main one, then those that papers print."""
    scored = {(row.task, row.metric) for row in scores}
    shown = dict(metrics)
    for entry in cited:
        task = entry.row.table.task
        metric = entry.row.table.score
        if (task, metric) in scored:
            names = shown.get(task) or scores.filter(task=task, main=True).unique("metric")
            shown[task] = list(dict.fromkeys([*names, metric]))
    return shown


def published_lines(cited: Sequence[CitedRow], measures: Sequence[Measure]) -> list[Line]:
    """Return a line for each row that has figures of the measures, with its printed mean at the end."""
    lines = []
    for entry in cited:
        figures = [entry.figures(measure).get(measure.language) for measure in measures]
        means = [entry.figures(measure).get("mean") for measure in measures]
        figures.append(next((mean for mean in means if mean is not None), None))
        entries = number_entries(figures, "g")
        if any(entries):
            lines.append(Line(entry.label, (None, *entries), theirs=True))
    return lines


def published_notes(
    cited: Sequence[CitedRow],
    measures: Sequence[Measure],
    rules: Sequence[str],
) -> list[str]:
    """Return what to know before comparing the rows with ours; rules: by which weights of our models were selected."""
    notes: dict[str, None] = {}
    for entry in cited:
        units = {
            measure.unit or measure.metric for measure in measures if entry.figures(measure)
        }
        if units:
            notes |= dict.fromkeys([THEIRS, *entry.row.remarks(units, rules)])
            if entry.note:
                notes[f"{entry.row.where}: {entry.note}"] = None
    return list(notes)
