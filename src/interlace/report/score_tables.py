"""Scores of one task as a table of languages by systems, and a sentence on its best systems."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import stdev
from typing import Any

from interlace.report.tables import LOWER, Column, Entry, Line, Table
from interlace.report.text import language_name, number, p_value, signed, spread, task_name
from interlace.scores import ZERO_SHOT, ScoreTable, comparison
from interlace.scores.held_out import ALL_WORDS, HELD_OUT_SHARE, NOTE, add_all_words, with_same_words
from interlace.scores.statistics import ALPHA


@dataclass(frozen=True)
class TaskScores:
    """The scores of several systems in one task, metric and setting; differences are from the first system."""

    table: ScoreTable
    every: ScoreTable  # with the other metrics

    @cached_property
    def results(self) -> comparison.Results:
        """The finite scores by measure and system, with the mean over languages."""
        return comparison.aggregate(self.table)

    @cached_property
    def systems(self) -> list[comparison.System]:
        """The systems in order."""
        return comparison.systems_of(self.table)

    @cached_property
    def comparisons(self) -> dict[tuple[comparison.Measure, comparison.System], comparison.Comparison]:
        """The tests against the first system."""
        return {(one.measure, one.system): one for one in comparison.compare(self.table)}

    @property
    def measures(self) -> list[comparison.Measure]:
        """The source language, the others by code, and the mean at the end."""
        return sorted(
            self.results,
            key=lambda measure: (measure.language == comparison.OTHERS, not measure.is_source, measure.language),
        )

    @property
    def mean(self) -> comparison.Measure | None:
        """The mean over the languages that all systems share, without the source."""
        return next((measure for measure in self.results if measure.language == comparison.OTHERS), None)

    @property
    def averaged(self) -> list[str]:
        """The languages of the mean."""
        return comparison.averaged_languages(self.results, self.mean) if self.mean else []

    @property
    def others(self) -> list[comparison.Measure]:
        """The languages other than the source."""
        return [measure for measure in self.results if measure.language != comparison.OTHERS and not measure.is_source]

    @property
    def summary(self) -> comparison.Measure | None:
        """The mean, or the only language other than the source."""
        return self.mean or (self.others[0] if len(self.others) == 1 else None)

    @property
    def first(self) -> Any:
        """A row, for task, metric, unit, source, setting and direction."""
        return self.table[0]

    @property
    def name(self) -> str:
        """The title of the task with its setting."""
        return task_name(self.first.task, self.first.setting)

    @property
    def unit(self) -> str:
        """The unit behind a number."""
        unit = self.first.unit
        return "\N{NARROW NO-BREAK SPACE}%" if unit == "%" else f" {unit}" if unit else ""

    @property
    def tuned(self) -> bool:
        """Whether models were fine-tuned."""
        return any(row.tuning for row in self.table)

    @property
    def rules(self) -> list[str]:
        """The rules that selected the weights of fine-tuned models."""
        return list(dict.fromkeys(str(row.tuning["rule"]) for row in self.table if "rule" in row.tuning))

    def line_name(self, measure: comparison.Measure) -> str:
        """Return the name of a language or of the mean."""
        if measure.language:
            return language_name(measure.language)
        if len(self.averaged) < len(self.others):
            return f"Mean of {len(self.averaged)} shared"
        return "Mean of others" if measure.has_source else "Mean"

    @cached_property
    def words(self) -> dict[comparison.System, str]:
        """Which words of a dictionary the scores of each system are over; "" if all are over all words."""
        found = {}
        if self.first.metric.endswith(ALL_WORDS):
            return dict.fromkeys(self.systems, "")
        for system in self.systems:
            rows = self.every.filter(system=system.name)
            shares = rows.filter(metric=HELD_OUT_SHARE).group("run", "language")
            kinds = {
                "held-out words" if any(row.score for row in shares.get(place, ())) else "all words"
                for place in rows.filter(metric=self.first.metric).group("run", "language")
            }
            found[system] = " or ".join(sorted(kinds, reverse=True))
        return dict.fromkeys(found, "") if set(found.values()) == {"all words"} else found

    def language_table(self, short: dict[str, str]) -> Table:
        """Return languages down and systems across, with differences from the first; `short` names the systems."""
        rest = self.systems[1:]
        names = [short.get(system.label, system.label) for system in self.systems]
        heads = [f"{name} − {names[0]}" for name in names[1:]] if len(rest) > 1 else ["difference"] * len(rest)
        columns = [Column(name, small=self.words[one]) for name, one in zip(names, self.systems, strict=True)]
        lines = []
        for measure in self.measures:
            by_system = self.results[measure]
            best = comparison.best_of(measure, by_system)
            entries: list[Entry | None] = [_entry(by_system.get(one), bold=one == best) for one in self.systems]
            tests = [self.comparisons.get((measure, system)) for system in rest]
            entries += [
                None if one is None else Entry(signed(one.difference.value), significant=one.significant)
                for one in tests
            ]
            kind = "source" if measure.is_source else "" if measure.language else "mean"
            lines.append(Line(self.line_name(measure), tuple(entries), kind=kind, small="source" * measure.is_source))
        title = f"{self.name}: {self.first.metric}{f', {self.first.unit}' if self.first.unit else ''}"
        every = (*columns, *(Column(head) for head in heads))
        return Table(self.first.task, title, every, tuple(lines), " ".join(self.notes), "Language")

    @property
    def notes(self) -> list[str]:
        """What the scores depend on, as sentences."""
        seeds = sorted({len(result.values) for by in self.results.values() for result in by.values()})
        sizes = sorted({result.n for by in self.results.values() for result in by.values() if result.n is not None})
        unfinite = len(self.table) - sum(math.isfinite(row.score) for row in self.table)
        languages = [language_name(language) for language in comparison.different_examples(self.table)]
        shares = [row.contamination.get("ngram", 0.0) for row in self.table if row.contamination]
        unknown = dict.fromkeys(name for row in self.table for name in row.contamination.get("unknown", ()))
        held_out = [system.label for system, words in self.words.items() if words.startswith("held-out")]
        translations = [each for each in self.table.unique("translations") if each]
        signatures = dict.fromkeys(f"{name} {text}" for row in self.table for name, text in row.signatures.items())
        found = {
            f"Measurements per cell: {spread(seeds[0], seeds[-1], 0)}." if seeds else "": True,
            f"Test examples per language: {spread(sizes[0], sizes[-1], 0)}." if sizes else "": True,
            f"Left out, not finite: {unfinite} scores.": unfinite,
            "Lower is better.": self.first.greater_is_better is False,
            self.table.collapse_note(): True,
            self.table.candidates_note(): True,
            self.every.majority_note(): True,
            f"Systems have different test examples in: {', '.join(languages)}.": languages,
            f"{self.first.metric} is over held-out words (no dictionary entry read in training).": held_out,
            NOTE.format(metric=self.first.metric): self.first.metric.endswith(ALL_WORDS),
            f"Weights selected by: {', '.join(self.rules)}.": self.rules,
            f"Translations: {', '.join(translations)}.": translations,
            f"Signatures: {'; '.join(signatures)}.": signatures,
            f"Contamination: up to {number(max(shares, default=0.0))} % of a language's test examples share word "
            "n-grams with the pre-training text.": any(shares),
            f"Pre-training text unknown: {', '.join(unknown)}.": unknown,
        }
        return [sentence for sentence, holds in found.items() if sentence and holds]

    def other_metrics(self) -> Table | None:
        """Return the metrics other than the main one, a row per language and system; None if there are none."""
        rows = add_all_words(self.every)
        main = {(row.run, row.language, row.seed): round(row.score, 4) for row in reversed(self.table)}
        names = [
            name
            for name, some in rows.filter(main=False).group("metric").items()
            if any(row.score != main.get((row.run, row.language, row.seed)) for row in some) or name.endswith(ALL_WORDS)
        ]
        lines = []
        for measure in self.measures:
            for system in self.systems:
                some = rows.filter(language=measure.language, system=system.name)
                means = [_mean(some.filter(metric=name)) for name in names]
                if any(mean is not None for mean in means):
                    lines.append(Line(self.line_name(measure), (Entry(system.label), *means)))
        columns = (Column("System", is_text=True), *map(Column, names))
        return Table("other", f"{self.name}: other metrics", columns, tuple(lines), "", "Language") if lines else None


def _entry(result: comparison.Result | None, *, bold: bool) -> Entry:
    """Return the mean over runs with the range over seeds, or the interval of a single measurement, below it."""
    if result is None:
        return Entry("not scored")
    several = len(result.values) > 1
    small = spread(*result.ends) if several else f"95 %: {spread(*result.interval)}" if result.interval else ""
    return Entry(number(result.mean), bold=bold, collapsed=result.collapsed, small=small)


def _mean(rows: Iterable[Any]) -> Entry | None:
    values = [row.score for row in rows if math.isfinite(row.score)]
    return Entry(number(sum(values) / len(values), 2)) if values else None


def task_scores(table: ScoreTable) -> list[TaskScores]:
    """Return the scores of each task, main metric, source and setting."""
    columns = ("task", "source", "setting")
    table = with_same_words(table)
    every = table.group(*columns)
    found = []
    for (*place, _), rows in table.filter(main=True).group(*columns, "metric").items():
        entries = {(row.run, row.language, row.seed) for row in rows}
        around = [row for row in every[tuple(place)] if (row.run, row.language, row.seed) in entries]
        found.append(TaskScores(rows, ScoreTable(around)))
    return found


def overview(table: ScoreTable) -> Table:
    """Return one table for a terminal: tasks and systems down, languages and their mean without the source across.

    Several measurements are their mean and standard deviation.
    """
    tasks, main = task_scores(table), table.filter(main=True)
    sources = main.unique("source")
    languages = sorted(main.unique("language"), key=lambda language: (language not in sources, language))
    labels = main.unique("label")
    lines = []
    for one in tasks:
        measures = {measure.language: measure for measure in one.measures}
        shown = [*(measures.get(language) for language in languages), one.summary]
        first = one.first
        task = first.task if first.setting == ZERO_SHOT else f"{first.task}, {first.setting}"
        for system in one.systems:
            words = one.words[system].removesuffix(" words")
            about = ", ".join(filter(None, (first.metric, words, first.unit)))
            name = f"{task}{LOWER * (first.greater_is_better is False)}\n({about})"
            entries = [_mean_entry(one.results[each].get(system), each) if each else None for each in shown]
            lines.append(Line(name, (*([Entry(system.label)] if len(labels) > 1 else []), *entries)))
    several, sourced = len(main.unique("seed")) > 1, any(row.language == row.source for row in main)
    title = f"Scores{' over seeds, ± standard deviation' * several}{' (mean: without the source)' * sourced}"
    lower = f"{LOWER.strip()}: lower is better." * any(row.greater_is_better is False for row in main)
    notes = (lower, main.collapse_note(), main.candidates_note(), table.majority_note())
    columns = [Column("recipe", is_text=True)] * (len(labels) > 1) + [Column(name) for name in (*languages, "mean")]
    return Table("scores", title, tuple(columns), tuple(lines), " ".join(filter(None, notes)), "task")


def _mean_entry(result: comparison.Result | None, measure: comparison.Measure) -> Entry | None:
    if result is None:
        return None
    deviation = f"{stdev(result.values):.1f}" if len(result.values) > 1 else ""
    return Entry(measure.format(result.mean), deviation, collapsed=result.collapsed)


def verdict(scores: TaskScores) -> str:
    """Return a sentence on the best two systems of a task, with the test of their difference."""
    measure = scores.summary
    by_system = scores.results[measure] if measure else {}
    if measure is None or not by_system:
        return ""
    order = sorted(by_system, key=lambda one: by_system[one].mean, reverse=measure.greater_is_better is not False)[:2]
    shown = [f"{one.label} {number(by_system[one].mean)}{scores.unit}" for one in order]
    if len(order) == 1:
        return f"{scores.name}: {shown[0]}."
    tested = comparison.significance_against(by_system, order[0])[order[1]]
    p, word = p_value(tested.p), "better than" if tested.p < ALPHA else "not significantly different from"
    if min(len(by_system[one].sample) for one in order) == 1:
        p, word = "one run each, not tested", "and"
    elif tested.min_p >= ALPHA:
        p += ", cannot be significant with so few runs"
    return f"{scores.name}: {shown[0]} {word} {shown[1]} ({p})."


def summary_table(results: Sequence[TaskScores]) -> Table:
    """Return a row per system and a column per task: the mean over the languages that all systems share."""
    systems = list(dict.fromkeys(system for one in results for system in one.systems))
    columns, by_task = [], []
    for one in results:
        if (measure := one.summary) is None:
            continue
        best = comparison.best_of(measure, one.results[measure])
        tests = {system: one.comparisons.get((measure, system)) for system in systems}
        by_task.append({
            system: replace(
                _entry(result, bold=system == best), significant=bool((test := tests[system]) and test.significant)
            )
            for system, result in one.results[measure].items()
        })  # fmt: skip
        where = f"mean of {len(one.averaged)}" if one.mean else language_name(measure.language)
        columns.append(Column(one.name, small=f"{one.first.metric}, {where}"))
    lines = [Line(system.label, tuple(entries.get(system) for entries in by_task)) for system in systems]
    return Table("summary", "", tuple(columns), tuple(lines), "", "System")
