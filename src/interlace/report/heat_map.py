"""All tasks and languages at one look: the score, and how far it stands from that of the source language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._format import heading, language_name, number, signed
from interlace.report._heat import Shaded, draw_heat
from interlace.report._scores import tables
from interlace.report._svg import picture
from interlace.report._templates import render
from interlace.scores.collapses import collapses_told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._cells import Cell
    from interlace.report._matrix import Drawing
    from interlace.report._run import Run
    from interlace.report._scores import TaskTable


def heat_map(runs: Sequence[Run]) -> Section:
    """The section: a table a recipe, a row a language, a column a task."""
    results = tables(runs)
    labels = list(dict.fromkeys(recipe for table in results for recipe in table.recipes))
    drawn = [(label, _drawing(label, results)) for label in labels]
    figures = [
        {"over": label, "picture": picture(found.width, found.height, found.label, found.parts, "matrix")}
        for label, found in drawn
    ]
    lead = (
        "The mean score of each language and task, and below it the difference from the source language, framed."
        " The darker a cell, the closer it comes to the source language."
        if figures
        else "No task has been scored yet."
    )
    return Section("How far scores reach", lead, render("figures", figures=figures, note=_note(results)))


def _note(results: Sequence[TaskTable]) -> str:
    """What is said of collapsed fine-tunings, of which each table has its own."""
    counts = [table.collapses for table in results]
    return collapses_told(sum(collapsed for collapsed, _ in counts), sum(tuned for _, tuned in counts))


def _drawing(label: str, results: Sequence[TaskTable]) -> Drawing:
    mine = [table for table in results if label in table.recipes]
    languages = list(dict.fromkeys(line.language for table in mine for line in table.lines))
    cells = [[_cell(table, label, language) for table in mine] for language in languages]
    names = [heading(table.task, table.setting) for table in mine]
    spoken = f"Scores of {label} by language and task: " + "; ".join(
        f"{language_name(language)} "
        + ", ".join(f"{name} {cell.words}" for name, cell in zip(names, row, strict=True) if cell)
        for language, row in zip(languages, cells, strict=True)
    )
    return draw_heat([language_name(language) for language in languages], names, cells, spoken, width=86.0)


def _cell(table: TaskTable, label: str, language: str) -> Shaded | None:
    line = next((line for line in table.lines if line.language == language), None)
    cell = line.cells.get(label) if line else None
    if line is None or cell is None:
        return None
    source = next((other.cells.get(label) for other in table.lines if other.source), None)
    gap = signed(cell.mean - source.mean) if source and not line.source else ""
    unit = table.unit if table.unit == "%" else ""
    title = f"{language_name(language)}, {table.metric} {number(cell.mean)}{unit}" + (f", {gap}" if gap else "")
    return Shaded(number(cell.mean) + cell.sign, gap, _reached(table, cell, source), line.source, title)


def _reached(table: TaskTable, cell: Cell, source: Cell | None) -> float:
    """The part of the source language's score; of percentages where there is none, the part of 100."""
    best = source.mean if source else 100.0
    one, other = (cell.mean, best) if table.greater_is_better else (best, cell.mean)
    return one / other if other > 0 else 0.0
