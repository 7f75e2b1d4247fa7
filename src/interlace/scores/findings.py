"""Findings: claims with statistic, margin and family that a study registers before its runs, and their verdicts."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.scores import ZERO_SHOT, ScoreTable
from interlace.scores.comparison import MIN_RUNS, Measure, Results, aggregate
from interlace.scores.held_out import add_all_words
from interlace.scores.statistics import ALPHA, Interval, difference_interval, holm, permutation_test

MAX_FAMILY = 6  # exact tests of five runs against five cannot be significant after Holm in a larger family

VerdictName = Literal["confirmed", "refuted", "undecided", "pending"]
"""confirmed: the test is significant in the claimed direction, or for `equal` the interval is within the margin.
refuted: the interval is below the margin, or for `equal` outside it. undecided: neither. pending: runs are missing."""


class FindingSide(Settings):
    """What one side of a finding measures; in `against`, what differs on the second side."""

    system: str = Field("", description="A system of the study.")
    task: str = Field("", description="A task of the study.")
    setting: str = Field("", description="How the task is trained: zero-shot, supervised, ..; difference: their gap.")
    metric: str = Field("", description="Default: the task's main metric.")
    language: str | None = Field(None, description="Language, pair or direction; default: the mean without the source.")
    axes: dict[str, Any] = Field({}, description="Values of the study's axes.")


class StudyFinding(FindingSide):
    """A claim about the difference of two sides, the first minus the second, over pre-training runs."""

    claim: str = Field(min_length=1, description="The claim, a sentence.")
    source: str = Field("", description="Who claims it: paper and table.")
    family: str = Field(description=f"Findings that are corrected together by Holm's method, at most {MAX_FAMILY}.")
    against: FindingSide = Field(description="The second side: what differs from the first.")
    kind: Literal["better", "equal"] = Field(
        "better", description="better: the first side is; equal: they differ by less than the margin."
    )
    margin: float = Field(gt=0, description="Smallest difference that matters, in the unit of the metric.")

    @property
    def sides(self) -> tuple[FindingSide, FindingSide]:
        """Both sides in full."""
        first = {key: getattr(self, key) for key in FindingSide.model_fields}
        other = {key: value for key in first if (value := getattr(self.against, key)) not in ("", None, {})}
        return FindingSide(**first), FindingSide(**{**first, **other, "axes": {**self.axes, **self.against.axes}})


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
    results = aggregate(table, {task: rows.unique("metric") for task, rows in table.group("task").items()})
    families = Counter(finding.family for finding in findings.values())
    found = [
        _tested(name, finding, results, max(runs, MIN_RUNS), families[finding.family], place)
        for place, (name, finding) in enumerate(findings.items())
    ]
    return [_judged(one, found) for one in found]


def _tested(name: str, finding: StudyFinding, results: Results, runs: int, family: int, place: int) -> Verdict:
    sides = [_sample(side, results) for side in finding.sides]
    (measure, first), (_, second) = sides
    fewest, none = min(len(first), len(second)), Interval(math.nan, math.nan, math.nan, 0)
    if measure is None or fewest < runs:
        return Verdict(name, finding, "pending", none, math.nan, fewest, (math.nan, math.nan))
    means = fmean(first), fmean(second)
    sign = -1 if measure.greater_is_better is False else 1
    a, b = ([sign * value for value in side] for side in (first, second))
    rng = generator(Purpose.STATISTICS, 0, 5, place)
    apart = difference_interval(a, b, 1 - ALPHA / family)
    return Verdict(name, finding, "undecided", apart, permutation_test(a, b, rng).p, fewest, means, measure.unit)


def _sample(side: FindingSide, results: Results) -> tuple[Measure | None, list[float]]:
    """Return the measure of a side and its scores, one a run; none where it was not measured."""
    axes = {key: str(value) for key, value in side.axes.items()}
    metrics = {side.metric} if side.metric else {one.metric for one in results if one.task == side.task and one.main}
    for measure, by_system in results.items():
        same = measure.task == side.task and measure.setting == (side.setting or ZERO_SHOT)
        if same and measure.language == (side.language or "") and measure.metric in metrics:
            for system, result in by_system.items():
                if system.name == side.system and axes.items() <= dict(system.axes).items():
                    return measure, result.sample
    return None, []


def _judged(one: Verdict, found: list[Verdict]) -> Verdict:
    """Return the verdict with p after Holm over its family, in which pending findings count as not significant."""
    if one.verdict == "pending":
        return one
    family = [other for other in found if other.finding.family == one.finding.family]
    ps = holm([1.0 if math.isnan(other.p) else other.p for other in family])
    p, margin, apart = ps[family.index(one)], one.finding.margin, one.difference
    if one.finding.kind == "better":
        confirmed, refuted = p < ALPHA and apart.value > 0, apart.high < margin
    else:
        confirmed = -margin < apart.low and apart.high < margin
        refuted = apart.low > margin or apart.high < -margin
    name: VerdictName = "confirmed" if confirmed else "refuted" if refuted else "undecided"
    return replace(one, verdict=name, p=p)
