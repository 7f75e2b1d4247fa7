"""Scores as one table for a terminal: tasks and systems down, languages across."""

from collections.abc import Sequence
from statistics import stdev

from interlace.report.captions import direction_note
from interlace.report.comparison_table import ComparisonTable, TaskScores
from interlace.report.tables import LOWER, Column, Entry, Line, Table
from interlace.scores import ZERO_SHOT, ScoreTable
from interlace.scores.aggregation import GAP, Measure, Result, System
from interlace.scores.held_out import HELD_OUT_SHARE


def overview(scores: ScoreTable) -> Table:
    """Return tasks and systems down, languages and their mean without the source across.

    Several measurements are their mean and standard deviation.
    """
    comparison = ComparisonTable(scores)
    tasks = [task for task in comparison.tasks if task.setting != GAP]
    main = scores.filter(main=True)
    languages = _source_first(main)
    labels = main.unique("label")
    lines = []
    for task in tasks:
        for system in task.systems:
            entries = [_entry(task, measure, system) for measure in _columns(task, languages)]
            if len(labels) > 1:
                entries.insert(0, Entry(system.label))
            lines.append(Line(_task_head(task), tuple(entries)))
    columns = [Column(language) for language in (*languages, "mean")]
    if len(labels) > 1:
        columns.insert(0, Column("recipe", is_text=True))
    title = "Scores"
    if len(main.unique("seed")) > 1:
        title += " over seeds, ± standard deviation"
    if any(row.language == row.source for row in main):
        title += " (mean: without the source)"
    lower = direction_note(task.first for task in tasks)
    notes = (
        lower,
        main.collapse_note(),
        main.candidates_note(),
        comparison.scores_over_same_words.majority_note(),
    )
    return Table(
        "scores", title, tuple(columns), tuple(lines), " ".join(filter(None, notes)), "task"
    )


def _source_first(scores: ScoreTable) -> list[str]:
    """Return the languages by code, those that tasks are fine-tuned on first."""
    sources = scores.unique("source")
    return sorted(
        scores.unique("language"), key=lambda language: (language not in sources, language)
    )


def _columns(task: TaskScores, languages: Sequence[str]) -> list[Measure | None]:
    by_language = {measure.language: measure for measure in task.measures}
    return [*(by_language.get(language) for language in languages), task.summary]


def _task_head(task: TaskScores) -> str:
    """Return task and setting, and in a second line metric, words of a dictionary and unit."""
    first = task.first
    head = task.name
    if task.setting != ZERO_SHOT:
        head += f", {task.setting}"
    if first.greater_is_better is False:
        head += LOWER
    held_out = any(row.score for row in task.rows.filter(metric=HELD_OUT_SHARE))
    parts = [first.metric, "held-out" if held_out and first.main else "", first.unit]
    return f"{head}\n({', '.join(filter(None, parts))})"


def _entry(task: TaskScores, measure: Measure | None, system: System) -> Entry | None:
    result: Result | None = task.results[measure].get(system) if measure else None
    if measure is None or result is None:
        return None
    deviation = f"{stdev(result.values):.1f}" if len(result.values) > 1 else ""
    return Entry(measure.format(result.mean), deviation, collapsed=result.collapsed)
