"""Each system against the baseline: the difference, how sure it is, and what was drawn again to know that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from interlace.errors import DataError, SettingsError, did_you_mean
from interlace.randomness import Purpose, generator
from interlace.statistics import ALPHA, DRAWS, Interval, Tested, holm
from interlace.statistics.examples import Examples, approximate_randomisation, mcnemar, paired_bootstrap
from interlace.statistics.runs import (
    cliffs_delta,
    cohens_d,
    difference_interval,
    mean_interval,
    permutation_test,
    sign_flip_test,
)
from interlace.studies.measures import OTHERS, scores_of, variants_of
from interlace.train.outcomes import outcomes_file, read_outcomes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from interlace.studies.measures import Measure, Runs, Scores, Variant
    from interlace.studies.results import Row

Unit = Literal["seeds", "examples", "languages"]
UNITS: tuple[Unit, ...] = ("seeds", "examples", "languages")


@dataclass(frozen=True)
class Comparison:
    """A system minus the one it is tested against, in one measure.

    unit: what was drawn again. p: two-sided; adjusted: by Holm's method over the systems of this measure, and not over
    tasks and languages. least: the smallest p that so few measurements can give, before adjusting. effect: Cohen's d
    over seeds, Cliff's delta beside it; nan where they say nothing. n: how many of the unit
    there were, of examples those that count. mcnemar: p of
    that test over examples, where both are one run and examples are right or wrong; else nan.
    """

    measure: Measure
    variant: Variant
    against: Variant
    difference: Interval
    p: float
    adjusted: float
    least: float
    unit: Unit
    n: int
    effect: float
    delta: float
    mcnemar: float = math.nan

    @property
    def clear(self) -> bool:
        """Whether the test tells the two apart."""
        return self.adjusted < ALPHA


def compare(
    rows: Sequence[Row],
    baseline: str | None = None,
    unit: Unit = "seeds",
    into: Path | None = None,
    draws: int = DRAWS,
    metrics: Mapping[str, Sequence[str]] = {},
) -> list[Comparison]:
    """Every system against the baseline under the same settings, in every measure.

    The unit says what the answer is about:

    - `seeds`: would it be so in other runs? Welch's interval and a permutation test over runs. Two runs with one seed
      share little, so they are not paired.
    - `examples`: would it be so on other test sentences, of these very runs? Paired bootstrap and approximate
      randomisation, of main scores. Needs `into`, the study's folder, whose runs keep what every example got.
    - `languages`: would it be so in other languages? Signs of the differences by language are turned; one comparison a
      task.

    Args:
        rows: as `read_results` gives them.
        baseline: a system's name; none: the first in the rows.
        unit: what is drawn again.
        into: the study's folder, for `examples`.
        draws: how often examples are drawn again.
        metrics: by task, which scores are compared; none: the main one.

    Raises:
        SettingsError: there is no such system, unit or score. DataError: what examples got was not kept, or the systems
            were scored on different ones.
    """
    if unit not in UNITS:
        raise SettingsError(f"unit {unit!r}: expected one of {', '.join(UNITS)}")
    variants = variants_of(rows)
    systems = list(dict.fromkeys(variant.system for variant in variants))
    if baseline is not None and baseline not in systems:
        raise SettingsError(f"there is no system {baseline!r} in the results{did_you_mean(baseline, systems)}")
    scores = scores_of(rows, metrics)
    pairs = [(variant, other) for variant in variants if (other := reference(variant, variants, baseline)) is not None]
    if unit == "languages":
        found = _over_languages(scores, pairs)
    elif unit == "examples":
        found = _over_examples(rows, scores, pairs, into, draws)
    else:
        found = _over_seeds(scores, pairs)
    return _adjusted(found)


def reference(variant: Variant, variants: Sequence[Variant], baseline: str | None = None) -> Variant | None:
    """What a variant is tested against: the baseline under the same settings, or the first setting of a lone system."""
    name = baseline or variants[0].system
    if variant.system == name:
        lone = all(other.system == name for other in variants)
        return variants[0] if lone and variant != variants[0] else None
    return next((other for other in variants if other.system == name and _alike(variant, other)), None)


def _alike(variant: Variant, other: Variant) -> bool:
    """Under the same settings; one that a checkpoint does not take is like any."""
    mine, theirs = dict(variant.axes), dict(other.axes)
    return all(None in {value, theirs.get(key)} or value == theirs.get(key) for key, value in mine.items())


def _over_seeds(scores: Scores, pairs: Sequence[tuple[Variant, Variant]]) -> list[Comparison]:
    found = []
    for number, (measure, by_variant) in enumerate(scores.items()):
        for place, (variant, other) in enumerate(pairs):
            if variant in by_variant and other in by_variant:
                slot = number * len(pairs) + place
                found.append(against(measure, variant, by_variant[variant], other, by_variant[other], slot))
    return found


def against(measure: Measure, variant: Variant, a: Runs, other: Variant, b: Runs, slot: int = 0) -> Comparison:
    """One comparison over seeds, not yet adjusted."""
    x, y = list(a.values()), list(b.values())
    tested = permutation_test(x, y, generator(Purpose.STATISTICS, 0, 0, slot))
    effects = cohens_d(x, y), cliffs_delta(x, y)
    return _made(measure, (variant, other), difference_interval(x, y), tested, "seeds", effects)


def _over_languages(scores: Scores, pairs: Sequence[tuple[Variant, Variant]]) -> list[Comparison]:
    found = []
    for mean in (measure for measure in scores if measure.language == OTHERS):
        alike = [
            measure
            for measure in scores
            if measure.language not in {OTHERS, measure.source} and replace(measure, language=OTHERS) == mean
        ]
        for place, pair in enumerate(pairs):
            by_language = [
                float(np.mean(list(scores[m][pair[0]].values())) - np.mean(list(scores[m][pair[1]].values())))
                for m in alike
                if pair[0] in scores[m] and pair[1] in scores[m]
            ]
            if by_language:
                tested = sign_flip_test(by_language, generator(Purpose.STATISTICS, 0, 1, place))
                effects = _ratio(by_language), float("nan")
                found.append(_made(mean, pair, mean_interval(by_language), tested, "languages", effects))
    return found


def _over_examples(
    rows: Sequence[Row], scores: Scores, pairs: Sequence[tuple[Variant, Variant]], into: Path | None, draws: int
) -> list[Comparison]:
    if into is None:
        raise SettingsError("unit 'examples' reads what every example got: give the study's folder")
    found = []
    for number, measure in enumerate(measure for measure in scores if measure.main and measure.language != OTHERS):
        got = {variant: _pooled(rows, measure, variant, into) for variant in scores[measure]}
        for place, (variant, other) in enumerate(pairs):
            if variant in got and other in got:
                a, b = got[variant], got[other]
                rng = generator(Purpose.STATISTICS, 0, 2, number * len(pairs) + place)
                interval, tested = paired_bootstrap(a, b, rng, draws=draws), approximate_randomisation(a, b, rng, draws)
                scale = 100.0 if measure.unit == "%" else 1.0
                interval = Interval(interval.value * scale, interval.low * scale, interval.high * scale, interval.n)
                effects = float("nan"), cliffs_delta(a.each, b.each)
                one = _made(measure, (variant, other), interval, tested, "examples", effects)
                single = all(len(_of(rows, measure, each)) == 1 for each in (variant, other))
                sharp = single and a.is_right_or_wrong and b.is_right_or_wrong
                found.append(replace(one, mcnemar=mcnemar(a, b).p) if sharp else one)
    return found


def _of(rows: Sequence[Row], measure: Measure, variant: Variant) -> list[Row]:
    """The rows of a system's main score, one a run and fine-tuning."""
    asked = measure.task, measure.setting, measure.language, variant.label
    return [
        row for row in rows if row["main"] and asked == (row["task"], row["setting"], row["language"], row["label"])
    ]


def _pooled(rows: Sequence[Row], measure: Measure, variant: Variant, into: Path) -> Examples:
    """What a system got on each example, all its runs and fine-tunings together."""
    runs = [
        read_outcomes(
            outcomes_file(into / row["run"], measure.task, row["tuning_seed"], measure.setting),
            measure.language,
            row.get("key"),
        )
        for row in _of(rows, measure, variant)
    ]
    if len({(len(run.score), run.identity) for run in runs}) > 1:
        raise DataError(f"{variant.label}, {measure.task}, {measure.language}: runs were scored on different examples")
    scores, weights = np.mean([run.score for run in runs], 0), np.mean([run.weight for run in runs], 0)
    counts = [run.counts for run in runs if run.counts is not None]
    pooled = np.mean(counts, 0) if len(counts) == len(runs) else None
    return Examples(scores, weights, runs[0].identity, pooled, runs[0].measure)


def _ratio(differences: Sequence[float]) -> float:
    """Cohen's d of paired differences: their mean in their standard deviations."""
    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    return float(np.mean(differences)) / spread if spread > 0 else float("nan")


def _made(
    measure: Measure,
    pair: tuple[Variant, Variant],
    interval: Interval,
    tested: Tested,
    unit: Unit,
    effects: tuple[float, float],
) -> Comparison:
    return Comparison(
        measure, *pair, interval, tested.p, tested.p, tested.least, unit, tested.n, effect=effects[0], delta=effects[1]
    )


def _adjusted(found: list[Comparison]) -> list[Comparison]:
    """With Holm's p over the comparisons of each measure."""
    by_measure: dict[Measure, list[int]] = {}
    for place, one in enumerate(found):
        by_measure.setdefault(one.measure, []).append(place)
    adjusted = list(found)
    for places in by_measure.values():
        for place, p in zip(places, holm([found[place].p for place in places]), strict=True):
            adjusted[place] = replace(found[place], adjusted=p)
    return adjusted
