"""Results of papers for the same tasks and languages, below our scores."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError
from interlace.report.runs import all_scores
from interlace.report.score_tables import TaskScores, task_scores
from interlace.report.sections import Section
from interlace.report.tables import Column, Entry, Line, Table, html_fragment
from interlace.report.text import language_name, language_names, number, render
from interlace.scores import ScoreTable
from interlace.scores.published import find_rows, rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.report.runs import Run
    from interlace.scores.comparison import System
    from interlace.scores.published import PublishedRow

log = logging.getLogger(__name__)

_MEAN = "mean"  # a column of papers
_LEAD = (
    "Published results are on other data and models, at another scale. They show the order of systems and languages "
    "that the papers found and are not comparable with the scores here."
)


def published(runs: Sequence[Run]) -> Section:
    """Return a table for each of our metrics that a paper prints for the same task and setting."""
    every = [one for task in task_scores(all_scores(runs)) for one in _by_metric(task)]
    tables = [found for one in every if (found := _table(one, runs)) is not None]
    quoted = _quoted(runs, every)
    if not tables and not quoted:
        return Section("Published results", "No published results for these tasks.")
    shown = [(html_fragment(table, "beside"), remarks) for table, remarks in tables]
    return Section("Published results", _LEAD, render("published", tables=shown, quoted=quoted))


def _by_metric(one: TaskScores) -> list[TaskScores]:
    """Return the scores of the main metric, and of each other metric that papers print of the task."""
    names = dict.fromkeys(row.table.score for row in rows(one.first.task) if row.table.score)
    others = [one.every.filter(metric=name, main=False) for name in names if name != one.first.metric]
    return [
        one,
        *(TaskScores(ScoreTable(replace(row, main=True) for row in some), some) for some in others if len(some)),
    ]


def _table(one: TaskScores, runs: Sequence[Run]) -> tuple[Table, list[str]] | None:
    """Return ours above and theirs below, with remarks."""
    theirs = [row for row in rows(one.first.task) if _matches(row, one)]
    if not theirs:
        return None
    languages = [measure.language for measure in one.measures if measure.language]
    columns = [language for language in languages if any(language in row.printed for row in theirs)]
    unit = one.first.unit or one.first.metric
    remarks = dict.fromkeys(remark for row in theirs for remark in row.remarks([unit], one.rules))
    for note, row in _recipe_notes(runs):
        if note and _matches(row, one):
            remarks[f"{row.where}: {note}"] = None
    if any(_has_only_mean(row) for row in theirs):
        columns.append(_MEAN)
        remarks[f"{_MEAN}: ours is over {language_names(_averaged(one))}."] = None
    remarks |= dict.fromkeys(filter(None, [one.table.collapse_note()]))
    measured = one.first.metric if unit == one.first.metric else f"{one.first.metric}, {unit}"
    lines = []
    for system in one.systems:
        ours = (_ours(one, system, column) for column in columns)
        lines.append(Line(system.label, (Entry("here"), Entry(measured), *ours), kind="ours"))
    for row in theirs:
        split = "" if row.table.split.startswith("test") else f", {row.table.split}"
        where = Entry(f"{row.cite}, table {row.table.number}{split}")
        figures = (_figure(row.scores.get(column)) for column in columns)
        lines.append(Line(row.system, (where, Entry(row.table.measured), *figures), theirs=True))
    heads = [Column("Source", is_text=True), Column("Metric", is_text=True), *map(Column, map(language_name, columns))]
    title = f"{one.name}: {one.first.metric}, ours and published (another scale)"
    return Table("published", title, tuple(heads), tuple(lines), "", "System"), list(remarks)


def _ours(one: TaskScores, system: System, column: str) -> Entry | None:
    language = column if column != _MEAN else "" if one.mean else next(iter(_averaged(one)), None)
    measure = next((measure for measure in one.results if measure.language == language), None)
    result = one.results[measure].get(system) if measure else None
    if result is None:
        return None
    digits = 1 if one.first.unit == "%" or abs(result.mean) >= 100 else 2
    return Entry(number(result.mean, digits), bold=True, collapsed=result.collapsed)


def _figure(value: float | None) -> Entry | None:
    """Return a published figure with one decimal, or two if it has them."""
    return None if value is None else Entry(number(value, 1 if round(value, 1) == value else 2))


def _averaged(one: TaskScores) -> list[str]:
    return one.averaged if one.mean else [measure.language for measure in one.others][:1]


def _matches(row: PublishedRow, one: TaskScores) -> bool:
    """Return whether a row has a figure of the same task, setting and metric for a language of ours, or their mean."""
    ours = {measure.language for measure in one.measures}
    matches = row.matches(one.first.task, one.first.setting, one.first.metric)
    return matches and (not ours.isdisjoint(row.printed) or (_has_only_mean(row) and bool(_averaged(one))))


def _has_only_mean(row: PublishedRow) -> bool:
    return list(row.table.columns) == [_MEAN]


def _recipe_notes(runs: Sequence[Run]) -> list[tuple[str, PublishedRow]]:
    """Return (note, row) of the published results that recipes name."""
    return [
        (str(place.get("note") or ""), row)
        for run in runs
        for place in run.recipe.get("published") or []
        for row in _rows_at(place)
    ]


def _rows_at(place: Mapping[str, Any]) -> list[PublishedRow]:
    named = {key: place[key] for key in ("where", "task", "system", "columns") if place.get(key)}
    try:
        return find_rows(**named)
    except DataError as error:
        log.info("%s", error)
        return []


def _quoted(runs: Sequence[Run], every: Sequence[TaskScores]) -> list[tuple[str, str, str]]:
    """Return (place, figures, note) of published results that recipes name and that are in no table."""
    found: dict[str, tuple[str, str, str]] = {}
    for run in runs:
        for note, row in _recipe_notes([run]):
            if not any(_matches(row, one) for one in every):
                where = f"{run.label}: {row.where}, {row.table.task} ({row.table.measured})"
                figures = ", ".join(f"{language_name(key)} {_figure(value)}" for key, value in row.scores.items())
                found.setdefault(where, (where, figures, " ".join(filter(None, [note, *row.remarks([], [])]))))
    return list(found.values())
