"""Scores by measure and system, with means over languages and transfer gaps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import fmean

from interlace.core.errors import SettingsError, did_you_mean
from interlace.scores import SUPERVISED, ZERO_SHOT, Score, ScoreTable

OTHERS = ""  # as a language: the mean of the languages that a task is not fine-tuned on
GAP = "difference"  # as a setting: supervised minus zero-shot, the transfer gap (Tang et al. 2022, section 3)

Metrics = Mapping[str, Sequence[str]]  # by task


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
        return list(chain.from_iterable(seeds.values() for seeds in self.by_run.values()))

    @property
    def sample(self) -> list[float]:
        """One value a pre-training run, the mean over fine-tunings; of a checkpoint, one a fine-tuning."""
        if not self.pretrained:
            return self.values
        return [fmean(seeds.values()) for seeds in self.by_run.values()]

    @property
    def mean(self) -> float:
        """The mean of the sample."""
        return fmean(self.sample)

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest measurement, or the bootstrap interval of a single one."""
        return self.interval or (min(self.values), max(self.values))

    def against(self, rival: Result) -> list[float]:
        """Return the values for a test against another system, one for a checkpoint against pre-training runs."""
        return [self.mean] if rival.pretrained and not self.pretrained else self.sample


Results = dict[Measure, dict[System, Result]]


def measure_of(row: Score) -> Measure:
    """Return the measure of a row."""
    return Measure(
        task=row.task,
        setting=row.setting,
        language=row.language,
        metric=row.metric,
        unit=row.unit,
        source=row.source,
        greater_is_better=row.greater_is_better,
        main=row.main,
    )


def system_of(row: Score) -> System:
    """Return the system of a row, with its study settings."""
    axes = tuple((key, None if value is None else str(value)) for key, value in row.axes.items())
    return System(
        row.system,
        row.label or row.system,
        axes,
        row.pretrained,
    )


def systems_of(table: Iterable[Score]) -> list[System]:
    """Return all systems in order of appearance."""
    return list(dict.fromkeys(system_of(row) for row in table))


def aggregate(table: ScoreTable, metrics: Mapping[str, Sequence[str]] = {}) -> Results:
    """Return the finite scores by measure and system, with transfer gaps and means over languages.

    The mean of a group of measures is over the languages that all systems have scores for, within each run and seed.

    metrics: by task; the main metric of tasks that are not named. One that a task does not have is a SettingsError.
    """
    _check_metrics(table, metrics)
    rows: dict[Measure, dict[System, list[Score]]] = {}
    for row in table:
        is_selected = row.metric in metrics[row.task] if row.task in metrics else row.main
        if is_selected and math.isfinite(row.score):
            by_system = rows.setdefault(measure_of(row), {})
            by_system.setdefault(system_of(row), []).append(row)
    results: Results = {}
    for measure, by_system in rows.items():
        results[measure] = {
            system: _result(system_rows) for system, system_rows in by_system.items()
        }
    results |= _gaps(results)
    results |= _means(results)
    return _in_order(results, metrics)


def _check_metrics(table: ScoreTable, metrics: Metrics) -> None:
    for task, names in metrics.items():
        known = table.filter(task=task).unique("metric")
        for name in names:
            if known and name not in known:
                raise SettingsError(
                    f"evaluate.metrics: {task} has no metric {name!r}{did_you_mean(name, known)}"
                )


def _result(rows: Sequence[Score]) -> Result:
    by_run: dict[str, dict[int, float]] = {}
    for row in rows:
        by_run.setdefault(row.run, {})[row.seed] = row.score
    first = rows[0]
    interval = None
    if (
        len(rows) == 1
        and first.low is not None
        and first.high is not None
        and math.isfinite(first.low + first.high)
    ):
        interval = (first.low, first.high)
    return Result(
        by_run=by_run,
        pretrained=first.pretrained,
        n=min((row.n for row in rows if row.n is not None), default=None),
        interval=interval,
        collapsed=any(row.collapsed for row in rows),
    )


def _combined(results: Sequence[Result], combine: Callable[[list[float]], float]) -> Result | None:
    """Combine the scores of each run and seed that all results have; None where there is none."""
    by_run: dict[str, dict[int, float]] = {}
    for run, seeds in results[0].by_run.items():
        for seed in seeds:
            values = [
                result.by_run[run][seed] for result in results if seed in result.by_run.get(run, {})
            ]
            if len(values) == len(results):
                by_run.setdefault(run, {})[seed] = combine(values)
    if not by_run:
        return None
    return Result(
        by_run, results[0].pretrained, collapsed=any(result.collapsed for result in results)
    )


def _gaps(results: Results) -> Results:
    """Return supervised minus zero-shot scores of every task that has both."""
    gaps: Results = {}
    for measure, supervised in results.items():
        if measure.setting != SUPERVISED:
            continue
        less_is_better = (
            None if measure.greater_is_better is None else not measure.greater_is_better
        )
        gap_measure = replace(
            measure,
            setting=GAP,
            greater_is_better=less_is_better,
            main=False,
        )
        for system, zero_shot in results.get(replace(measure, setting=ZERO_SHOT), {}).items():
            if system in supervised:
                gap = difference_of(supervised[system], zero_shot)
                if gap is not None:
                    gaps.setdefault(gap_measure, {})[system] = gap
    return gaps


def difference_of(reference: Result, result: Result) -> Result | None:
    """Return the reference minus a result in each run and seed that both have; None where there is none."""
    return _combined([reference, result], lambda values: values[0] - values[1])


def _means(results: Results) -> Results:
    """Return the means over the languages other than the source that all systems share, if there are several."""
    groups: dict[tuple[str, ...], list[Measure]] = {}
    groups_with_source = set()
    for measure in results:
        if measure.is_source:
            groups_with_source.add(measure.group)
        else:
            groups.setdefault(measure.group, []).append(measure)
    means: Results = {}
    for group, measures in groups.items():
        shared = _shared(results, measures)
        if len(shared) < 2:
            continue
        mean_measure = replace(
            shared[0],
            language=OTHERS,
            has_source=group in groups_with_source,
        )
        means[mean_measure] = {}
        for system in results[shared[0]]:
            mean = _combined([results[measure][system] for measure in shared], fmean)
            if mean is not None:
                means[mean_measure][system] = mean
    return means


def _shared(results: Results, measures: Sequence[Measure]) -> list[Measure]:
    """Return the measures in which all systems of these measures have scores."""
    systems = set(chain.from_iterable(results[measure] for measure in measures))
    return [measure for measure in measures if systems == set(results[measure])]


def _in_order(results: Results, metrics: Metrics) -> Results:
    """Sort by task and setting, metric, source language, mean of the others, the others by code."""
    settings = list(dict.fromkeys((measure.task, measure.setting) for measure in results))
    ranks = {setting: rank for rank, setting in enumerate(settings)}

    def place(measure: Measure) -> tuple[int, int, str, bool, str]:
        rank = ranks[measure.task, measure.setting]
        metric_rank = list(metrics.get(measure.task, [measure.metric])).index(measure.metric)
        return rank, metric_rank, measure.source, not measure.is_source, measure.language

    return {measure: results[measure] for measure in sorted(results, key=place)}


def averaged_languages(results: Results, mean: Measure) -> list[str]:
    """Return the languages of a mean."""
    measures = [measure for measure in results if measure.group == mean.group]
    languages = [
        measure for measure in measures if measure.language != OTHERS and not measure.is_source
    ]
    return [measure.language for measure in _shared(results, languages)]
