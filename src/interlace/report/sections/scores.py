"""Scores by language and system, and transfer gaps."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from markupsafe import Markup

from interlace.core.errors import DataError
from interlace.core.json_files import JsonObject
from interlace.report import captions, svg
from interlace.report.charts import Dot, DotRow, dot_chart, round_ends
from interlace.report.comparison_table import ComparisonTable, compare_over_examples, headline
from interlace.report.published_rows import CitedRow, rows_on
from interlace.report.runs import ReportedRun, all_scores, first_of_each
from interlace.report.sections import Section
from interlace.report.tables import Column, Line, Table, html_fragment, number_entries
from interlace.report.text import language_name, number, render, task_name
from interlace.report.transfer import transfer_tables
from interlace.scores import ScoreTable
from interlace.scores.aggregation import OTHERS, Measure, Result, Results, aggregate
from interlace.scores.published import find_rows


def comparison_of(runs: Sequence[ReportedRun]) -> ComparisonTable:
    """Return the comparison of the runs' columns with the first, and with the rows of papers on their tasks."""
    scores = all_scores(runs)
    return ComparisonTable(
        scores,
        cited=rows_on(scores.unique("task"), cited_rows(runs)),
        example_tests=compare_over_examples(scores, scores[0].system),
    )


def cited_rows(runs: Iterable[ReportedRun]) -> list[CitedRow]:
    """Return the rows of papers that the recipes of runs cite; those that are not stored here are left out."""
    entries = []
    for place in chain.from_iterable(run.recipe.get("published", []) for run in runs):
        keys = ("where", "task", "system")
        arguments: JsonObject = {key: place[key] for key in keys if place.get(key)}
        try:
            rows = find_rows(**arguments)
        except DataError:
            continue
        entries += [CitedRow(row, place.get("note", "")) for row in rows]
    return entries


def scores(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Scores by language`."""
    if not all_scores(runs):
        return None
    comparison = comparison_of(runs)
    styles = {run.label: run.style for run in first_of_each(runs)}
    figures = []
    tables = []
    for name, measures in comparison.measures_by_table.items():
        shown = [measure for measure in measures if measure.metric == measures[0].metric]
        figures.append(_dots(shown, comparison.results, styles))
        table = comparison.task_table(name)
        notes = " ".join(comparison.data_notes(name))
        # the others are in the head
        tables.append(html_fragment(replace(table, caption=notes)))
        others = other_metrics(comparison.scores, measures[0])
        if others.columns:
            tables.append(html_fragment(others))
    legend = svg.legend(styles) if len(styles) > 1 else ""
    lead = f"Means with their 95 % intervals, and published results. {captions.DIFFERENCES}"
    body = render(
        "scores",
        tables=tables,
        figures=figures,
        legend=legend,
    )
    return Section(
        "Scores by language",
        lead,
        body,
        figures,
    )


def other_metrics(scores: ScoreTable, main: Measure) -> Table:
    """Return the metrics besides the main one of a task and setting: means over runs and languages but the source."""
    of_task = scores.filter(task=main.task, setting=main.setting)
    metrics = of_task.filter(main=False).unique("metric")
    results = aggregate(of_task, {main.task: metrics})
    measures: list[Measure] = []
    for metric in metrics:
        targets = [key for key in results if key.metric == metric and not key.is_source]
        measures += headline(targets)
    lines = []
    for system in dict.fromkeys(chain.from_iterable(results.values())):
        means: list[float | None] = []
        for measure in measures:
            result = results[measure].get(system)
            means.append(None if result is None else result.mean)
        lines.append(Line(system.label, number_entries(means, ".2f")))
    return Table(
        name=f"{main.task}.others",
        title=f"{task_name(main.task, main.setting)}: means of other metrics",
        columns=tuple(Column(measure.metric) for measure in measures),
        lines=tuple(lines),
    )


def _dots(
    measures: Sequence[Measure],
    results: Results,
    styles: dict[str, int],
) -> svg.Drawing:
    """Draw rows of languages, the mean last, with a mark per system."""
    rows = []
    drawn = []
    for measure in sorted(measures, key=lambda measure: measure.language == OTHERS):
        dots = []
        for system, result in results[measure].items():
            dots.append(_dot(result, styles[system.label], system.label))
            drawn.append(result)
        name = (
            language_name(measure.language) if measure.language else measure.name.capitalize()
        )
        if measure.is_source:
            name += " *"
        rows.append(DotRow(name, dots, is_mean=not measure.language))
    head = measures[0]
    title = f"{task_name(head.task, head.setting)}, {head.metric}"
    if head.unit not in {"", head.metric}:
        title += f" in {head.unit}"
    return dot_chart(
        title,
        rows,
        round_ends([result.ends for result in drawn]),
    )


def _dot(
    result: Result,
    style: int,
    name: str,
) -> Dot:
    low, high = result.ends
    title = f"{name}: {number(result.mean)} ({number(low)} to {number(high)})"
    return Dot(
        style,
        result.mean,
        low,
        high,
        title,
    )


def transfer(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Transfer gap`."""
    tables = transfer_tables(all_scores(runs), "Transfer and alignment", cited_rows(runs))
    if not tables:
        return None
    body = Markup("").join(html_fragment(table) for table in tables)
    lead = "What models lose from the language that they are fine-tuned on to other languages."
    return Section("Transfer gap", lead, body)
