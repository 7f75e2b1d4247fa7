"""Scores by language and system, their differences, the gap of each language to the source, and published results."""

import logging
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from interlace.core.errors import DataError
from interlace.report import svg
from interlace.report.comparison_table import ComparisonTable, TaskScores
from interlace.report.differences import difference_tables
from interlace.report.example_tests import compare_over_examples
from interlace.report.figures.dot_chart import Dot, DotRow, dot_chart
from interlace.report.figures.heat_map import Shade, heat_map
from interlace.report.published_rows import CitedRow, printed_metrics, rows_on
from interlace.report.runs import Run, all_scores, first_of_each, short_names
from interlace.report.sections import Section, figure_section
from interlace.report.tables import html_fragment
from interlace.report.text import language_name, language_names, number, render, signed, spread
from interlace.scores import COLLAPSED, ZERO_SHOT, ScoreTable
from interlace.scores.aggregation import GAP, Measure, Result, System
from interlace.scores.comparison import compare
from interlace.scores.published import find_rows

log = logging.getLogger(__name__)


def scores(runs: Sequence[Run]) -> list[Section]:
    """Return the sections `Scores by language`, which without scores says how to evaluate, and those that follow it."""
    table = all_scores(runs)
    if not table:
        body = render("scores", tables=[], figures=[], keys=[])
        return [Section("Scores by language", "No task has been scored yet; run `interlace evaluate`.", body)]
    comparison = ComparisonTable(table)
    tasks = [task for task in comparison.tasks if task.setting != GAP]
    return [
        _by_language(runs, comparison, tasks),
        *_differences(table),
        *_transfer_gap(tasks),
        *_published(runs, table),
    ]


def _by_language(runs: Sequence[Run], comparison: ComparisonTable, tasks: Sequence[TaskScores]) -> Section:
    styles = {run.label: run.style for run in first_of_each(runs)}
    figures = [_dots(task, styles, short_names(runs)) for task in tasks]
    tables = []
    for name, members in comparison.settings.items():
        other_metrics = members[0].other_metrics()
        folded = html_fragment(other_metrics) if other_metrics else ""
        tables.append((html_fragment(comparison.setting_table(name)), folded))
    keys = []
    if len(styles) > 1 and any(len(task.systems) <= svg.STYLES for task in tasks):
        keys = [(svg.key(style), label) for label, style in styles.items()]
    body = render("scores", tables=tables, figures=figures, keys=keys)
    return Section("Scores by language", _lead(tasks), body, figures)


def _lead(tasks: Sequence[TaskScores]) -> str:
    sources = dict.fromkeys(task.first.source for task in tasks if task.is_tuned)
    lead = "No fine-tuning: probes and translation score each model as it is."
    if sources:
        lead = f"Fine-tuned on {language_names(list(sources))}; other languages are scored zero-shot."
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
        return dot_chart(title, _system_rows(task, names, keys, short), _ends(task), keys, names_above=True)
    rows = []
    for measure, name in names.items():
        by_system = task.results[measure]
        dots = [_dot(result, styles[system.label], system.label) for system, result in by_system.items()]
        rows.append(DotRow(name, dots, mean=not measure.language))
    return dot_chart(title, rows, _ends(task))


def _system_rows(
    task: TaskScores, names: dict[Measure, str], keys: dict[str, int], short: dict[str, str]
) -> list[DotRow]:
    rows = []
    for system in task.systems:
        scored = {name: task.results[measure].get(system) for measure, name in names.items()}
        dots = [_dot(result, keys[name], name) for name, result in scored.items() if result is not None]
        rows.append(DotRow(short[system.label], dots))
    return rows


def _dot(result: Result, style: int, name: str) -> Dot:
    low, high = result.ends
    return Dot(style, result.mean, low, high, f"{name}: {number(result.mean)} ({spread(low, high)})")


def _ends(task: TaskScores) -> tuple[float, float]:
    """Return round ends around all scores; percentages stay within 0 and 100."""
    ends = [result.ends for by_system in task.results.values() for result in by_system.values()]
    lowest = min((low for low, _ in ends), default=0.0)
    highest = max((high for _, high in ends), default=1.0)
    is_percent = task.first.unit == "%"
    margin = max((highest - lowest) * 0.05, 0.5 if is_percent else abs(highest) * 0.01, 1e-6)
    low = lowest - margin
    high = highest + margin
    first, second = [*svg.ticks(low, high, 5), low, high][:2]
    half_step = abs(second - first) / 2 or 1.0
    low = (low // half_step) * half_step
    high = -((-high) // half_step) * half_step
    if is_percent and lowest >= 0 and highest <= 100:
        return max(low, 0.0), min(high, 100.0)
    return low, high


def _differences(table: ScoreTable) -> list[Section]:
    """Return the differences from the baseline over runs and, between models of a single run, over test examples."""
    comparisons = compare(table)
    if not comparisons:
        return []
    single = {system for system, rows in table.group("system").items() if len(rows.unique("run")) == 1}
    over_examples = compare_over_examples(table.filter(lambda row: row.system in single), table[0].system)
    tables = difference_tables([*comparisons, *over_examples.comparisons], "Tests", table)
    body = Markup("").join(html_fragment(table, "beside") for table in tables)
    lead = f"Differences from {comparisons[0].baseline.label}, the baseline."
    if over_examples.comparisons:
        lead += (
            " Other examples: would other test examples give the same result? Paired over examples, this is a "
            "statement about these models, not about the methods that trained them: for that, train each with several "
            "seeds (`interlace study`)."
        )
    return [Section("Differences", lead, body, folded=True)]


def _transfer_gap(tasks: Sequence[TaskScores]) -> list[Section]:
    """Return a shaded table a system: languages down, tasks across, with the difference to the source language."""
    figures = []
    is_collapsed = False
    for system in dict.fromkeys(system for task in tasks for system in task.systems):
        scored = [task for task in tasks if system in task.systems]
        figures.append((system.label, _gap_map(system, scored)))
        for task in scored:
            is_collapsed |= any(by[system].collapsed for by in task.results.values() if system in by)
    lead = (
        "Mean score of each language and task, with the difference to the source language (framed) below. The "
        "stronger the color, the closer to the source."
    )
    note = f"{COLLAPSED}: includes a collapsed fine-tuning." if is_collapsed else ""
    return figure_section("Transfer gap", lead, figures, note)


def _gap_map(system: System, tasks: Sequence[TaskScores]) -> svg.Drawing:
    measures = [measure for task in tasks for measure in task.measures]
    languages = dict.fromkeys(measure.language for measure in measures if measure.language)
    names = [language_name(language) for language in languages]
    titles = [task.title for task in tasks]
    cells = []
    rows_aloud = []
    for language, name in zip(languages, names, strict=True):
        row = [_shade(task, system, language) for task in tasks]
        cells.append(row)
        scores_aloud = [f", {title} {cell.words}" for title, cell in zip(titles, row, strict=True) if cell]
        rows_aloud.append(name + "".join(scores_aloud))
    return heat_map(names, titles, cells, f"Scores of {system.label}: {'; '.join(rows_aloud)}", width=86.0)


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


def _published(runs: Sequence[Run], table: ScoreTable) -> list[Section]:
    """Return a table for each of our metrics that a paper prints for the same task and setting."""
    cited = [entry for run in runs for entry in _cited_by(run)]
    rows = rows_on(table.unique("task"), cited)
    comparison = ComparisonTable(table, metrics=printed_metrics(table, rows), cited=rows, title="Published")
    tables = []
    for name in comparison.settings:
        published = comparison.published_table(name)
        if published is not None:
            tables.append(published)
    if not tables:
        return []
    lead = (
        "Published results are on other data and models, at another scale. They show the order of systems and "
        "languages that the papers found and are not comparable with the scores here."
    )
    body = Markup("").join(html_fragment(published, "beside") for published in tables)
    return [Section("Published results", lead, body)]


def _cited_by(run: Run) -> list[CitedRow]:
    """Return the rows of papers that the recipe of a run cites; those that are not stored here are logged."""
    entries = []
    for place in run.recipe.get("published", []):
        arguments: dict[str, Any] = {
            key: place[key] for key in ("where", "task", "system", "columns") if place.get(key)
        }
        try:
            entries += [CitedRow(row, place.get("note", "")) for row in find_rows(**arguments)]
        except DataError as error:
            log.info("%s", error)
    return entries
