"""Tests of systems against a baseline: over runs, over test examples, and over both."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.randomness import Generator, Purpose, generator
from interlace.scores import Score, ScoreTable, examples, statistics
from interlace.scores.aggregation import (
    Measure,
    Result,
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

    unit: what the test varies. p: two-sided; min_p: the smallest possible with so few measurements. adjusted_p,
    adjusted_min_p: after Holm over the systems of this measure. n: how many of the unit.
    """

    measure: Measure
    system: System
    baseline: System
    difference: statistics.Interval
    p: float
    adjusted_p: float
    min_p: float
    unit: Unit
    n: int
    adjusted_min_p: float = 0.0

    @property
    def significant(self) -> bool:
        """Whether the difference is significant after Holm."""
        return self.adjusted_p < statistics.ALPHA

    @property
    def can_be_significant(self) -> bool:
        """Whether any scores of so few measurements would be significant after Holm."""
        return self.adjusted_min_p < statistics.ALPHA


def compare(
    table: ScoreTable,
    baseline: str | None = None,
    unit: Unit = "seeds",
    *,
    metrics: Mapping[str, Sequence[str]] = {},
    outcomes: Callable[[Score], examples.Examples] | None = None,
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
    pairs = _pairs(systems_of(table), baseline)
    results = aggregate(table, metrics)
    if unit == "seeds":
        return _adjusted(_over_seeds(results, pairs))
    if outcomes is None:
        reader = "outcomes=interlace.report.read_outcomes"
        raise SettingsError(f"unit {unit!r} needs the outcomes of test examples: give {reader}")
    tests = _ExampleTests(_Outcomes(table, results, outcomes), unit, draws)
    return _adjusted(tests.of(pairs, impossible))


@dataclass(frozen=True)
class _Pair:
    """A system and what it is compared with."""

    system: System
    baseline: System

    def is_in(self, by_system: Mapping[System, Result]) -> bool:
        """Return whether both have scores."""
        return self.system in by_system and self.baseline in by_system


def _pairs(systems: Sequence[System], baseline: str | None) -> list[_Pair]:
    """Return each system with its baseline, if it has one; an unknown baseline is a SettingsError."""
    names = list(dict.fromkeys(system.name for system in systems))
    if baseline is not None and baseline not in names:
        raise SettingsError(
            f"the scores have no system {baseline!r}{did_you_mean(baseline, names)}"
        )
    pairs = []
    for system in systems:
        reference_system = reference(system, systems, baseline)
        if reference_system is not None:
            pairs.append(_Pair(system, reference_system))
    return pairs


def reference(
    system: System, systems: Sequence[System], baseline: str | None = None
) -> System | None:
    """Return what a system is tested against: the baseline with the same settings, or the first variant of itself.

    None, a setting that a checkpoint does not have, agrees with any.
    """
    name = baseline or systems[0].name
    if system.name != name:
        candidates = (candidate for candidate in systems if candidate.name == name)
        return next(
            (candidate for candidate in candidates if _have_same_axes(system, candidate)), None
        )
    is_alone = all(candidate.name == name for candidate in systems)
    return systems[0] if is_alone and system != systems[0] else None


def _have_same_axes(system: System, candidate: System) -> bool:
    axes = dict(candidate.axes)
    for key, value in system.axes:
        if value is not None and axes.get(key) is not None and axes[key] != value:
            return False
    return True


def _over_seeds(results: Results, pairs: Sequence[_Pair]) -> list[Comparison]:
    comparisons = []
    for measure_index, (measure, by_system) in enumerate(results.items()):
        for pair_index, pair in enumerate(pairs):
            if not pair.is_in(by_system):
                continue
            system_scores = by_system[pair.system].against(by_system[pair.baseline])
            baseline_scores = by_system[pair.baseline].against(by_system[pair.system])
            rng = generator(Purpose.STATISTICS, 0, 0, measure_index * len(pairs) + pair_index)
            test = statistics.permutation_test(system_scores, baseline_scores, rng)
            comparison = Comparison(
                measure=measure,
                system=pair.system,
                baseline=pair.baseline,
                difference=statistics.difference_interval(system_scores, baseline_scores),
                p=test.p,
                adjusted_p=test.p,
                min_p=test.min_p,
                unit="seeds",
                n=test.n,
            )
            comparisons.append(comparison)
    return comparisons


def _adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with p-values adjusted over the systems of each measure."""
    by_measure: dict[Measure, list[Comparison]] = {}
    for comparison in comparisons:
        by_measure.setdefault(comparison.measure, []).append(comparison)
    adjusted = []
    for family in by_measure.values():
        ps = statistics.holm([comparison.p for comparison in family])
        min_ps = statistics.holm([comparison.min_p for comparison in family])
        for comparison, p, min_p in zip(family, ps, min_ps, strict=True):
            adjusted.append(replace(comparison, adjusted_p=p, adjusted_min_p=min_p))
    return adjusted


@dataclass(frozen=True)
class _ExampleTests:
    """Tests of main metrics over test examples, or over runs and examples."""

    outcomes: _Outcomes
    unit: Unit
    draws: int

    def of(self, pairs: Sequence[_Pair], impossible: list[str] | None) -> list[Comparison]:
        """Return the comparisons that are possible; `impossible` takes the reasons against others."""
        results = self.outcomes.results
        comparisons = []
        main_measures = [measure for measure in results if measure.main]
        for measure_index, measure in enumerate(main_measures):
            for pair_index, pair in enumerate(pairs):
                if not pair.is_in(results[measure]):
                    continue
                rng = generator(Purpose.STATISTICS, 0, 2, measure_index * len(pairs) + pair_index)
                try:
                    comparisons.append(self._test(measure, pair, rng))
                except DataError as error:
                    if impossible is None:
                        raise
                    names = f"{pair.system.label} and {pair.baseline.label}"
                    message = f"{measure.task}, {measure.setting}: {names} are not compared over examples: {error}"
                    if message not in impossible:
                        impossible.append(message)
        return comparisons

    def _test(self, measure: Measure, pair: _Pair, rng: Generator) -> Comparison:
        if self.unit == "both":
            return self._over_runs_and_examples(measure, pair)
        # the baseline's error first
        baseline = self.outcomes.pooled(measure, pair.baseline)
        system = self.outcomes.pooled(measure, pair.system)
        interval = examples.paired_bootstrap(system, baseline, rng, draws=self.draws)
        test = examples.approximate_randomization(system, baseline, rng, self.draws)
        return self._comparison(measure, pair, interval, p=test.p, min_p=test.min_p)

    def _over_runs_and_examples(self, measure: Measure, pair: _Pair) -> Comparison:
        by_system = self.outcomes.results[measure]
        system_scores = by_system[pair.system].against(by_system[pair.baseline])
        baseline_scores = by_system[pair.baseline].against(by_system[pair.system])
        fewest = min(len(system_scores), len(baseline_scores))
        if fewest < MIN_RUNS:
            raise DataError(
                f"a test over runs and examples needs {MIN_RUNS} runs of each system; found {fewest}"
            )
        baseline_runs = self.outcomes.runs(measure, pair.baseline)
        test = examples.crossed_test(self.outcomes.runs(measure, pair.system), baseline_runs)
        return self._comparison(measure, pair, test.interval, p=test.p, min_p=0.0)

    def _comparison(
        self,
        measure: Measure,
        pair: _Pair,
        interval: statistics.Interval,
        *,
        p: float,
        min_p: float,
    ) -> Comparison:
        """Return a comparison; intervals over examples are shares, which become percent."""
        scale = 100.0 if measure.unit == "%" else 1.0
        difference = statistics.Interval(
            interval.value * scale, interval.low * scale, interval.high * scale, interval.n
        )
        return Comparison(
            measure=measure,
            system=pair.system,
            baseline=pair.baseline,
            difference=difference,
            p=p,
            adjusted_p=p,
            min_p=min_p,
            unit=self.unit,
            n=interval.n,
        )


@dataclass
class _Outcomes:
    """The outcomes of test examples by system; a mean over languages joins those of its languages."""

    table: ScoreTable
    results: Results
    read: Callable[[Score], examples.Examples]
    _rows: dict[tuple[Hashable, ...], list[Score]] = field(default_factory=dict)
    _cache: dict[tuple[Hashable, ...], examples.Examples] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.table.filter(main=True):
            key = (row.task, row.setting, row.language, system_of(row))
            self._rows.setdefault(key, []).append(row)

    def pooled(self, measure: Measure, system: System) -> examples.Examples:
        """Return the mean outcomes over all runs and fine-tunings."""
        by_language = [self._mean(rows) for rows in self._rows_by_language(measure, system)]
        return _joined(by_language)

    def runs(self, measure: Measure, system: System) -> list[examples.Examples]:
        """Return the mean outcomes over the fine-tunings of each run that was scored in all languages of the measure.

        Of a checkpoint, those of each fine-tuning.
        """
        by_language = []
        for rows in self._rows_by_language(measure, system):
            runs: dict[Hashable, list[Score]] = {}
            for row in rows:
                unit = row.run if row.pretrained else (row.run, row.seed)
                runs.setdefault(unit, []).append(row)
            by_language.append({run: self._mean(run_rows) for run, run_rows in runs.items()})
        pooled = []
        for run in by_language[0]:
            outcomes = [runs[run] for runs in by_language if run in runs]
            if len(outcomes) == len(by_language):
                pooled.append(_joined(outcomes))
        return pooled

    def _rows_by_language(self, measure: Measure, system: System) -> list[list[Score]]:
        languages = (
            [measure.language] if measure.language else averaged_languages(self.results, measure)
        )
        return [
            self._rows[measure.task, measure.setting, language, system] for language in languages
        ]

    def _mean(self, rows: Sequence[Score]) -> examples.Examples:
        """Return the mean outcomes of some rows of one system and language."""
        runs = [self._outcomes(row) for row in rows]
        first = runs[0]
        if len({(len(run.score), run.identity) for run in runs}) > 1:
            where = f"{rows[0].label}, {rows[0].task}, {rows[0].language}"
            raise DataError(f"{where}: runs have different test examples")
        counts = [run.counts for run in runs if run.counts is not None]
        return examples.Examples(
            score=np.mean([run.score for run in runs], axis=0),
            weight=np.mean([run.weight for run in runs], axis=0),
            identity=first.identity,
            counts=np.mean(counts, axis=0) if len(counts) == len(runs) else None,
            measure=first.measure,
            groups=first.groups,
        )

    def _outcomes(self, row: Score) -> examples.Examples:
        key = (row.run, row.task, row.setting, row.language, row.seed)
        if key not in self._cache:
            self._cache[key] = self.read(row)
        return self._cache[key]


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
            by_system.setdefault(row.label, set()).add(row.examples if have_hashes else row.n or 0)
        example_sets = {frozenset(sets) for sets in by_system.values() if all(sets)}
        if len(example_sets) > 1:
            languages.append(language)
    return languages
