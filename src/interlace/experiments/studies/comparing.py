"""Each system against the baseline: the difference, how sure it is, and what was drawn again to know that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.randomness import Purpose, generator
from interlace.experiments.studies._comparison import made
from interlace.experiments.studies._over_examples import over_examples
from interlace.experiments.studies._words import filled, over_same
from interlace.experiments.studies.measures import OTHERS, comparable, scores_of, variants_of
from interlace.scores.statistics import (
    DRAWS,
    cliffs_delta,
    cohens_d,
    difference_interval,
    holm,
    mean_interval,
    permutation_test,
    sign_flip_test,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from interlace.experiments.studies._comparison import Comparison, Unit, Untested
    from interlace.experiments.studies.measures import Measure, Runs, Scores, Variant
    from interlace.experiments.studies.results import Row

UNITS: tuple[Unit, ...] = ("seeds", "examples", "languages")


def compare(
    rows: Sequence[Row],
    baseline: str | None = None,
    unit: Unit = "seeds",
    into: Path | None = None,
    draws: int = DRAWS,
    metrics: Mapping[str, Sequence[str]] = {},
    untested: Callable[[Untested], None] | None = None,
) -> list[Comparison]:
    """Every system against the baseline under the same settings, in every measure.

    The unit says what the answer is about:

    - `seeds`: would it be so in other runs? Welch's interval and a permutation test over runs. Two runs with one seed
      share little, so they are not paired. Beside systems pre-trained here a checkpoint is one run; between two
      checkpoints the runs are fine-tunings, which say nothing of other pre-trainings.
    - `examples`: would it be so on other test sentences, of these very runs? Paired bootstrap and approximate
      randomisation, of main scores. Needs `into`, the study's folder, whose runs keep what every example got.
    - `languages`: would it be so in other languages? Signs of the differences by language are turned; one comparison a
      task.

    Of a task whose words some systems have read in a dictionary, and others not, runs are compared by the score over
    all words (`p@1, all`). Over examples the main score stays, for systems that were asked other words do not pair.

    Args:
        rows: as `read_results` gives them.
        baseline: a system's name; none: the first in the rows.
        unit: what is drawn again.
        into: the study's folder, for `examples`.
        draws: how often examples are drawn again.
        metrics: by task, which scores are compared; none: the main one.
        untested: told of each pair that cannot be compared by examples, while the others are; none: the first of them
            is an error.

    Raises:
        SettingsError: there is no such system, unit or score. DataError: nobody is told, and what examples got was not
            kept, or the systems were scored on different ones.
    """
    if unit not in UNITS:
        raise SettingsError(f"unit {unit!r}: expected one of {', '.join(UNITS)}")
    variants = variants_of(rows)
    systems = list(dict.fromkeys(variant.system for variant in variants))
    if baseline is not None and baseline not in systems:
        raise SettingsError(f"there is no system {baseline!r} in the results{did_you_mean(baseline, systems)}")
    if unit != "examples":
        rows = filled(rows)
        metrics = over_same(rows, metrics)
    scores = scores_of(rows, metrics)
    pairs = [(variant, other) for variant in variants if (other := reference(variant, variants, baseline)) is not None]
    if unit == "languages":
        found = _over_languages(scores, pairs)
    elif unit == "examples":
        found = over_examples(rows, scores, pairs, into, draws, untested)
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
    x, y = comparable(variant, a, other), comparable(other, b, variant)
    tested = permutation_test(x, y, generator(Purpose.STATISTICS, 0, 0, slot))
    effects = cohens_d(x, y), cliffs_delta(x, y)
    return made(measure, (variant, other), difference_interval(x, y), tested, "seeds", effects)


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
                found.append(made(mean, pair, mean_interval(by_language), tested, "languages", effects))
    return found


def _ratio(differences: Sequence[float]) -> float:
    """Cohen's d of paired differences: their mean in their standard deviations."""
    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    return float(np.mean(differences)) / spread if spread > 0 else float("nan")


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
