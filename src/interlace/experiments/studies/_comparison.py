"""What a comparison of two systems says, and why one could not be made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from interlace.scores.statistics import ALPHA

if TYPE_CHECKING:
    from interlace.experiments.studies.measures import Measure, Variant
    from interlace.scores.statistics import Interval, Significance

Unit = Literal["seeds", "examples", "languages"]


@dataclass(frozen=True)
class Comparison:
    """A system minus the one it is tested against, in one measure.

    unit: what was drawn again. p: two-sided; adjusted: by Holm's method over the systems of this measure, and not over
    tasks and languages. least: the smallest p that so few measurements can give, before adjusting. effect: Cohen's d
    over seeds, Cliff's delta beside it; nan where they say nothing. n: how many of the unit there were, of examples
    those that count. mcnemar: p of that test over examples, where both are one run and examples are right or wrong;
    else nan.
    """

    measure: Measure
    variant: Variant
    against: Variant
    difference: Interval
    p: float
    adjusted: float
    min_p: float
    unit: Unit
    n: int
    effect: float
    delta: float
    mcnemar: float = math.nan

    @property
    def clear(self) -> bool:
        """Whether the test tells the two apart."""
        return self.adjusted < ALPHA


@dataclass(frozen=True)
class Untested:
    """A system and the one it should be tested against, whose test examples cannot be paired, and why."""

    measure: Measure
    variant: Variant
    against: Variant
    why: str


def made(
    measure: Measure,
    pair: tuple[Variant, Variant],
    interval: Interval,
    tested: Significance,
    unit: Unit,
    effects: tuple[float, float],
) -> Comparison:
    """A comparison whose p is not yet adjusted. effects: Cohen's d and Cliff's delta."""
    return Comparison(
        measure, *pair, interval, tested.p, tested.p, tested.min_p, unit, tested.n, effect=effects[0], delta=effects[1]
    )
