"""Scores of each language with their difference to the source language."""

from collections.abc import Sequence
from itertools import chain

from interlace.report import svg
from interlace.report.comparison_table import ComparisonTable, TaskScores
from interlace.report.figures.heat_map import Shade, heat_map
from interlace.report.runs import ReportedRun, all_scores
from interlace.report.section import CaptionedFigure, Section, figure_section
from interlace.report.text import language_name, number, signed
from interlace.scores import COLLAPSED
from interlace.scores.aggregation import GAP, System


def transfer_gap(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Transfer gap`, a shaded table a system: languages down, tasks across."""
    comparison = ComparisonTable(all_scores(runs))
    tasks = [task for task in comparison.tasks if task.setting != GAP]
    figures = []
    is_collapsed = False
    for system in comparison.systems:
        scored = [task for task in tasks if system in task.systems]
        figures.append(CaptionedFigure(system.label, _gap_map(system, scored)))
        for task in scored:
            is_collapsed |= any(
                by[system].collapsed for by in task.results.values() if system in by
            )
    lead = (
        "Mean score of each language and task, with the difference to the source language (framed) below. The "
        "stronger the color, the closer to the source."
    )
    note = f"{COLLAPSED}: includes a collapsed fine-tuning." if is_collapsed else ""
    return figure_section("Transfer gap", lead, figures, note)


def _gap_map(system: System, tasks: Sequence[TaskScores]) -> svg.Drawing:
    measures = chain.from_iterable(task.measures for task in tasks)
    languages = dict.fromkeys(measure.language for measure in measures if measure.language)
    names = [language_name(language) for language in languages]
    titles = [task.title for task in tasks]
    cells = []
    rows_aloud = []
    for language, name in zip(languages, names, strict=True):
        row = [_shade(task, system, language) for task in tasks]
        cells.append(row)
        scores_aloud = [
            f", {title} {cell.words}" for title, cell in zip(titles, row, strict=True) if cell
        ]
        rows_aloud.append(name + "".join(scores_aloud))
    return heat_map(
        names, titles, cells, f"Scores of {system.label}: {'; '.join(rows_aloud)}", width=86.0
    )


def _shade(task: TaskScores, system: System, language: str) -> Shade | None:
    """Return the cell of a language: its score, the difference to the source, and their ratio as a shade."""
    measures = {measure.language: measure for measure in task.measures}
    measure = measures.get(language)
    result = task.results[measure].get(system) if measure else None
    if measure is None or result is None:
        return None
    source_measure = measures.get(measure.source)
    source = task.results[source_measure].get(system) if source_measure else None
    title = f"{language_name(language)}, {measure.metric} {number(result.mean)}{task.unit}"
    gap = ""
    best = 100.0
    if source:
        best = source.mean
        if not measure.is_source:
            gap = signed(result.mean - source.mean)
            title += f", {gap}"
    if measure.greater_is_better is False:
        ratio = best / result.mean if result.mean > 0 else 0.0
    else:
        ratio = result.mean / best if best > 0 else 0.0
    words = number(result.mean) + (COLLAPSED if result.collapsed else "")
    return Shade(words, gap, ratio, measure.is_source, title)
