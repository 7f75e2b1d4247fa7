"""What papers report for the same tasks and languages, below our own figures and clearly apart from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlace.published import rows
from interlace.report import Section
from interlace.report._format import heading, language_name, number
from interlace.report._scores import tables
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.published import Row
    from interlace.report._run import Run
    from interlace.report._scores import TaskTable

_CALLED = {"perplexity": "language modelling"}  # tasks that papers' tables call otherwise


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
    shown = [found for table in tables(runs) if (found := _beside(table)) is not None]
    quoted = _quoted(runs)
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
    theirs = [
        row for row in rows(_CALLED.get(table.task, table.task)) if _fits(row, table) and set(ours) & set(row.printed)
    ]
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


def _fits(row: Row, table: TaskTable) -> bool:
    same = row.table.metric.replace(" ", "_").lower() in {table.metric.lower(), f"{table.metric.lower()}_match"}
    return same and row.setting in {"", table.setting}


def _place(row: Row) -> str:
    split = "" if row.table.split.startswith("test") else f", {row.table.split}"
    return f"{row.cite}, table {row.table.number}{split}"


def _quoted(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What the recipes themselves quote for the system that they stand for."""
    entries: dict[str, dict[str, Any]] = {}
    for run in runs:
        for entry in run.recipe.get("published") or []:
            scores = ", ".join(f"{language_name(key)} {_digits(value)}" for key, value in entry["scores"].items())
            key = f"{run.label} {entry['where']} {entry['metric']}"
            entries.setdefault(key, {**entry, "run": run.label, "scores": scores, "note": entry.get("note", "")})
    return list(entries.values())


def _digits(value: float) -> str:
    """As many decimals as papers print: one, or two of correlations and BLEU."""
    return number(value, 1 if round(value, 1) == value else 2)
