"""What papers report for the same tasks and languages, below our own figures and clearly apart from them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlace.errors import DataError
from interlace.published import placed, rows
from interlace.report import Section
from interlace.report._format import heading, language_name, number
from interlace.report._scores import tables
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.published import Row
    from interlace.report._run import Run
    from interlace.report._scores import TaskTable
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Shown:
    """A table: ours above, theirs below, a figure a language; None where there is none."""

    name: str
    metric: str
    languages: list[str]
    ours: list[tuple[str, list[float | None]]]
    theirs: list[tuple[str, str, list[float | None]]]  # system, paper and table, figures


def published(runs: Sequence[Run]) -> Section:
    """The section: a table for each of our tables whose task, measure and setting a paper's table has too."""
    asked = tables(runs)
    shown = [found for table in asked if (found := _beside(table)) is not None]
    quoted = _quoted(runs, asked)
    lead = (
        "Theirs, not ours: other data, other models and another scale, many times as large. They show the order of"
        " systems and languages that the papers found; the figures themselves do not compare."
        if shown or quoted
        else "The papers have no table of the tasks that are scored here."
    )
    body = render("published", shown=shown, quoted=quoted, digits=_digits)
    return Section("What papers report", lead, body)


def _beside(table: TaskTable) -> _Shown | None:
    ours = [line.language for line in table.lines]
    theirs = [row for row in rows(table.task) if _stands_beside(row, table)]
    if not theirs:
        return None
    languages = [language for language in ours if any(language in row.printed for row in theirs)]
    by_language = {line.language: line for line in table.lines}
    return _Shown(
        heading(table.task, table.setting),
        table.metric,
        languages,
        [(recipe, [cell.mean if (cell := by_language[language].cells.get(recipe)) else None for language in languages])
         for recipe in table.recipes],
        [(row.system, _place(row), [row.scores.get(language) for language in languages]) for row in theirs],
    )  # fmt: skip


def _stands_beside(row: Row, table: TaskTable) -> bool:
    """Whether a paper's row has a figure for one of our languages, of the same task, setting and score."""
    ours = {line.language for line in table.lines}
    return row.fits(table.task, table.setting, table.metric) and not ours.isdisjoint(row.printed)


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
                    "metric": row.table.metric,
                    "scores": ", ".join(figures),
                    "note": " ".join(filter(None, [row.note, said.get("note", "")])),
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


def _digits(value: float) -> str:
    """As many decimals as papers print: one, or two of correlations and BLEU."""
    return number(value, 1 if round(value, 1) == value else 2)
