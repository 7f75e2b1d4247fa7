"""Scores by measure and system, with means over languages and transfer gaps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import fmean

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
    """The scores of one system in one measure, by run and fine-tuning seed.

    interval: of a single measurement, the bootstrap interval over test examples.
    """

    scores: Mapping[tuple[str, int], float]
    pretrained: bool = True
    interval: tuple[float, float] | None = None
    collapsed: bool = False

    @property
    def values(self) -> list[float]:
        """All measurements."""
        return list(self.scores.values())

    @property
    def sample(self) -> list[float]:
        """One value a pre-training run, the mean over fine-tunings; of a checkpoint, one a fine-tuning."""
        if not self.pretrained:
            return self.values
        by_run: dict[str, list[float]] = {}
        for (run, _seed), score in self.scores.items():
            by_run.setdefault(run, []).append(score)
        return [fmean(scores) for scores in by_run.values()]

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
    axes = tuple(
        (key, None if value is None else str(value)) for key, value in row.axes.items()
    )
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

    metrics: by task; the main metric of tasks that are not named.
    """
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


def _result(rows: Sequence[Score]) -> Result:
    interval = None
    low = rows[0].low
    high = rows[0].high
    if len(rows) == 1 and low is not None and high is not None and math.isfinite(high - low):
        interval = (low, high)
    return Result(
        scores={(row.run, row.seed): row.score for row in rows},
        pretrained=rows[0].pretrained,
        interval=interval,
        collapsed=any(row.collapsed for row in rows),
    )


def _combined(
    results: Sequence[Result], combine: Callable[[list[float]], float]
) -> Result | None:
    """Combine the scores of each run and seed that all results have; None where there is none."""
    scores = {}
    for key in results[0].scores:
        if all(key in result.scores for result in results):
            scores[key] = combine([result.scores[key] for result in results])
    if not scores:
        return None
    is_collapsed = any(result.collapsed for result in results)
    return Result(
        scores,
        results[0].pretrained,
        collapsed=is_collapsed,
    )


def _gaps(results: Results) -> Results:
    """Return supervised minus zero-shot scores of every task that has both."""
    gaps: Results = {}
    for measure, supervised in results.items():
        zero_shot = results.get(replace(measure, setting=ZERO_SHOT), {})
        if measure.setting != SUPERVISED or not zero_shot:
            continue
        is_greater_better = measure.greater_is_better
        if is_greater_better is not None:
            is_greater_better = not is_greater_better
        gap_measure = replace(
            measure,
            setting=GAP,
            greater_is_better=is_greater_better,
            main=False,
        )
        for system in zero_shot:
            if system in supervised:
                gap = difference_of(supervised[system], zero_shot[system])
                if gap is not None:
                    gaps.setdefault(gap_measure, {})[system] = gap
    return gaps


def difference_of(reference: Result, result: Result) -> Result | None:
    """Return the reference minus a result in each run and seed that both have; None where there is none."""
    return _combined(
        [reference, result],
        lambda values: values[0] - values[1],
    )


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
            mean = _combined(
                [results[measure][system] for measure in shared],
                fmean,
            )
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

    def rank(measure: Measure) -> tuple[int, int, str, bool, str]:
        return (
            settings.index((measure.task, measure.setting)),
            list(metrics.get(measure.task, [measure.metric])).index(measure.metric),
            measure.source,
            not measure.is_source,
            measure.language,
        )

    return {measure: results[measure] for measure in sorted(results, key=rank)}


def averaged_languages(results: Results, mean: Measure) -> list[str]:
    """Return the languages of a mean."""
    measures = [measure for measure in results if measure.group == mean.group]
    languages = [
        measure for measure in measures if measure.language != OTHERS and not measure.is_source
    ]
    return [measure.language for measure in _shared(results, languages)]
