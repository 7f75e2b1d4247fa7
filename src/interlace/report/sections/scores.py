"""Scores by language and system."""

import logging
from collections.abc import Sequence
from itertools import chain

from interlace.report import axes, svg
from interlace.report.comparison_table import ComparisonTable, TaskScores
from interlace.report.figures.dot_chart import Dot, DotRow, dot_chart
from interlace.report.runs import ReportedRun, all_scores, first_of_each, short_names
from interlace.report.section import Section
from interlace.report.tables import html_fragment
from interlace.report.text import language_names, number, render, spread
from interlace.scores import ZERO_SHOT
from interlace.scores.aggregation import GAP, Measure, Result

log = logging.getLogger(__name__)


def scores(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Scores by language`, which without scores says how to evaluate."""
    table = all_scores(runs)
    if not table:
        body = render("scores", tables=[], figures=[], keys=[])
        return [
            Section(
                "Scores by language", "No task has been scored yet; run `interlace evaluate`.", body
            )
        ]
    comparison = ComparisonTable(table)
    tasks = [task for task in comparison.tasks if task.setting != GAP]
    styles = {run.label: run.style for run in first_of_each(runs)}
    short = short_names(runs)
    figures = [_dots(task, styles, short) for task in tasks]
    tables = []
    for name, members in comparison.tasks_by_table.items():
        other_metrics = members[0].other_metrics()
        folded = html_fragment(other_metrics) if other_metrics else ""
        tables.append((html_fragment(comparison.task_table(name)), folded))
    keys = []
    if len(styles) > 1 and any(len(task.systems) <= svg.STYLES for task in tasks):
        keys = [(svg.key(style), label) for label, style in styles.items()]
    body = render("scores", tables=tables, figures=figures, keys=keys)
    return [Section("Scores by language", _lead(tasks), body, figures)]


def _lead(tasks: Sequence[TaskScores]) -> str:
    sources = dict.fromkeys(task.first.source for task in tasks if task.is_tuned)
    lead = "No fine-tuning: probes and translation score each model as it is."
    if sources:
        lead = (
            f"Fine-tuned on {language_names(list(sources))}; other languages are scored zero-shot."
        )
    settings = dict.fromkeys(task.setting for task in tasks if task.setting != ZERO_SHOT)
    if settings:
        lead += f" Titles name other settings ({', '.join(settings)})."
    return f"{lead} Small figures: lowest to highest measurement, or the bootstrap interval of a single one."


def _dots(task: TaskScores, styles: dict[str, int], short: dict[str, str]) -> svg.Drawing:
    """Draw rows of languages with a mark per system; with too many systems for styles, rows of systems."""
    unit = task.first.unit
    title = f"{task.title}, {task.first.metric}"
    if unit not in {"", task.first.metric}:
        title += f" in {unit}"
    names = {measure: task.measure_name(measure) for measure in task.measures if measure.language}
    if task.mean:
        names[task.mean] = task.measure_name(task.mean)  # last
    for measure in names:
        if measure.is_source:
            names[measure] += " *"
    if len(task.systems) > svg.STYLES >= len(names):
        keys = {name: style for style, name in enumerate(names.values())}
        return dot_chart(
            title, _system_rows(task, names, keys, short), _ends(task), keys, names_above=True
        )
    rows = []
    for measure, name in names.items():
        by_system = task.results[measure]
        dots = [
            _dot(result, styles[system.label], system.label) for system, result in by_system.items()
        ]
        rows.append(DotRow(name, dots, mean=not measure.language))
    return dot_chart(title, rows, _ends(task))


def _system_rows(
    task: TaskScores, names: dict[Measure, str], keys: dict[str, int], short: dict[str, str]
) -> list[DotRow]:
    rows = []
    for system in task.systems:
        scored = {name: task.results[measure].get(system) for measure, name in names.items()}
        dots = [
            _dot(result, keys[name], name) for name, result in scored.items() if result is not None
        ]
        rows.append(DotRow(short[system.label], dots))
    return rows


def _dot(result: Result, style: int, name: str) -> Dot:
    low, high = result.ends
    return Dot(
        style, result.mean, low, high, f"{name}: {number(result.mean)} ({spread(low, high)})"
    )


def _ends(task: TaskScores) -> tuple[float, float]:
    """Return round ends around all scores; percentages stay within 0 and 100."""
    results = chain.from_iterable(by_system.values() for by_system in task.results.values())
    ends = [result.ends for result in results]
    lowest = min(low for low, _ in ends)
    highest = max(high for _, high in ends)
    is_percent = task.first.unit == "%"
    margin = max((highest - lowest) * 0.05, 0.5 if is_percent else abs(highest) * 0.01, 1e-6)
    low = lowest - margin
    high = highest + margin
    ticks = [*axes.ticks(low, high, 5), low, high]
    half_step = abs(ticks[1] - ticks[0]) / 2 or 1.0
    low = (low // half_step) * half_step
    high = -((-high) // half_step) * half_step
    if is_percent and lowest >= 0 and highest <= 100:
        return max(low, 0.0), min(high, 100.0)
    return low, high
