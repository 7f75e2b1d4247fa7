"""Scores by language and system, and the gap of each language to the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report import svg
from interlace.report.charts import Dot, DotRow, dot_chart
from interlace.report.matrices import Shade, heat_map
from interlace.report.runs import all_scores, first_of_each, short_names
from interlace.report.score_tables import SIGNIFICANCE_NOTE, TaskScores, task_scores
from interlace.report.sections import Section, figure_section
from interlace.report.tables import html_fragment
from interlace.report.text import language_name, language_names, number, render, signed, spread
from interlace.scores import COLLAPSED
from interlace.scores.statistics import ALPHA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report.runs import Run
    from interlace.report.svg import Drawing
    from interlace.scores.comparison import Measure, Result, System

_NO_TUNING = "No fine-tuning: probes and translation score each model as it is."


def scores(runs: Sequence[Run]) -> list[Section]:
    """Return the sections `Scores by language`, which without scores says how to evaluate, and `Transfer gap`."""
    results = task_scores(all_scores(runs))
    if not results:
        body = render("scores", tables=[], figures=[], keys=[], notes=[])
        return [Section("Scores by language", "No task has been scored yet; run `interlace evaluate`.", body)]
    styles = {run.label: run.style for run in first_of_each(runs)}
    sources = list(dict.fromkeys(one.first.source for one in results if one.tuned))
    settings = [one.first.setting for one in results if one.first.setting != "zero-shot"]
    lead = f"Fine-tuned on {language_names(sources)}; other languages are scored zero-shot." if sources else _NO_TUNING
    if settings:
        lead += f" Tables say where the setting is different ({', '.join(dict.fromkeys(settings))})."
    figures = [_dots(one, styles, short_names(runs)) for one in results]
    tables = []
    for one in results:
        other = one.other_metrics()
        tables.append((html_fragment(one.language_table(short_names(runs))), other and html_fragment(other)))
    by_row = any(len(one.systems) <= svg.STYLES for one in results)
    keys = [(svg.key(style), label) for label, style in styles.items()] if len(styles) > 1 and by_row else []
    body = render("scores", tables=tables, figures=figures, keys=keys, notes=_notes(results))
    return [Section("Scores by language", lead, body, figures), _transfer_gap(results)]


def _notes(results: Sequence[TaskScores]) -> list[str]:
    found = [result for one in results for by in one.results.values() for result in by.values()]
    parts = []
    if any(len(result.values) > 1 for result in found):
        parts.append("Thin bars and small figures: lowest to highest seed.")
    if any(result.interval for result in found):
        parts.append("Single measurements: 95 % bootstrap interval over test examples.")
    if len({system.label for one in results for system in one.systems}) > 1:
        parts.append("Bold: best mean of a row.")
        several = any(result.pretrained for result in found)
        unit = "pre-training runs" if several else "fine-tuning runs"
        baselines = dict.fromkeys(one.systems[0].label for one in results if len(one.systems) > 1)
        parts.append(SIGNIFICANCE_NOTE.format(baseline=" or ".join(baselines), unit=unit, alpha=ALPHA))
    return parts


def _dots(one: TaskScores, styles: dict[str, int], short: dict[str, str]) -> Drawing:
    """Draw languages down with a mark a system; with more systems than styles, systems down with a mark a language."""
    first = one.first
    title = f"{one.name}, {first.metric}{f' in {first.unit}' if first.unit not in {'', first.metric} else ''}"
    names = {measure: one.line_name(measure) + " *" * measure.is_source for measure in one.measures}
    if len(one.systems) > svg.STYLES >= len(names):
        rows = [
            DotRow(short[system.label], [
                _dot(one.results[measure][system], style, name)
                for style, (measure, name) in enumerate(names.items())
                if system in one.results[measure]
            ])
            for system in one.systems
        ]  # fmt: skip
        keys = {name: style for style, name in enumerate(names.values())}
        return dot_chart(title, rows, _ends(one), keys, names_above=True)
    rows = [
        DotRow(
            name,
            [_dot(result, styles[system.label], system.label) for system, result in one.results[measure].items()],
            mean=not measure.language,
        )
        for measure, name in names.items()
    ]
    return dot_chart(title, rows, _ends(one))


def _dot(result: Result, style: int, name: str) -> Dot:
    low, high = result.ends
    return Dot(style, result.mean, low, high, f"{name}: {number(result.mean)} ({spread(low, high)})")


def _ends(one: TaskScores) -> tuple[float, float]:
    """Return round ends around all scores; percentages stay within 0 and 100."""
    ends = [result.ends for by_system in one.results.values() for result in by_system.values()]
    least, most = min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=1.0)
    room = max((most - least) * 0.05, 0.5 if one.first.unit == "%" else abs(most) * 0.01, 1e-6)
    low, high = least - room, most + room
    step = [*svg.ticks(low, high, 5), low, high][:2]
    size = abs(step[1] - step[0]) / 2 or 1.0
    low, high = (low // size) * size, -((-high) // size) * size
    return (max(low, 0.0), min(high, 100.0)) if one.first.unit == "%" and least >= 0 and most <= 100 else (low, high)


# ---- transfer gap ----


def _transfer_gap(results: Sequence[TaskScores]) -> Section:
    """Return a shaded table a system: languages down, tasks across, with the difference to the source language."""
    systems = dict.fromkeys(system for one in results for system in one.systems)
    figures = [(system.label, _heat(system, results)) for system in systems]
    lead = (
        "Mean score of each language and task, with the difference to the source language (framed) below. Darker cells "
        "are closer to the source."
    )
    collapsed = any(result.collapsed for one in results for by in one.results.values() for result in by.values())
    note = f"{COLLAPSED}: includes a collapsed fine-tuning." if collapsed else ""
    return figure_section("Transfer gap", lead, figures, note)


def _heat(system: System, results: Sequence[TaskScores]) -> Drawing:
    mine = [one for one in results if system in one.systems]
    languages = list(dict.fromkeys(measure.language for one in mine for measure in one.measures if measure.language))
    cells = [[_shade(one, system, language) for one in mine] for language in languages]
    names = [one.name for one in mine]
    spoken = []
    for language, row in zip(languages, cells, strict=True):
        spoken.append(language_name(language))
        spoken[-1] += "".join(f", {name} {cell.words}" for name, cell in zip(names, row, strict=True) if cell)
    label = f"Scores of {system.label}: {'; '.join(spoken)}"
    return heat_map([language_name(language) for language in languages], names, cells, label, width=86.0)


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
