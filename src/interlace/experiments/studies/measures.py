"""From rows of results to what is compared: by measure and system, one number a run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from interlace.core.errors import SettingsError, did_you_mean
from interlace.experiments.studies.results import KINDS, ZERO_SHOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from interlace.experiments.studies.results import Row

OTHERS = ""  # as a language: the mean of the languages that a task is not tuned on
SUPERVISED = "supervised"
DIFFERENCE = "difference"  # as a setting: supervised minus zero-shot, what transfer loses (Tang et al. 2022, section 3)


@dataclass(frozen=True)
class Measure:
    """A task in a setting and language; `language` is `OTHERS` for the mean of all but the source's.

    greater_is_better: None where neither more nor less is. main: whether the metric is the task's main score, of which
    outcomes tell what each example got. of_others: whether the source has a score beside a mean.
    """

    task: str
    setting: str
    language: str
    metric: str
    unit: str
    source: str
    greater_is_better: bool | None
    main: bool = True
    of_others: bool = field(default=True, compare=False)

    @property
    def name(self) -> str:
        """What tables call the language."""
        return self.language or ("others" if self.of_others else "mean")

    @property
    def is_source(self) -> bool:
        """Whether the task was tuned on this language."""
        return self.language == self.source


@dataclass(frozen=True)
class Variant:
    """A system under one combination of settings; `axes` as (key, value as text).

    checkpoint: whether it is one that was not pre-trained here, of which a run is a fine-tuning.
    """

    system: str
    label: str
    axes: tuple[tuple[str, str | None], ...]
    checkpoint: bool = False


Runs = dict[Any, float]  # seed -> score
Scores = dict[Measure, dict[Variant, Runs]]


def variants_of(rows: Iterable[Row]) -> list[Variant]:
    """All variants, in the order of the rows."""
    return list(dict.fromkeys(variant_of(row) for row in rows))


def variant_of(row: Row) -> Variant:
    """The system of a row, under its settings."""
    axes = tuple((key, None if value is None else str(value)) for key, value in row.items() if key not in KINDS)
    return Variant(row["system"], row["label"], axes, checkpoint=row["pretraining_seed"] is None)


def scores_of(rows: Sequence[Row], metrics: Mapping[str, Sequence[str]] = {}) -> Scores:
    """The scores that are compared: one number a pre-training, the mean over its fine-tunings.

    A checkpoint that is not pre-trained here counts once a fine-tuning seed; `comparable` sets it beside others. The
    mean of the other languages is taken over those for which all systems have scores, within each run.

    Args:
        rows: as `read_results` gives them.
        metrics: by task, which of its scores; of a task that is not named, the main one.

    Raises:
        SettingsError: a task has no such score.
    """
    _must_know(rows, metrics)
    cells: dict[Measure, dict[Variant, dict[Any, list[float]]]] = {}
    for row in rows:
        if row["metric"] in metrics[row["task"]] if row["task"] in metrics else row["main"]:
            fixed = row["pretraining_seed"] is None
            seed = row["tuning_seed"] if fixed else row["pretraining_seed"]
            by_seed = cells.setdefault(_measure(row), {}).setdefault(variant_of(row), defaultdict(list))
            by_seed[seed].append(row["score"])
    scores: Scores = {
        measure: {variant: {seed: fmean(all_) for seed, all_ in runs.items()} for variant, runs in found.items()}
        for measure, found in cells.items()
    }
    scores |= _differences(scores)
    return _ordered(scores | _means(scores), metrics)


def comparable(variant: Variant, runs: Runs, other: Variant) -> list[float]:
    """A system's values for a test against another one: one a pre-training.

    Fine-tunings of a checkpoint share one pre-training: they stand for themselves beside those of another checkpoint,
    and beside pre-trainings their mean is one value.
    """
    values = list(runs.values())
    return [fmean(values)] if variant.checkpoint and not other.checkpoint else values


def _differences(scores: Scores) -> Scores:
    """What transfer loses, run by run, of every task that is scored in both ways; outcomes of examples tell none."""
    found: Scores = {}
    for measure, supervised in scores.items():
        shot = scores.get(replace(measure, setting=ZERO_SHOT), {}) if measure.setting == SUPERVISED else {}
        lost = {
            variant: {seed: supervised[variant][seed] - runs[seed] for seed in runs if seed in supervised[variant]}
            for variant, runs in shot.items()
            if variant in supervised
        }
        if lost := {variant: runs for variant, runs in lost.items() if runs}:
            less = None if measure.greater_is_better is None else not measure.greater_is_better
            found[replace(measure, setting=DIFFERENCE, greater_is_better=less, main=False)] = lost
    return found


def _must_know(rows: Sequence[Row], metrics: Mapping[str, Sequence[str]]) -> None:
    for task, names in metrics.items():
        known = list(dict.fromkeys(row["metric"] for row in rows if row["task"] == task))
        for name in names if known else ():
            if name not in known:
                raise SettingsError(f"evaluate.metrics: {task} has no score {name!r}{did_you_mean(name, known)}")


def _means(scores: Scores) -> Scores:
    groups: dict[tuple[Any, ...], list[Measure]] = defaultdict(list)
    for measure in scores:
        if not measure.is_source:
            groups[_group(measure)].append(measure)
    means: Scores = {}
    sourced = {_group(measure) for measure in scores if measure.is_source}
    for found in groups.values():
        everybody = {variant for measure in found for variant in scores[measure]}
        shared = [measure for measure in found if everybody == set(scores[measure])]
        if len(shared) > 1:
            means[replace(shared[0], language=OTHERS, of_others=_group(shared[0]) in sourced)] = {
                variant: _mean_of([scores[measure][variant] for measure in shared]) for variant in scores[shared[0]]
            }
    return means


def _mean_of(runs: Sequence[Runs]) -> Runs:
    """By seed; a run that lacks a language has no mean."""
    return {seed: fmean(each[seed] for each in runs) for seed in runs[0] if all(seed in each for each in runs)}


def averaged(scores: Scores, mean: Measure) -> list[str]:
    """The languages that a mean of others goes over."""
    alike = [
        measure for measure in scores if _group(measure) == _group(mean) and measure.language and not measure.is_source
    ]
    everybody = {variant for measure in alike for variant in scores[measure]}
    return [measure.language for measure in alike if everybody == set(scores[measure])]


def _ordered(scores: Scores, metrics: Mapping[str, Sequence[str]]) -> Scores:
    """Task by task, and in it score by score as they are named: the source, the mean of the others, the others."""
    rank = {tables: place for place, tables in enumerate(dict.fromkeys((m.task, m.setting) for m in scores))}

    def place(measure: Measure) -> tuple[Any, ...]:
        named = metrics.get(measure.task, [measure.metric])
        of_task = rank[measure.task, measure.setting], list(named).index(measure.metric), measure.source
        return *of_task, not measure.is_source, measure.language != OTHERS

    return {key: scores[key] for key in sorted(scores, key=place)}


def _group(measure: Measure) -> tuple[Any, ...]:
    return measure.task, measure.setting, measure.metric, measure.source


def _measure(row: Row) -> Measure:
    return Measure(
        row["task"],
        row["setting"],
        row["language"],
        row["metric"],
        row["unit"],
        row["source"],
        row["greater_is_better"],
        row["main"],
    )
