"""Tests of systems against a baseline: over runs, over test examples, and over both."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, get_args

import numpy as np

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.randomness import Generator, Purpose, generator
from interlace.scores import Score, ScoreTable, examples, statistics
from interlace.scores.aggregation import (
    Measure,
    Results,
    System,
    aggregate,
    averaged_languages,
    system_of,
    systems_of,
)
from interlace.scores.held_out import add_all_words, comparable_metrics

MIN_RUNS = 5  # of each system; exact tests of fewer runs can hardly be significant
Unit = Literal["seeds", "examples", "both"]


@dataclass(frozen=True)
class Comparison:
    """A system minus its baseline in one measure.

    unit: what the test varies. n: how many of the unit. p: two-sided. adjusted_p: after Holm over the systems of this
    measure.
    """

    measure: Measure
    system: System
    baseline: System
    unit: Unit
    difference: statistics.Interval
    p: float
    adjusted_p: float = math.nan

    @property
    def n(self) -> int:
        """Number of runs or examples."""
        return self.difference.n

    @property
    def significant(self) -> bool:
        """Whether the difference is significant after Holm."""
        return self.adjusted_p < statistics.ALPHA


def _no_outcomes(_row: Score) -> examples.Examples:
    reader = "outcomes=interlace.report.read_outcomes"
    raise SettingsError(f"the test needs the outcomes of test examples: give {reader}")


def compare(
    table: ScoreTable,
    baseline: str | None = None,
    unit: Unit = "seeds",
    *,
    metrics: Mapping[str, Sequence[str]] = {},
    outcomes: Callable[[Score], examples.Examples] = _no_outcomes,
    draws: int = statistics.DRAWS,
    impossible: list[str] | None = None,
) -> list[Comparison]:
    """Compare every system with the baseline under the same settings, in every measure.

    - `seeds`: would other runs give the same result? A permutation test over runs, which are not paired, and Welch's
      interval, which is descriptive. Against systems that were pre-trained here a checkpoint is a single run; between
      two checkpoints the runs are fine-tunings, which say nothing about other pre-trainings.
    - `examples`: would other test examples give the same result for these runs? Paired bootstrap and approximate
      randomization of main metrics. The mean over languages draws parallel examples together.
    - `both`: would other runs with other test examples? Student's test and interval with two-way clustered errors.

    Runs are compared by metrics over all words where main metrics are over different words.

    baseline: name of a system; default: the first. unit: what the test varies. metrics: by task, the metrics to
    compare; default: the main one. outcomes: reads the outcomes of test examples that a row is the score of; needed for
    `examples` and `both`. draws: how often examples are resampled. impossible: takes the reasons why pairs of systems
    cannot be compared over examples; default: the first is an error.
    """
    if unit not in get_args(Unit):
        raise SettingsError(f"unit {unit!r}: expected one of {', '.join(get_args(Unit))}")
    if unit == "seeds":
        table = add_all_words(table)
        metrics = comparable_metrics(table, metrics)
    results = aggregate(table, metrics)
    pairs = _pairs(systems_of(table), baseline)
    measures = [measure for measure in results if measure.main or unit == "seeds"]
    comparisons = []
    for slot, (measure, pair) in enumerate(product(measures, pairs)):
        if not set(pair) <= results[measure].keys():
            continue
        test = _Test(table, results, outcomes, measure, *pair)
        try:
            if unit == "seeds":
                interval, p = test.over_runs(generator(Purpose.STATISTICS, 0, 0, slot))
            elif unit == "examples":
                rng = generator(Purpose.STATISTICS, 0, 2, slot)
                interval, p = test.over_examples(rng, draws)
            else:
                interval, p = test.over_runs_and_examples()
        except DataError as error:
            if impossible is None:
                raise
            impossible.append(test.reason(error))
            continue
        comparisons.append(
            Comparison(
                measure,
                test.system,
                test.baseline,
                unit,
                interval,
                p,
            )
        )
    return _adjusted(comparisons)


def _pairs(systems: Sequence[System], baseline: str | None) -> list[tuple[System, System]]:
    """Return each system with its baseline, if it has one; an unknown baseline is a SettingsError.

    That is the baseline with the same settings, or, of a lone system, the first variant of itself. None, a setting that
    a checkpoint does not have, agrees with any.
    """
    names = list(dict.fromkeys(system.name for system in systems))
    if baseline is not None and baseline not in names:
        raise SettingsError(
            f"the scores have no system {baseline!r}{did_you_mean(baseline, names)}"
        )
    if len(names) == 1:
        return [(system, systems[0]) for system in systems[1:]]
    candidates = [system for system in systems if system.name == (baseline or names[0])]
    pairs = []
    for system in systems:
        if system in candidates:
            continue
        for candidate in candidates:
            if _have_same_axes(system, candidate):
                pairs.append((system, candidate))
                break
    return pairs


def _have_same_axes(system: System, candidate: System) -> bool:
    axes = dict(candidate.axes)
    for key, value in system.axes:
        if value is not None and axes.get(key) is not None and axes[key] != value:
            return False
    return True


@dataclass(frozen=True)
class _Test:
    """A test of a system against its baseline in one measure; read: reads the outcomes of a row's test examples."""

    table: ScoreTable
    results: Results
    read: Callable[[Score], examples.Examples]
    measure: Measure
    system: System
    baseline: System

    @property
    def samples(self) -> tuple[list[float], list[float]]:
        """The scores of the runs of the system and of the baseline."""
        result = self.results[self.measure][self.system]
        baseline = self.results[self.measure][self.baseline]
        return result.against(baseline), baseline.against(result)

    def over_runs(self, rng: Generator) -> tuple[statistics.Interval, float]:
        """Return the difference and its p-value."""
        system, baseline = self.samples
        interval = statistics.difference_interval(system, baseline)
        return interval, statistics.permutation_test(system, baseline, rng)

    def over_examples(self, rng: Generator, draws: int) -> tuple[statistics.Interval, float]:
        """Return the difference and its p-value; raise DataError where outcomes differ or are missing."""
        baseline = self._pooled(self.baseline)  # its error comes first
        system = self._pooled(self.system)
        interval = examples.paired_bootstrap(system, baseline, rng, draws)
        p = examples.approximate_randomization(system, baseline, rng, draws)
        return self._in_unit(interval), p

    def over_runs_and_examples(self) -> tuple[statistics.Interval, float]:
        """Return the difference and its p-value; raise DataError with too few runs, and as `over_examples`."""
        fewest = min(map(len, self.samples))
        if fewest < MIN_RUNS:
            raise DataError(
                f"a test over runs and examples needs {MIN_RUNS} runs of each system; found {fewest}"
            )
        baseline_runs = self._runs(self.baseline)
        interval, p = examples.crossed_test(self._runs(self.system), baseline_runs)
        return self._in_unit(interval), p

    def reason(self, error: DataError) -> str:
        """Return why the test is impossible."""
        names = f"{self.system.label} and {self.baseline.label}"
        where = f"{self.measure.task}, {self.measure.setting}"
        return f"{where}: {names} are not compared over examples: {error}"

    def _in_unit(self, interval: statistics.Interval) -> statistics.Interval:
        """Return an interval of shares in the unit of the measure."""
        scale = 100.0 if self.measure.unit == "%" else 1.0
        return statistics.Interval(
            interval.value * scale,
            interval.low * scale,
            interval.high * scale,
            interval.n,
        )

    def _pooled(self, system: System) -> examples.Examples:
        """Return the mean outcomes over all runs and fine-tunings."""
        return _joined([self._mean(rows) for rows in self._rows_by_language(system)])

    def _runs(self, system: System) -> list[examples.Examples]:
        """Return the mean outcomes over the fine-tunings of each run that was scored in all languages of the measure.

        Of a checkpoint, those of each fine-tuning.
        """
        unit = ("run",) if system.pretrained else ("run", "seed")
        by_language = [rows.group(*unit) for rows in self._rows_by_language(system)]
        pooled = []
        for run in by_language[0]:
            if all(run in rows_by_run for rows_by_run in by_language):
                outcomes = [self._mean(rows_by_run[run]) for rows_by_run in by_language]
                pooled.append(_joined(outcomes))
        return pooled

    def _rows_by_language(self, system: System) -> list[ScoreTable]:
        languages = [self.measure.language]
        if not self.measure.language:
            languages = averaged_languages(self.results, self.measure)
        rows = self.table.filter(
            lambda row: system_of(row) == system,
            main=True,
            task=self.measure.task,
            setting=self.measure.setting,
        )
        return [rows.filter(language=language) for language in languages]

    def _mean(self, rows: Sequence[Score]) -> examples.Examples:
        """Return the mean outcomes of some rows of one system and language."""
        outcomes = [self.read(row) for row in rows]
        if len({(len(run.score), run.identity) for run in outcomes}) > 1:
            where = f"{rows[0].label}, {rows[0].task}, {rows[0].language}"
            raise DataError(f"{where}: runs have different test examples")
        counts = [run.counts for run in outcomes if run.counts is not None]
        return replace(
            outcomes[0],
            score=np.mean([run.score for run in outcomes], axis=0),
            weight=np.mean([run.weight for run in outcomes], axis=0),
            counts=np.mean(counts, axis=0) if counts else None,
        )


def _adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with p-values adjusted over the systems of each measure."""
    by_measure: dict[Measure, list[Comparison]] = {}
    for comparison in comparisons:
        by_measure.setdefault(comparison.measure, []).append(comparison)
    adjusted = []
    for family in by_measure.values():
        ps = statistics.holm([comparison.p for comparison in family])
        for comparison, p in zip(family, ps, strict=True):
            adjusted.append(replace(comparison, adjusted_p=p))
    return adjusted


def _joined(by_language: Sequence[examples.Examples]) -> examples.Examples:
    """Return the outcomes of a single language, or those whose score is the mean over languages."""
    return examples.mean_over_sets(by_language) if len(by_language) > 1 else by_language[0]


def different_examples(table: ScoreTable) -> list[str]:
    """Return the languages in which systems were scored on different test examples, by their hashes or numbers."""
    languages = []
    for language, rows in table.group("language").items():
        have_hashes = all(row.examples for row in rows)
        by_system: dict[Hashable, set[Hashable]] = {}
        for row in rows:
            by_system.setdefault(row.label, set()).add(
                row.examples if have_hashes else row.n or 0
            )
        example_sets = {frozenset(sets) for sets in by_system.values() if all(sets)}
        if len(example_sets) > 1:
            languages.append(language)
    return languages
