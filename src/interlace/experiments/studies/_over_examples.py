"""Systems compared by what their very runs got on each test example."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError, SettingsError
from interlace.core.randomness import Purpose, generator
from interlace.experiments.score_store import outcomes_key
from interlace.experiments.studies._comparison import Untested, made
from interlace.experiments.studies.measures import OTHERS
from interlace.scores.examples import Examples, approximate_randomization, mcnemar, paired_bootstrap
from interlace.scores.statistics import Interval, cliffs_delta
from interlace.training.predictions import outcomes_file, read_outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from interlace.core.randomness import Generator
    from interlace.experiments.studies._comparison import Comparison
    from interlace.experiments.studies.measures import Measure, Scores, Variant
    from interlace.experiments.studies.results import Row


def over_examples(
    rows: Sequence[Row],
    scores: Scores,
    pairs: Sequence[tuple[Variant, Variant]],
    into: Path | None,
    draws: int,
    untested: Callable[[Untested], None] | None,
) -> list[Comparison]:
    """Each pair in each measure, not yet adjusted.

    A pair that cannot be tested costs the others nothing, nor is it of the family that is adjusted.

    Raises:
        SettingsError: there is no folder. DataError: as `compare` says.
    """
    if into is None:
        raise SettingsError("unit 'examples' reads what every example got: give the study's folder")
    found = []
    for number, measure in enumerate(measure for measure in scores if measure.main and measure.language != OTHERS):
        got = {variant: _pooled_or_why(rows, measure, variant, into) for variant in scores[measure]}
        for place, pair in enumerate(pairs):
            if pair[0] not in got or pair[1] not in got:
                continue
            rng = generator(Purpose.STATISTICS, 0, 2, number * len(pairs) + place)
            try:
                theirs, ours = (_there(got[each]) for each in reversed(pair))  # what the baseline lacks is told first
                one = _tested(measure, pair, ours, theirs, rng, draws)
                single = all(len(_of(rows, measure, each)) == 1 for each in pair)
                if single and ours.is_binary and theirs.is_binary:
                    one = replace(one, mcnemar=mcnemar(ours, theirs).p)
            except DataError as error:
                if untested is None:
                    raise
                untested(Untested(measure, *pair, str(error)))
                continue
            found.append(one)
    return found


def _tested(
    measure: Measure, pair: tuple[Variant, Variant], a: Examples, b: Examples, rng: Generator, draws: int
) -> Comparison:
    """One comparison over examples, not yet adjusted."""
    interval, tested = paired_bootstrap(a, b, rng, draws=draws), approximate_randomization(a, b, rng, draws)
    scale = 100.0 if measure.unit == "%" else 1.0
    interval = Interval(interval.value * scale, interval.low * scale, interval.high * scale, interval.n)
    effects = float("nan"), cliffs_delta(a.each, b.each)
    return made(measure, pair, interval, tested, "examples", effects)


def _pooled_or_why(rows: Sequence[Row], measure: Measure, variant: Variant, into: Path) -> Examples | DataError:
    try:
        return _pooled(rows, measure, variant, into)
    except DataError as error:
        return error


def _there(got: Examples | DataError) -> Examples:
    if isinstance(got, DataError):
        raise got
    return got


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
            outcomes_key(row) if row.get("key") else None,
        )
        for row in _of(rows, measure, variant)
    ]
    if len({(len(run.score), run.identity) for run in runs}) > 1:
        raise DataError(f"{variant.label}, {measure.task}, {measure.language}: runs were scored on different examples")
    scores, weights = np.mean([run.score for run in runs], 0), np.mean([run.weight for run in runs], 0)
    counts = [run.counts for run in runs if run.counts is not None]
    pooled = np.mean(counts, 0) if len(counts) == len(runs) else None
    return Examples(scores, weights, runs[0].identity, pooled, runs[0].measure, runs[0].groups)
