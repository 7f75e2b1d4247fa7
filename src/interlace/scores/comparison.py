"""Aggregation of scores by measure and system, and tests of systems against a baseline."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Literal, get_args

import numpy as np

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.randomness import Generator, Purpose, generator
from interlace.scores import SUPERVISED, ZERO_SHOT, Score, ScoreTable, examples, statistics
from interlace.scores.held_out import add_all_words, comparable_metrics

OTHERS = ""  # as a language: the mean of the languages that a task is not fine-tuned on
MIN_RUNS = 5  # of each system; exact tests of fewer runs can hardly be significant
GAP = "difference"  # as a setting: supervised minus zero-shot, the transfer gap (Tang et al. 2022, section 3)
Unit = Literal["seeds", "examples", "both"]


@dataclass(frozen=True)
class Measure:
    """What systems are compared by: a metric of a task in one setting and language.

    language: `OTHERS` for the mean over all languages but the source. main: whether it is the task's main metric, which
    has outcomes of test examples. has_source: whether the mean leaves out a source language.
    """

    task: str
    setting: str
    language: str
    metric: str
    unit: str
    source: str
    greater_is_better: bool | None
    main: bool = True
    has_source: bool = field(default=True, compare=False)

    @property
    def name(self) -> str:
        """The language, or the name of the mean."""
        return self.language or ("others" if self.has_source else "mean")

    @property
    def is_source(self) -> bool:
        """Whether the task was fine-tuned on this language."""
        return bool(self.language) and self.language == self.source

    @property
    def group(self) -> tuple[str, str, str, str]:
        """Identifies the measure regardless of the language."""
        return self.task, self.setting, self.metric, self.source

    def format(self, value: float) -> str:
        """Return a score as tables print it: one decimal, or three significant digits without percent."""
        return f"{value:.1f}" if self.unit == "%" or abs(value) >= 100 else f"{value:.3g}"

    def format_difference(self, value: float) -> str:
        """Return a signed difference as tables print it."""
        return f"{value:+.1f}" if self.unit == "%" else f"{value:+.3g}"


@dataclass(frozen=True)
class System:
    """What is compared: a system of a study under one combination of settings, or a recipe of a report.

    pretrained: False for a checkpoint that was not pre-trained here, whose runs are fine-tunings.
    """

    name: str
    label: str
    axes: tuple[tuple[str, str | None], ...] = ()
    pretrained: bool = True


@dataclass(frozen=True)
class Result:
    """The scores of one system in one measure, by run and by fine-tuning seed.

    n: test examples, the smallest number. interval: of a single measurement, the bootstrap interval over test examples.
    """

    by_run: Mapping[str, Mapping[int, float]]
    pretrained: bool = True
    n: int | None = None
    interval: tuple[float, float] | None = None
    collapsed: bool = False

    @property
    def values(self) -> list[float]:
        """All measurements."""
        return [value for seeds in self.by_run.values() for value in seeds.values()]

    @property
    def sample(self) -> list[float]:
        """One value a pre-training run, the mean over fine-tunings; of a checkpoint, one a fine-tuning."""
        return [fmean(seeds.values()) for seeds in self.by_run.values()] if self.pretrained else self.values

    @property
    def mean(self) -> float:
        """The mean of the sample."""
        return fmean(self.sample)

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest measurement, or the bootstrap interval of a single one."""
        return self.interval or (min(self.values), max(self.values))

    def against(self, other: Result) -> list[float]:
        """Return the values for a test against another system, one for a checkpoint against pre-training runs."""
        return [self.mean] if other.pretrained and not self.pretrained else self.sample


Results = dict[Measure, dict[System, Result]]


def system_of(row: Score) -> System:
    """Return the system of a row, with its study settings."""
    axes = tuple((key, None if value is None else str(value)) for key, value in row.axes.items())
    return System(row.system, row.label or row.system, axes, row.pretrained)


def systems_of(table: Iterable[Score]) -> list[System]:
    """Return all systems in order of appearance."""
    return list(dict.fromkeys(map(system_of, table)))


def aggregate(table: ScoreTable, metrics: Mapping[str, Sequence[str]] = {}) -> Results:
    """Return the finite scores by measure and system, with transfer gaps and means over languages.

    The mean of a group of measures is over the languages that all systems have scores for, within each run and seed.

    metrics: by task; the main metric of tasks that are not named. One that a task does not have is a SettingsError.
    """
    for task, names in metrics.items():
        known = table.filter(task=task).unique("metric")
        for name in names if known else ():
            if name not in known:
                raise SettingsError(f"evaluate.metrics: {task} has no metric {name!r}{did_you_mean(name, known)}")
    rows: dict[Measure, dict[System, list[Score]]] = {}
    for row in table:
        if math.isfinite(row.score) and (row.metric in metrics[row.task] if row.task in metrics else row.main):
            about = row.unit, row.source, row.greater_is_better, row.main
            measure = Measure(row.task, row.setting, row.language, row.metric, *about)
            rows.setdefault(measure, {}).setdefault(system_of(row), []).append(row)
    results: Results = {
        measure: {system: _result(some) for system, some in found.items()} for measure, found in rows.items()
    }
    results |= _gaps(results)
    results |= _means(results)
    rank = {group: place for place, group in enumerate(dict.fromkeys((m.task, m.setting) for m in results))}

    def place(measure: Measure) -> tuple[Any, ...]:
        """Sort by task and setting, metric, source first, mean of the others, the others."""
        named = list(metrics.get(measure.task, [measure.metric]))
        first = rank[measure.task, measure.setting], named.index(measure.metric), measure.source
        return *first, not measure.is_source, measure.language != OTHERS

    return {key: results[key] for key in sorted(results, key=place)}


def _result(rows: Sequence[Score]) -> Result:
    by_run: dict[str, dict[int, float]] = {}
    for row in rows:
        by_run.setdefault(row.run, {})[row.seed] = row.score
    one = rows[0]
    interval = None
    if len(rows) == 1 and one.low is not None and one.high is not None and math.isfinite(one.low + one.high):
        interval = one.low, one.high
    n = min((row.n for row in rows if row.n is not None), default=None)
    return Result(by_run, one.pretrained, n, interval, any(row.collapsed for row in rows))


def _combined(results: Sequence[Result], combine: Callable[[list[float]], float]) -> Result | None:
    """Combine the scores of each run and seed that all results have; None where there is none."""
    by_run: dict[str, dict[int, float]] = {}
    for run, seeds in results[0].by_run.items():
        for seed in seeds:
            values = [result.by_run.get(run, {}).get(seed) for result in results]
            if None not in values:
                by_run.setdefault(run, {})[seed] = combine(values)  # type: ignore[arg-type]
    collapsed = any(result.collapsed for result in results)
    return Result(by_run, results[0].pretrained, collapsed=collapsed) if by_run else None


def _gaps(results: Results) -> Results:
    """Supervised minus zero-shot scores, of every task that has both."""
    found: Results = {}
    for measure, supervised in results.items():
        if measure.setting != SUPERVISED:
            continue
        zero_shot = results.get(replace(measure, setting=ZERO_SHOT), {})
        pairs = {system: [supervised[system], zero_shot[system]] for system in zero_shot if system in supervised}
        gaps = {system: _combined(pair, lambda both: both[0] - both[1]) for system, pair in pairs.items()}
        if kept := {system: gap for system, gap in gaps.items() if gap is not None}:
            less = None if measure.greater_is_better is None else not measure.greater_is_better
            found[replace(measure, setting=GAP, greater_is_better=less, main=False)] = kept
    return found


def _means(results: Results) -> Results:
    groups: dict[tuple[str, ...], list[Measure]] = defaultdict(list)
    for measure in results:
        if not measure.is_source:
            groups[measure.group].append(measure)
    with_source = {measure.group for measure in results if measure.is_source}
    found: Results = {}
    for group, measures in groups.items():
        shared = _shared(results, measures)
        if len(shared) > 1:
            means = {
                system: _combined([results[measure][system] for measure in shared], fmean)
                for system in results[shared[0]]
            }
            mean = replace(shared[0], language=OTHERS, has_source=group in with_source)
            found[mean] = {system: one for system, one in means.items() if one is not None}
    return found


def _shared(results: Results, measures: Sequence[Measure]) -> list[Measure]:
    """Return the measures in which all systems of these measures have scores."""
    systems = {system for measure in measures for system in results[measure]}
    return [measure for measure in measures if systems == set(results[measure])]


def averaged_languages(results: Results, mean: Measure) -> list[str]:
    """Return the languages of a mean."""
    same = [m for m in results if m.group == mean.group and m.language and not m.is_source]
    return [measure.language for measure in _shared(results, same)]


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


@dataclass(frozen=True)
class Untested:
    """A comparison over examples that is impossible, and why."""

    measure: Measure
    system: System
    baseline: System
    reason: str
    unit: Unit = "examples"


def compare(
    table: ScoreTable,
    baseline: str | None = None,
    unit: Unit = "seeds",
    *,
    metrics: Mapping[str, Sequence[str]] = {},
    outcomes: Callable[[Score], examples.Examples] | None = None,
    draws: int = statistics.DRAWS,
    untested: list[Untested] | None = None,
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
    `examples` and `both`. draws: how often examples are resampled. untested: takes the comparisons over examples that
    are impossible; default: the first is an error.
    """
    if unit not in get_args(Unit):
        raise SettingsError(f"unit {unit!r}: expected one of {', '.join(get_args(Unit))}")
    systems = systems_of(table)
    names = list(dict.fromkeys(system.name for system in systems))
    if baseline is not None and baseline not in names:
        raise SettingsError(f"the scores have no system {baseline!r}{did_you_mean(baseline, names)}")
    if unit == "seeds":
        table = add_all_words(table)
        metrics = comparable_metrics(table, metrics)
    results = aggregate(table, metrics)
    pairs = [(system, other) for system in systems if (other := reference(system, systems, baseline)) is not None]
    if unit == "seeds":
        found = _over_seeds(results, pairs)
    elif outcomes is None:
        reader = "outcomes=interlace.report.read_outcomes"
        raise SettingsError(f"unit {unit!r} needs the outcomes of test examples: give {reader}")
    else:
        found = _over_examples(_Outcomes(table, results, outcomes), pairs, unit, draws, untested)
    return _adjusted(found)


def _adjusted(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with p-values adjusted over the systems of each measure."""
    by_measure: dict[Measure, list[Comparison]] = {}
    for one in found:
        by_measure.setdefault(one.measure, []).append(one)
    return [
        replace(one, adjusted_p=p, adjusted_min_p=min_p)
        for same in by_measure.values()
        for one, p, min_p in zip(
            same, statistics.holm([x.p for x in same]), statistics.holm([x.min_p for x in same]), strict=True
        )
    ]


def reference(system: System, systems: Sequence[System], baseline: str | None = None) -> System | None:
    """Return what a system is tested against: the baseline with the same settings, or the first variant of itself.

    None, a setting that a checkpoint does not have, agrees with any.
    """
    name, mine = baseline or systems[0].name, dict(system.axes)
    if system.name == name:
        lone = all(other.name == name for other in systems)
        return systems[0] if lone and system != systems[0] else None
    for other in systems:
        theirs = dict(other.axes)
        if other.name == name and all(
            None in {value, theirs.get(key)} or value == theirs.get(key) for key, value in mine.items()
        ):
            return other
    return None


def _over_seeds(results: Results, pairs: Sequence[tuple[System, System]]) -> list[Comparison]:
    found = []
    for number, (measure, by_system) in enumerate(results.items()):
        for place, pair in enumerate(pairs):
            if pair[0] in by_system and pair[1] in by_system:
                one, other = by_system[pair[0]], by_system[pair[1]]
                a, b = one.against(other), other.against(one)
                tested = statistics.permutation_test(
                    a, b, generator(Purpose.STATISTICS, 0, 0, number * len(pairs) + place)
                )
                interval = statistics.difference_interval(a, b)
                found.append(Comparison(measure, *pair, interval, tested.p, tested.p, tested.min_p, "seeds", tested.n))
    return found


def _over_examples(
    outcomes: _Outcomes, pairs: Sequence[tuple[System, System]], unit: Unit, draws: int, untested: list[Untested] | None
) -> list[Comparison]:
    found = []
    for number, measure in enumerate(one for one in outcomes.results if one.main):
        for place, pair in enumerate(pairs):
            if not all(system in outcomes.results[measure] for system in pair):
                continue
            rng = generator(Purpose.STATISTICS, 0, 2, number * len(pairs) + place)
            try:
                if unit == "both":
                    found.append(_over_both(outcomes, measure, pair))
                else:
                    found.append(_over_outcomes(outcomes, measure, pair, rng, draws))
            except DataError as error:
                if untested is None:
                    raise
                untested.append(Untested(measure, *pair, str(error), unit))
    return found


def _over_outcomes(
    outcomes: _Outcomes, measure: Measure, pair: tuple[System, System], rng: Generator, draws: int
) -> Comparison:
    b, a = (outcomes.pooled(measure, system) for system in reversed(pair))  # the baseline's error first
    interval = examples.paired_bootstrap(a, b, rng, draws=draws)
    tested = examples.approximate_randomization(a, b, rng, draws)
    difference = _scaled(interval, measure)
    return Comparison(measure, *pair, difference, tested.p, tested.p, tested.min_p, "examples", tested.n)


def _over_both(outcomes: _Outcomes, measure: Measure, pair: tuple[System, System]) -> Comparison:
    one, other = (outcomes.results[measure][system] for system in pair)
    if (fewest := min(len(one.against(other)), len(other.against(one)))) < MIN_RUNS:
        raise DataError(f"a test over runs and examples needs {MIN_RUNS} runs of each system; found {fewest}")
    b, a = (outcomes.runs(measure, system) for system in reversed(pair))
    tested = examples.crossed_test(a, b)
    difference = _scaled(tested.interval, measure)
    return Comparison(measure, *pair, difference, tested.p, tested.p, 0.0, "both", difference.n)


def _scaled(interval: statistics.Interval, measure: Measure) -> statistics.Interval:
    scale = 100.0 if measure.unit == "%" else 1.0
    return statistics.Interval(interval.value * scale, interval.low * scale, interval.high * scale, interval.n)


class _Outcomes:
    """The outcomes of test examples by system; a mean over languages joins those of its languages."""

    def __init__(self, table: ScoreTable, results: Results, read: Callable[[Score], examples.Examples]) -> None:
        self.results, self._read, self._known = results, read, dict[tuple[Hashable, ...], examples.Examples]()
        self._rows: dict[tuple[Hashable, ...], list[Score]] = {}
        for row in table.filter(main=True):
            self._rows.setdefault((row.task, row.setting, row.language, system_of(row)), []).append(row)

    def pooled(self, measure: Measure, system: System) -> examples.Examples:
        """Return the mean outcomes over all runs and fine-tunings."""
        [found] = self._joined(measure, system, lambda _row: "")
        return found

    def runs(self, measure: Measure, system: System) -> list[examples.Examples]:
        """Return the mean outcomes over the fine-tunings of each run; of a checkpoint, those of each fine-tuning."""
        return self._joined(measure, system, lambda row: row.run if row.pretrained else (row.run, row.seed))

    def _joined(self, measure: Measure, system: System, unit: Callable[[Score], Hashable]) -> list[examples.Examples]:
        """Return the outcomes of each unit that was scored in all languages of the measure."""
        by_language = []
        for language in [measure.language] if measure.language else averaged_languages(self.results, measure):
            units: dict[Hashable, list[Score]] = {}
            for row in self._rows[measure.task, measure.setting, language, system]:
                units.setdefault(unit(row), []).append(row)
            by_language.append({name: self._pooled(rows) for name, rows in units.items()})
        shared = [name for name in by_language[0] if all(name in units for units in by_language)]
        sets = [[units[name] for units in by_language] for name in shared]
        return [examples.mean_over_sets(parts) if len(parts) > 1 else parts[0] for parts in sets]

    def _pooled(self, rows: Sequence[Score]) -> examples.Examples:
        """Return the mean outcomes of some rows of one system and language."""
        runs = [self._outcomes(row) for row in rows]
        first = runs[0]
        if len({(len(run.score), run.identity) for run in runs}) > 1:
            where = f"{rows[0].label}, {rows[0].task}, {rows[0].language}"
            raise DataError(f"{where}: runs have different test examples")
        score, weight = np.mean([run.score for run in runs], 0), np.mean([run.weight for run in runs], 0)
        counts = [run.counts for run in runs if run.counts is not None]
        pooled = np.mean(counts, 0) if len(counts) == len(runs) else None
        return examples.Examples(score, weight, first.identity, pooled, first.measure, first.groups)

    def _outcomes(self, row: Score) -> examples.Examples:
        name = row.run, row.task, row.setting, row.language, row.seed
        if name not in self._known:
            self._known[name] = self._read(row)
        return self._known[name]


def best_of(measure: Measure, by_system: Mapping[System, Result]) -> System | None:
    """Return the system with the best mean; None for a lone system, and where neither direction is better."""
    if len(by_system) < 2 or measure.greater_is_better is None:
        return None
    sign = 1 if measure.greater_is_better else -1
    return max(by_system, key=lambda system: sign * by_system[system].mean)


def significance_against(by_system: Mapping[System, Result], one: System) -> dict[System, statistics.Significance]:
    """Test one system against each other; `p` and `min_p` are after Holm over the others."""
    ours, others = by_system[one], [system for system in by_system if system != one]
    found = [
        statistics.permutation_test(
            ours.against(by_system[other]), by_system[other].against(ours), generator(Purpose.STATISTICS, 0, 0, slot)
        )
        for slot, other in enumerate(others)
    ]
    ps, min_ps = statistics.holm([each.p for each in found]), statistics.holm([each.min_p for each in found])
    return {one: replace(each, p=p, min_p=min_p) for one, each, p, min_p in zip(others, found, ps, min_ps, strict=True)}


def significant_best(measure: Measure, by_system: Mapping[System, Result]) -> System | None:
    """Return the best system if it differs significantly from every other."""
    best = best_of(measure, by_system)
    if best is None or max(each.p for each in significance_against(by_system, best).values()) >= statistics.ALPHA:
        return None
    return best


def different_examples(table: ScoreTable) -> list[str]:
    """Return the languages in which systems were scored on different test examples, by their hashes or numbers."""
    found = []
    for language, rows in table.group("language").items():
        named = all(row.examples for row in rows)
        by_system: dict[Hashable, set[Hashable]] = {}
        for row in rows:
            by_system.setdefault(row.label, set()).add(row.examples if named else row.n or 0)
        if len({frozenset(each) for each in by_system.values() if all(each)}) > 1:
            found.append(language)
    return found
