"""Scores by language and system, the gap of each language to the source, and published results."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from interlace.core.errors import DataError
from interlace.report import svg
from interlace.report.figures import Dot, DotRow, Shade, dot_chart, heat_map
from interlace.report.runs import Run, all_scores, first_of_each, outcomes_path, read_outcomes, short_names
from interlace.report.score_tables import TaskScores, task_scores
from interlace.report.sections import Section, figure_section
from interlace.report.tables import SIGNIFICANT, Column, Entry, Line, Table, html_fragment
from interlace.report.text import language_name, language_names, number, p_value, render, signed, spread
from interlace.scores import COLLAPSED, ScoreTable
from interlace.scores.comparison import Comparison, Measure, Result, System, Untested, compare
from interlace.scores.published import PublishedRow, find_rows, rows
from interlace.scores.statistics import ALPHA

log = logging.getLogger(__name__)


def scores(runs: Sequence[Run]) -> list[Section]:
    """Return the sections `Scores by language`, which without scores says how to evaluate, and those that follow it."""
    table = all_scores(runs)
    results = task_scores(table)
    if not results:
        body = render("scores", tables=[], figures=[], keys=[], notes=[])
        section = Section("Scores by language", "No task has been scored yet; run `interlace evaluate`.", body)
        return [section, *_published(runs, results)]
    return [
        _by_language(runs, results),
        *_over_examples(runs, results),
        *_transfer_gap(results),
        *_published(runs, results),
    ]


def _by_language(runs: Sequence[Run], results: Sequence[TaskScores]) -> Section:
    styles, short = {run.label: run.style for run in first_of_each(runs)}, short_names(runs)
    sources = list(dict.fromkeys(one.first.source for one in results if one.tuned))
    lead = "No fine-tuning: probes and translation score each model as it is."
    if sources:
        lead = f"Fine-tuned on {language_names(sources)}; other languages are scored zero-shot."
    if settings := dict.fromkeys(one.first.setting for one in results if one.first.setting != "zero-shot"):
        lead += f" Titles name other settings ({', '.join(settings)})."
    figures = [_dots(one, styles, short) for one in results]
    tables = []
    for one in results:
        other = one.other_metrics()
        tables.append((html_fragment(one.language_table(short)), other and html_fragment(other)))
    by_row = any(len(one.systems) <= svg.STYLES for one in results)
    keys = [(svg.key(style), label) for label, style in styles.items()] if len(styles) > 1 and by_row else []
    found = [result for one in results for by in one.results.values() for result in by.values()]
    parts = []
    if any(len(result.values) > 1 for result in found):
        parts.append("Thin bars and small figures: lowest to highest seed.")
    if any(result.interval for result in found):
        parts.append("Single measurements: 95 % bootstrap interval over test examples.")
    if len({system.label for one in results for system in one.systems}) > 1:
        unit = "pre-training" if any(result.pretrained for result in found) else "fine-tuning"
        baselines = dict.fromkeys(one.systems[0].label for one in results if len(one.systems) > 1)
        test = f"permutation test over {unit} runs, p < {ALPHA} after Holm over the systems of a row"
        parts.append("Bold: best mean of a row.")
        parts.append(f"Differences are from {' or '.join(baselines)}, the baseline.")
        parts.append(f"\N{DAGGER}: differs significantly from {' or '.join(baselines)} ({test}).")
    body = render("scores", tables=tables, figures=figures, keys=keys, notes=parts)
    return Section("Scores by language", lead, body, figures)


def _over_examples(runs: Sequence[Run], results: Sequence[TaskScores]) -> list[Section]:
    """Return a table for each task of the paired tests over test examples between models of a single run."""
    short = short_names(runs)
    tables = [table for one in results if (table := _example_table(one, short)) is not None]
    if not tables:
        return []
    lead = (
        "Would other test examples give the same result? Paired over examples, this is a statement about these two "
        "models, not about the methods that trained them: for that, train each with several seeds (`interlace study`)."
    )
    note = (
        f"{SIGNIFICANT}: p < {ALPHA} by approximate randomization of paired examples, after Holm over the systems of a "
        "row. Ranges: 95 % paired bootstrap intervals."
    )
    body = Markup("").join(html_fragment(table) for table in tables) + Markup('<p class="note">{}</p>').format(note)
    return [Section("Differences over test examples", lead, body)]


def _example_table(one: TaskScores, short: dict[str, str]) -> Table | None:
    """Return the differences from the first system by language; None without outcomes of two single runs."""
    lone = {system.label for system in one.systems if _is_single(one, system)}
    table = one.table.filter(lambda row: row.label in lone and outcomes_path(row).is_file())
    baseline = one.systems[0]
    if len(table.unique("label")) < 2 or baseline.label not in table.unique("label"):
        return None
    untested: list[Untested] = []
    tests = compare(table, baseline.name, "examples", outcomes=read_outcomes, draws=2000, untested=untested)
    if not tests:
        return None
    systems = list(dict.fromkeys(test.system for test in tests))
    by_row = {(test.measure.language, test.system): test for test in tests}
    lines = []
    for measure in one.measures:
        entries = [_example_entry(by_row.get((measure.language, system))) for system in systems]
        if any(entries):
            lines.append(Line(one.line_name(measure), tuple(entries), kind="" if measure.language else "mean"))
    first = short.get(baseline.label, baseline.label)
    columns = tuple(Column(f"{short.get(system.label, system.label)} − {first}") for system in systems)
    notes = [f"{test.measure.name}: {test.reason}." for test in untested]
    title = f"{one.name}: {one.first.metric}, differences over test examples"
    return Table(f"examples.{one.first.task}", title, columns, tuple(lines), " ".join(notes), "Language")


def _is_single(one: TaskScores, system: System) -> bool:
    """Return whether a system is one model, whose differences no test over runs can judge."""
    return all(len(by_system[system].by_run) == 1 for by_system in one.results.values() if system in by_system)


def _example_entry(test: Comparison | None) -> Entry | None:
    if test is None:
        return None
    difference = test.difference
    ends = f"{signed(difference.low)} to {signed(difference.high)}, {p_value(test.adjusted_p)}"
    return Entry(signed(difference.value), significant=test.significant, small=ends)


def _dots(one: TaskScores, styles: dict[str, int], short: dict[str, str]) -> svg.Drawing:
    """Draw rows of languages with a mark per system; with too many systems for styles, rows of systems."""
    first = one.first
    title = f"{one.name}, {first.metric}{f' in {first.unit}' if first.unit not in {'', first.metric} else ''}"
    names = {measure: one.line_name(measure) + " *" * measure.is_source for measure in one.measures}

    def dot(measure: Measure, system: System, style: int, name: str) -> Dot:
        result = one.results[measure][system]
        return Dot(style, result.mean, *result.ends, f"{name}: {number(result.mean)} ({spread(*result.ends)})")

    if len(one.systems) > svg.STYLES >= len(names):
        keys = {name: style for style, name in enumerate(names.values())}
        rows = []
        for system in one.systems:
            mine = {measure: name for measure, name in names.items() if system in one.results[measure]}
            dots = [dot(measure, system, keys[name], name) for measure, name in mine.items()]
            rows.append(DotRow(short[system.label], dots))
        return dot_chart(title, rows, _ends(one), keys, names_above=True)
    rows = [
        DotRow(
            name,
            [dot(measure, system, styles[system.label], system.label) for system in one.results[measure]],
            mean=not measure.language,
        )
        for measure, name in names.items()
    ]
    return dot_chart(title, rows, _ends(one))


def _ends(one: TaskScores) -> tuple[float, float]:
    """Return round ends around all scores; percentages stay within 0 and 100."""
    ends = [result.ends for by_system in one.results.values() for result in by_system.values()]
    least, most = min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=1.0)
    margin = max((most - least) * 0.05, 0.5 if one.first.unit == "%" else abs(most) * 0.01, 1e-6)
    low, high = least - margin, most + margin
    step = [*svg.ticks(low, high, 5), low, high][:2]
    size = abs(step[1] - step[0]) / 2 or 1.0
    low, high = (low // size) * size, -((-high) // size) * size
    return (max(low, 0.0), min(high, 100.0)) if one.first.unit == "%" and least >= 0 and most <= 100 else (low, high)


def _transfer_gap(results: Sequence[TaskScores]) -> list[Section]:
    """Return a shaded table a system: languages down, tasks across, with the difference to the source language."""
    figures = []
    for system in dict.fromkeys(system for one in results for system in one.systems):
        mine = [one for one in results if system in one.systems]
        languages = list(dict.fromkeys(each.language for one in mine for each in one.measures if each.language))
        cells = [[_shade(one, system, language) for one in mine] for language in languages]
        tasks, names = [one.name for one in mine], [language_name(language) for language in languages]
        spoken = [
            name + "".join(f", {task} {cell.words}" for task, cell in zip(tasks, row, strict=True) if cell)
            for name, row in zip(names, cells, strict=True)
        ]
        label = f"Scores of {system.label}: {'; '.join(spoken)}"
        figures.append((system.label, heat_map(names, tasks, cells, label, width=86.0)))
    lead = (
        "Mean score of each language and task, with the difference to the source language (framed) below. The "
        "stronger the color, the closer to the source."
    )
    collapsed = any(result.collapsed for one in results for by in one.results.values() for result in by.values())
    return figure_section(
        "Transfer gap", lead, figures, f"{COLLAPSED}: includes a collapsed fine-tuning." if collapsed else ""
    )


def _shade(one: TaskScores, system: System, language: str) -> Shade | None:
    found: dict[str, tuple[Measure, Result]] = {
        measure.language: (measure, by_system[system])
        for measure, by_system in one.results.items()
        if measure.language and system in by_system
    }
    if language not in found:
        return None
    measure, result = found[language]
    source = found[measure.source][1] if measure.source in found else None
    gap = signed(result.mean - source.mean) if source and not measure.is_source else ""
    title = f"{language_name(language)}, {measure.metric} {number(result.mean)}{one.unit}{f', {gap}' if gap else ''}"
    words = number(result.mean) + COLLAPSED * result.collapsed
    best = source.mean if source else 100.0
    part, whole = (best, result.mean) if measure.greater_is_better is False else (result.mean, best)
    return Shade(words, gap, part / whole if whole > 0 else 0.0, measure.is_source, title)


_MEAN = "mean"  # a column of papers


def _published(runs: Sequence[Run], results: Sequence[TaskScores]) -> list[Section]:
    """Return a table for each of our metrics that a paper prints for the same task and setting."""
    every = [one for task in results for one in _by_metric(task)]
    notes = [named for run in runs for named in _recipe_rows(run)]
    tables = [(html_fragment(table, "beside"), remarks) for one in every for table, remarks in _table(one, notes)]
    if not tables:
        return []
    lead = (
        "Published results are on other data and models, at another scale. They show the order of systems and "
        "languages that the papers found and are not comparable with the scores here."
    )
    return [Section("Published results", lead, render("published", tables=tables))]


def _by_metric(one: TaskScores) -> Iterator[TaskScores]:
    """Yield the scores of the main metric, and of each other metric that papers print of the task."""
    yield one
    for name in dict.fromkeys(row.table.score for row in rows(one.first.task) if row.table.score):
        some = one.every.filter(metric=name, main=False)
        if name != one.first.metric and len(some):
            yield TaskScores(ScoreTable(replace(row, main=True) for row in some), some)


def _recipe_rows(run: Run) -> Iterator[tuple[str, PublishedRow]]:
    """Yield (note, row) of the published results that a recipe names."""
    for place in run.recipe.get("published", []):
        named: dict[str, Any] = {key: place[key] for key in ("where", "task", "system", "columns") if place.get(key)}
        try:
            for row in find_rows(**named):
                yield place.get("note", ""), row
        except DataError as error:
            log.info("%s", error)


def _table(one: TaskScores, notes: Sequence[tuple[str, PublishedRow]]) -> Iterator[tuple[Table, list[str]]]:
    """Yield a table of ours above and theirs below, with remarks, if a paper has results."""
    named = {(row.where, row.system) for _, row in notes}
    beside = [row for row in rows(one.first.task) if _has_figures(row, one)]
    # languages derived under another condition, such as another order of words, are no comparison
    theirs = [row for row in beside if not row.condition or (row.where, row.system) in named]
    if not theirs:
        return
    languages = [measure.language for measure in one.measures if measure.language]
    columns = [language for language in languages if any(language in _figures(row, one) for row in theirs)]
    unit = one.first.unit or one.first.metric
    remarks = dict.fromkeys(remark for row in theirs for remark in row.remarks([unit], one.rules))
    remarks |= dict.fromkeys(f"{row.where}: {note}" for note, row in notes if note and _has_figures(row, one))
    if any(_has_only_mean(row, one) for row in theirs):
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
        values = (_figures(row, one).get(column) for column in columns)
        figures = (each if each is None else Entry(number(each, 1 if round(each, 1) == each else 2)) for each in values)
        lines.append(Line(row.system, (where, Entry(row.table.measured), *figures), theirs=True))
    heads = [Column("Source", is_text=True), Column("Metric", is_text=True), *map(Column, map(language_name, columns))]
    title = f"{one.name}: {one.first.metric}, ours and published (another scale)"
    yield Table("published", title, tuple(heads), tuple(lines), "", "System"), list(remarks)


def _ours(one: TaskScores, system: System, column: str) -> Entry | None:
    language = column if column != _MEAN else "" if one.mean else next(iter(_averaged(one)), None)
    measure = next((measure for measure in one.results if measure.language == language), None)
    result = one.results[measure].get(system) if measure else None
    if result is None:
        return None
    digits = 1 if one.first.unit == "%" or abs(result.mean) >= 100 else 2
    return Entry(number(result.mean, digits), bold=True, collapsed=result.collapsed)


def _averaged(one: TaskScores) -> list[str]:
    return one.averaged if one.mean else [measure.language for measure in one.others][:1]


def _figures(row: PublishedRow, one: TaskScores) -> dict[str, float]:
    return row.figures(one.first.task, one.first.setting, one.first.metric)


def _has_figures(row: PublishedRow, one: TaskScores) -> bool:
    """Return whether a row has a figure of the same task, setting and metric for a language of ours, or their mean."""
    ours = {measure.language for measure in one.measures}
    return not ours.isdisjoint(_figures(row, one)) or (_has_only_mean(row, one) and bool(_averaged(one)))


def _has_only_mean(row: PublishedRow, one: TaskScores) -> bool:
    return list(_figures(row, one)) == [_MEAN]
