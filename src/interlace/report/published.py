"""What papers report for the same tasks and languages, below our own figures and clearly apart from them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, SettingsError
from interlace.report import Section
from interlace.report._format import heading, joined, language_name, number
from interlace.report._scores import tables
from interlace.report._templates import render
from interlace.scores.collapses import collapses_told
from interlace.scores.published import placed, rows
from interlace.tasks import TASKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.report._cells import Cell
    from interlace.report._run import Run
    from interlace.report._scores import TaskTable
    from interlace.scores.published import Row
log = logging.getLogger(__name__)

_MEAN = "mean"  # a column of papers


@dataclass(frozen=True)
class _Shown:
    """A table: ours above, theirs below, a figure a column; None where there is none.

    remarks: what to know before reading theirs beside ours.
    """

    name: str
    metric: str
    measured: str
    columns: list[str]
    ours: list[tuple[str, list[str | None]]]
    theirs: list[tuple[str, str, str, list[str | None]]]  # system, paper and table, measure, figures
    remarks: list[str]


def published(runs: Sequence[Run]) -> Section:
    """The section: a table for each score of ours that a paper's table has too, of the same task and setting."""
    asked = [of for table in tables(runs) for of in _by_score(runs, table)]
    shown = [found for table in asked if (found := _beside(table, runs)) is not None]
    quoted = _quoted(runs, asked)
    lead = (
        "Theirs, not ours: other data, other models and another scale, many times as large. They show the order of"
        " systems and languages that the papers found; the figures themselves do not compare."
        if shown or quoted
        else "The papers have no table of the tasks that are scored here."
    )
    body = render("published", shown=shown, quoted=quoted)
    return Section("What papers report", lead, body)


def _by_score(runs: Sequence[Run], table: TaskTable) -> list[TaskTable]:
    """The table, and the like of it for each score beside the main one that papers print of the task."""
    names = dict.fromkeys(row.table.score for row in rows(table.task) if row.table.score not in {"", table.metric})
    return [table, *(found for name in names for found in _of_score(runs, table, name))]


def _of_score(runs: Sequence[Run], table: TaskTable, name: str) -> list[TaskTable]:
    """A table of another score that was measured with the main one; none where it was not."""
    kind = (table.task, table.metric, table.source, table.setting)
    change = {"metric": name, "unit": _unit(table.task, name), "low": None, "high": None}
    renamed = [
        replace(
            run,
            scores=[
                score.model_copy(update={**change, "score": score.scores[name]})
                for score in run.scores
                if (score.task, score.metric, score.source, score.setting) == kind and name in score.scores
            ],
        )
        for run in runs
    ]
    return tables(renamed)


def _unit(task: str, name: str) -> str:
    """Of a score beside the main one; "" where its name says it, or nobody knows the task."""
    try:
        kind = TASKS.get(task)
    except SettingsError:
        return ""
    unit = kind.other_scales[name][0] if name in kind.other_scales else kind.unit
    return unit if isinstance(unit, str) else ""


def _beside(table: TaskTable, runs: Sequence[Run]) -> _Shown | None:
    theirs = [row for row in rows(table.task) if _stands_beside(row, table)]
    if not theirs:
        return None
    columns = [line.language for line in table.lines if any(line.language in row.printed for row in theirs)]
    remarks = dict.fromkeys(
        remark for row in theirs for remark in row.remarks([table.unit or table.metric], table.rules)
    )
    remarks |= dict.fromkeys(
        f"{row.where}: {said['note']}"
        for run in runs
        for said in run.recipe.get("published") or []
        for row in _rows_of(said)
        if said.get("note") and _stands_beside(row, table)
    )
    if told := collapses_told(*table.collapses):
        remarks[told] = None
    if any(_prints_a_mean(row) for row in theirs):
        columns.append(_MEAN)
        remarks[f"{_MEAN}: ours is over {joined([language_name(key) for key in _averaged(table)])}."] = None
    return _Shown(
        heading(table.task, table.setting),
        table.metric,
        table.metric if table.unit in {"", table.metric} else f"{table.metric}, {table.unit}",
        columns,
        [(recipe, [_ours(table, recipe, column) for column in columns]) for recipe in table.recipes],
        [
            (row.system, _place(row), row.table.measured, [_digits(row.scores.get(column)) for column in columns])
            for row in theirs
        ],
        list(remarks),
    )


def _ours(table: TaskTable, recipe: str, column: str) -> str | None:
    cell: Cell | None = None
    if column != _MEAN:
        cell = next(line.cells.get(recipe) for line in table.lines if line.language == column)
    elif table.mean:
        cell = table.mean.cells.get(recipe)
    elif only := _averaged(table):
        return _ours(table, recipe, only[0])
    if cell is None:
        return None
    return number(cell.mean, 1 if table.unit == "%" or abs(cell.mean) >= 100 else 2) + cell.sign


def _averaged(table: TaskTable) -> list[str]:
    """The languages that our mean is over; one where there is one alone."""
    others = [line.language for line in table.lines if not line.source]
    return table.averaged if table.mean else others[:1]


def _stands_beside(row: Row, table: TaskTable) -> bool:
    """Whether a paper's row has a figure for one of our languages, or their mean, of the same task, setting, score."""
    ours = {line.language for line in table.lines}
    fits = row.fits(table.task, table.setting, table.metric)
    return fits and (not ours.isdisjoint(row.printed) or (_prints_a_mean(row) and bool(_averaged(table))))


def _prints_a_mean(row: Row) -> bool:
    """Whether the paper prints a mean over languages, or pairs of them, alone."""
    return list(row.table.columns) == [_MEAN]


def _place(row: Row) -> str:
    split = "" if row.table.split.startswith("test") else f", {row.table.split}"
    return f"{row.cite}, table {row.table.number}{split}"


def _quoted(runs: Sequence[Run], asked: Sequence[TaskTable]) -> list[dict[str, Any]]:
    """What papers print for the systems that the recipes stand for, but for what stands in a table already."""
    entries: dict[str, dict[str, Any]] = {}
    for run in runs:
        for said in run.recipe.get("published") or []:
            for row in _rows_of(said):
                if any(_stands_beside(row, table) for table in asked):
                    continue
                figures = (f"{language_name(key)} {_digits(figure)}" for key, figure in row.scores.items())
                entry = {
                    "run": run.label,
                    "where": row.where,
                    "task": row.table.task,
                    "measured": row.table.measured,
                    "scores": ", ".join(figures),
                    "note": " ".join(filter(None, [said.get("note", ""), *row.remarks([], [])])),
                }
                entries.setdefault(f"{run.label} {row.where} {row.table.task} {row.table.metric}", entry)
    return list(entries.values())


def _rows_of(said: Mapping[str, Any]) -> list[Row]:
    """Of what a recipe names; nothing where no paper here has it."""
    named = {key: said[key] for key in ("where", "task", "system", "columns") if said.get(key)}
    try:
        return placed(**named)
    except DataError as error:
        log.info("%s", error)
        return []


def _digits(value: float | None) -> str | None:
    """As many decimals as papers print: one, or two of correlations and BLEU."""
    return None if value is None else number(value, 1 if round(value, 1) == value else 2)
