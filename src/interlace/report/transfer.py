"""Transfer gaps and their correlation with alignment (Tang et al. 2022, tables 3 and 8, section 5, appendix E)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from interlace.core.randomness import Purpose, generator
from interlace.report.published_rows import THEIRS, CitedRow, with_printed
from interlace.report.tables import Column, Entry, Line, Table, number_entries
from interlace.report.text import p_value
from interlace.scores import SUPERVISED, ZERO_SHOT, ScoreTable, held_out
from interlace.scores.aggregation import (
    GAP,
    OTHERS,
    Measure,
    Result,
    Results,
    System,
    aggregate,
    difference_of,
)
from interlace.scores.published import rows as published_rows
from interlace.scores.statistics import rank_correlation

PROBE = "embedding_alignment"
_HEADS = ("reference", ZERO_SHOT, "gap")
_ALIGNMENT = ("all words", "in the dictionary", "held out")
_CAPTION = (
    "Means over runs. Reference: the score of models fine-tuned on the language itself (supervised), or in tasks "
    "without such scores that in the source language. Gap: reference minus zero-shot. Alignment: percent of words "
    "whose translation is the nearest neighbor; in the dictionary: of entries trained on; held out: words that share "
    "neither words nor embedding rows with these."
)
_CORRELATION_CAPTION = (
    "Spearman's correlation of a probe with the gap of a task; systems are ranked within each condition (a language "
    "under one combination of settings), and the test permutes systems in all conditions alike. "
    "p is two-sided, unadjusted; with three systems it is at least 1/6, with four 1/24. n: systems x "
    "conditions."
)


@dataclass(frozen=True)
class TransferGap:
    """What a system loses in a language that it is not fine-tuned on.

    measure: of the zero-shot scores. reference: supervised scores, or without them those in the source language.
    difference: reference minus zero-shot, by run.
    """

    measure: Measure
    system: System
    reference: Result
    zero_shot: Result
    difference: Result
    is_supervised: bool

    @property
    def task(self) -> tuple[str, str]:
        """The task and its metric."""
        return self.measure.task, self.measure.metric

    @property
    def figures(self) -> list[float]:
        """Reference, zero-shot score and difference, means over runs."""
        return [self.reference.mean, self.zero_shot.mean, self.difference.mean]


def transfer_gaps(results: Results) -> list[TransferGap]:
    """Return the gap of each system in each task and language, and in the mean over languages."""
    supervised_tasks = {measure.task for measure in results if measure.setting == SUPERVISED}
    gaps = []
    for measure, by_system in results.items():
        if measure.setting != ZERO_SHOT or measure.is_source:
            continue
        is_supervised = measure.task in supervised_tasks
        if is_supervised:
            reference_measure = replace(measure, setting=SUPERVISED)
        else:
            reference_measure = replace(measure, language=measure.source)
        references = results.get(reference_measure, {})
        for system, zero_shot in by_system.items():
            if system in references:
                reference = references[system]
                difference = difference_of(reference, zero_shot)
                if difference is not None:
                    gap = TransferGap(
                        measure,
                        system,
                        reference,
                        zero_shot,
                        difference,
                        is_supervised,
                    )
                    gaps.append(gap)
    return gaps


def transfer_tables(
    scores: ScoreTable,
    title: str,
    cited: Sequence[CitedRow] = (),
) -> list[Table]:
    """Return a table of gaps, and one of the correlations of probes with them, each if there are some.

    The table of gaps has by task reference, zero-shot score and gap, and alignment, a row per system and language;
    cited rows of papers are below.
    """
    gaps = transfer_gaps(aggregate(scores, with_printed(scores, {}, cited)))
    if not gaps:
        return []
    tasks = list(dict.fromkeys(gap.task for gap in gaps))
    columns = []
    for task, metric in tasks:
        columns += [Column(head, f"{task} ({metric})") for head in _HEADS]
    columns += [Column(head, "alignment (%)") for head in _ALIGNMENT]
    theirs = _published_lines(cited, tasks)
    notes = [_CAPTION, scores.filter(task=PROBE).candidates_note(), scores.majority_note()]
    if theirs:
        notes.append(THEIRS)
    lines = (*_system_lines(gaps, tasks, scores), *theirs)
    caption = " ".join(filter(None, notes))
    tables = [
        Table(
            "transfer",
            title,
            tuple(columns),
            lines,
            caption,
        )
    ]
    correlations = _correlation_lines(gaps, tasks, scores)
    if correlations:
        correlations += _published_correlations(gaps, tasks)
        columns = [Column(f"{task} ({metric})") for task, metric in tasks]
        title = f"{title}: correlation of probes with the gap"
        table = Table(
            "correlation",
            title,
            tuple(columns),
            tuple(correlations),
            _CORRELATION_CAPTION,
        )
        tables.append(table)
    return tables


def _system_lines(
    gaps: Sequence[TransferGap],
    tasks: Sequence[tuple[str, str]],
    scores: ScoreTable,
) -> list[Line]:
    """Return a line for each system and language; without supervised scores only the mean over languages."""
    languages_by_task: dict[tuple[str, str], set[str]] = {}
    for gap in gaps:
        languages_by_task.setdefault(gap.task, set()).add(gap.measure.language)
    rows: dict[tuple[str, System], dict[tuple[str, str], TransferGap]] = {}
    for gap in gaps:
        language = gap.measure.language
        is_alone = len(languages_by_task[gap.task]) == 1
        if gap.is_supervised or is_alone or language == OTHERS:
            rows.setdefault((language, gap.system), {})[gap.task] = gap
    has_languages = len({language for language, _ in rows}) > 1
    alignments = alignment_scores(scores)
    lines = []
    for (language, system), by_task in rows.items():
        figures: list[float | None] = []
        for task in tasks:
            figures += by_task[task].figures if task in by_task else [None] * len(_HEADS)
        figures += alignments.get((language, system), [None] * len(_ALIGNMENT))
        label = f"{system.label}, {language or 'mean'}" if has_languages else system.label
        lines.append(Line(label, number_entries(figures, ".1f")))
    return lines


def alignment_scores(scores: ScoreTable) -> dict[tuple[str, System], list[float | None]]:
    """Return P@1 over all words, those in the dictionary, and those held out, by language and system."""
    probe = scores.filter(task=PROBE)
    means: dict[tuple[str, System], dict[str, float]] = {}
    for measure, by_system in aggregate(probe, {PROBE: probe.unique("metric")}).items():
        for system, result in by_system.items():
            means.setdefault((measure.language, system), {})[measure.metric] = result.mean
    alignments = {}
    for key, by_metric in means.items():
        main = by_metric.get("p@1")
        all_words = by_metric.get("p@1" + held_out.ALL_WORDS)
        if all_words is None:  # trained without a dictionary
            alignments[key] = [main, None, None]
        else:
            has_held_out = by_metric.get(held_out.HELD_OUT_SHARE, 100.0) > 0
            held_out_words = main if has_held_out else None
            alignments[key] = [all_words, by_metric.get("p@1, seen"), held_out_words]
    return alignments


def _correlation_lines(
    gaps: Sequence[TransferGap],
    tasks: Sequence[tuple[str, str]],
    scores: ScoreTable,
) -> list[Line]:
    """Return a line for each probe with its correlations by task; none with too few points."""
    trained = {task for task, _ in tasks}
    probes = scores.filter(lambda row: row.task not in trained)
    over_all_words = held_out.over_all_words(probes)
    tasks_with_dictionary = over_all_words.unique("task")
    results = aggregate(probes.filter(lambda row: row.task not in tasks_with_dictionary))
    results |= aggregate(over_all_words)
    probe_scores: dict[tuple[str, str], dict[tuple[str, System], float]] = {}
    for measure, by_system in results.items():
        if measure.language != OTHERS:
            means = probe_scores.setdefault((measure.task, measure.metric), {})
            for system, result in by_system.items():
                means[measure.language, system] = result.mean
    lines = []
    for (probe, metric), means in probe_scores.items():
        entries = [
            _correlation(means, [gap for gap in gaps if gap.task == task]) for task in tasks
        ]
        if any(entries):
            lines.append(Line(f"{probe} ({metric})", tuple(entries)))
    return lines


def _correlation(
    means: Mapping[tuple[str, System], float], gaps: Sequence[TransferGap]
) -> Entry | None:
    """Return the rank correlation of a probe with the gaps of a task, or None if it is undefined.

    Ranks are taken within conditions. A condition is a language, whose variants of one system are compared; or, of
    several systems, a language and the axes of a variant. means: of the probe, by language and system.
    """
    is_lone = len({gap.system.name for gap in gaps}) == 1
    points: dict[Hashable, dict[Hashable, tuple[float, float]]] = {}  # by condition and system
    for gap in gaps:
        language = gap.measure.language
        if (language, gap.system) in means:
            point = (means[language, gap.system], gap.difference.mean)
            if is_lone:
                points.setdefault(language, {})[gap.system] = point
            else:
                points.setdefault((language, gap.system.axes), {})[gap.system.name] = point
    correlation, conditions = rank_correlation(points, generator(Purpose.STATISTICS, 0, 4))
    if math.isnan(correlation.rho):
        return None
    p_and_n = f"{p_value(correlation.p)}, n = {correlation.n} x {conditions}"
    return Entry(f"{correlation.rho:.2f}", p_and_n)


def _published_lines(cited: Sequence[CitedRow], tasks: Sequence[tuple[str, str]]) -> list[Line]:
    """Return a line for each published system, with figures of our metrics."""
    keys = [(PROBE, "p@1", "mean")]
    for task, metric in reversed(tasks):
        keys = [(task, metric, setting) for setting in (SUPERVISED, ZERO_SHOT, GAP)] + keys
    figures: dict[str, dict[tuple[str, str, str], float]] = {}
    for entry in cited:
        table = entry.row.table
        by_key = figures.setdefault(entry.row.where, {})
        for column, figure in entry.row.scores.items():
            by_key[table.task, table.score, column] = figure
    lines = []
    for where, by_key in figures.items():
        entries = number_entries([*(by_key.get(key) for key in keys), None, None], ".1f")
        if any(entries):
            lines.append(Line(where, entries, theirs=True))
    return lines


def _published_correlations(
    gaps: Sequence[TransferGap], tasks: Sequence[tuple[str, str]]
) -> list[Line]:
    """Return the correlations that ALIGN-MLM's appendix prints, for tasks with a metric that papers print.

    Its gaps are those between supervised and zero-shot scores, so other gaps have nothing to be compared with.
    """
    published_metrics = {(row.table.task, row.table.score) for row in published_rows()}
    comparable = {
        gap.task for gap in gaps if gap.is_supervised and gap.task in published_metrics
    }
    lines = []
    for row in published_rows("correlation of alignment and transfer"):
        figures: list[float | None] = []
        for name, metric in tasks:
            is_comparable = (name, metric) in comparable
            figures.append(row.scores.get(name) if is_comparable else None)
        entries = number_entries(figures, ".2f")
        if any(entries):
            label = f"{row.cite}, {row.table.number}"
            lines.append(Line(label, entries, theirs=True))
    return lines
