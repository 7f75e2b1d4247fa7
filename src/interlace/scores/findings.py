"""Findings: claims with statistic, margin and family that a study registers before its runs, and their verdicts."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.scores import ZERO_SHOT, ScoreTable
from interlace.scores.aggregation import OTHERS, Measure, Results, aggregate
from interlace.scores.comparison import MIN_RUNS
from interlace.scores.held_out import add_all_words
from interlace.scores.statistics import ALPHA, Interval, difference_interval, holm, permutation_test

MAX_FAMILY = (
    6  # exact tests of five runs against five cannot be significant after Holm in a larger family
)

VerdictName = Literal["confirmed", "refuted", "undecided", "pending"]
"""confirmed: the test is significant in the claimed direction, or for `equal` the interval is within the margin.
refuted: the interval is below the margin, or for `equal` outside it. undecided: neither. pending: runs are missing."""


class FindingSide(Settings):
    """What one side of a finding measures; in `against`, what differs on the second side."""

    system: str = Field("", description="A system of the study.")
    task: str = Field("", description="A task of the study.")
    setting: str = Field(
        "", description="How the task is trained: zero-shot, supervised, ..; difference: their gap."
    )
    metric: str = Field("", description="Default: the task's main metric.")
    language: str | None = Field(
        None, description="Language, pair or direction; default: the mean without the source."
    )
    axes: dict[str, Any] = Field({}, description="Values of the study's axes.")


class StudyFinding(FindingSide):
    """A claim about the difference of two sides, the first minus the second, over pre-training runs."""

    claim: str = Field(min_length=1, description="The claim, a sentence.")
    source: str = Field("", description="Who claims it: paper and table.")
    family: str = Field(
        description=f"Findings that are corrected together by Holm's method, at most {MAX_FAMILY}."
    )
    against: FindingSide = Field(description="The second side: what differs from the first.")
    kind: Literal["better", "equal"] = Field(
        "better",
        description="better: the first side is; equal: they differ by less than the margin.",
    )
    margin: float = Field(
        gt=0, description="Smallest difference that matters, in the unit of the metric."
    )

    @property
    def sides(self) -> tuple[FindingSide, FindingSide]:
        """Both sides in full."""
        first = {key: getattr(self, key) for key in FindingSide.model_fields}
        second = dict(first)
        for key in FindingSide.model_fields:
            value = getattr(self.against, key)
            if value not in ("", None, {}):
                second[key] = value
        second["axes"] = {**self.axes, **self.against.axes}
        return FindingSide(**first), FindingSide(**second)


@dataclass(frozen=True)
class Verdict:
    """What the runs say of a finding.

    difference: first side minus second, positive where the first is better, with Welch's interval at
    1 - 0.05 / findings in the family. p: of the permutation test, after Holm over the family. runs: of the side with
    fewer. means: of both sides.
    """

    name: str
    finding: StudyFinding
    verdict: VerdictName
    difference: Interval
    p: float
    runs: int
    means: tuple[float, float]
    unit: str = ""


def judge(findings: Mapping[str, StudyFinding], table: ScoreTable, runs: int) -> list[Verdict]:
    """Return the verdicts on the findings of a study.

    table: its scores. runs: registered runs of each system; a side with fewer, or fewer than five, is pending.
    """
    table = add_all_words(table)
    results = aggregate(
        table, {task: rows.unique("metric") for task, rows in table.group("task").items()}
    )
    family_sizes = Counter(finding.family for finding in findings.values())
    verdicts = []
    for slot, (name, finding) in enumerate(findings.items()):
        trial = _Trial(name, finding, results, max(runs, MIN_RUNS))
        verdicts.append(trial.test(1 - ALPHA / family_sizes[finding.family], slot))
    return [_judged(verdict, verdicts) for verdict in verdicts]


@dataclass(frozen=True)
class _Trial:
    """A finding with the results that decide on it; min_runs: of each side."""

    name: str
    finding: StudyFinding
    results: Results
    min_runs: int

    def test(self, level: float, slot: int) -> Verdict:
        """Return difference and p-value, undecided; level: of the interval; slot: of the random generator."""
        first_side, second_side = self.finding.sides
        first = _sample(first_side, self.results)
        second = _sample(second_side, self.results)
        fewest = min(len(first.scores), len(second.scores))
        if first.measure is None or fewest < self.min_runs:
            missing = Interval(math.nan, math.nan, math.nan, 0)
            return Verdict(
                self.name, self.finding, "pending", missing, math.nan, fewest, (math.nan, math.nan)
            )
        sign = -1 if first.measure.greater_is_better is False else 1
        a = [sign * score for score in first.scores]
        b = [sign * score for score in second.scores]
        return Verdict(
            name=self.name,
            finding=self.finding,
            verdict="undecided",
            difference=difference_interval(a, b, level),
            p=permutation_test(a, b, generator(Purpose.STATISTICS, 0, 5, slot)).p,
            runs=fewest,
            means=(fmean(first.scores), fmean(second.scores)),
            unit=first.measure.unit,
        )


@dataclass(frozen=True)
class _Sample:
    """The scores of one side of a finding, one a run; without a measure, none."""

    measure: Measure | None = None
    scores: Sequence[float] = ()


def _sample(side: FindingSide, results: Results) -> _Sample:
    axes = {(key, str(value)) for key, value in side.axes.items()}
    metrics = {side.metric}
    if not side.metric:
        metrics = {
            measure.metric for measure in results if measure.task == side.task and measure.main
        }
    place = (side.task, side.setting or ZERO_SHOT, side.language or OTHERS)
    for measure, by_system in results.items():
        if (
            measure.task,
            measure.setting,
            measure.language,
        ) != place or measure.metric not in metrics:
            continue
        for system, result in by_system.items():
            if system.name == side.system and axes <= set(system.axes):
                return _Sample(measure, result.sample)
    return _Sample()


def _judged(verdict: Verdict, verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict with p after Holm over its family, in which pending findings count as not significant."""
    if verdict.verdict == "pending":
        return verdict
    family = [member for member in verdicts if member.finding.family == verdict.finding.family]
    ps = holm([1.0 if math.isnan(member.p) else member.p for member in family])
    p = ps[family.index(verdict)]
    margin = verdict.finding.margin
    difference = verdict.difference
    if verdict.finding.kind == "better":
        is_confirmed = p < ALPHA and difference.value > 0
        is_refuted = difference.high < margin
    else:
        is_confirmed = -margin < difference.low and difference.high < margin
        is_refuted = difference.low > margin or difference.high < -margin
    name: VerdictName = "undecided"
    if is_confirmed:
        name = "confirmed"
    elif is_refuted:
        name = "refuted"
    return replace(verdict, verdict=name, p=p)
