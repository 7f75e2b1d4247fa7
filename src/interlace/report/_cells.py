"""A cell of a table of scores, and what tells two of a line apart.

The unit is a pre-training, whose score is the mean over its fine-tunings: these share the luck of one pre-training, and
are not independent. Only between two checkpoints that were not pre-trained here the unit is a fine-tuning, as in the
tables of studies; that says nothing of other pre-trainings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from interlace.core.randomness import Purpose, generator
from interlace.scores.collapses import SIGN
from interlace.scores.statistics import ALPHA, holm, permutation_test

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.scores.statistics import Significance

PRE_TRAINING, FINE_TUNING = "pre-training", "fine-tuning"  # what a test is over


@dataclass(frozen=True)
class Cell:
    """Mean over pre-trainings with the least and greatest measurement.

    seeds: how many measurements there are. items: how many examples the least was scored on. values: of each
    measurement. runs: of each pre-training, the mean over its seeds. checkpoint: whether it was not pre-trained here.
    interval: of a single measurement, the middle 95 % over its test examples drawn again. collapsed: whether any rests
    on a fine-tuning that collapsed.
    """

    mean: float
    low: float
    high: float
    seeds: int
    items: int | None = None
    values: tuple[float, ...] = ()
    runs: tuple[float, ...] = ()
    checkpoint: bool = False
    interval: tuple[float, float] | None = None
    collapsed: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """What is drawn and printed beside the mean: least and greatest, or the interval of a single measurement."""
        return self.interval or (self.low, self.high)

    @property
    def sign(self) -> str:
        """What stands behind the mean in tables."""
        return SIGN * self.collapsed


@dataclass(frozen=True)
class Difference:
    """A mean minus the first recipe's; `clear` where `tested` tells the two apart, among all recipes of the line."""

    value: float
    clear: bool


def differences(cells: Mapping[str, Cell | None], first: str) -> dict[str, Difference | None]:
    """Of each other recipe's mean from the first one's; None where either has none."""
    base, found = cells[first], tested(cells, first)
    clear = {other for other, result in found.items() if result.p < ALPHA}
    return {
        other: Difference(cell.mean - base.mean, other in clear) if cell and base else None
        for other, cell in cells.items()
        if other != first
    }


def tested(cells: Mapping[str, Cell | None], one: str) -> dict[str, Significance]:
    """By other recipe, whether it is like the one, where that can be asked.

    `p` is after Holm over these recipes, as in the tables of studies; `least` is the smallest that it can be.
    """
    base = cells[one]
    if base is None:
        return {}
    others = {other: cell for other, cell in cells.items() if cell and other != one}
    found = {other: result for other, cell in others.items() if (result := _tested(cell, base)) is not None}
    adjusted, least = (holm(ps) for ps in ([one.p for one in found.values()], [one.min_p for one in found.values()]))
    return {
        other: replace(result, p=p, min_p=smallest)
        for (other, result), p, smallest in zip(found.items(), adjusted, least, strict=True)
    }


def unit_between(one: Cell, other: Cell) -> str:
    """What a test of two cells is over."""
    return FINE_TUNING if one.checkpoint and other.checkpoint else PRE_TRAINING


def runs_to_tell(others: int) -> int:
    """How many runs a recipe takes at least to be told from one of so many others, all with as many."""
    return next(runs for runs in count(2) if others * 2 / math.comb(2 * runs, runs) < ALPHA)


def _tested(cell: Cell, other: Cell) -> Significance | None:
    """Whether two cells are alike, by the permutation test of studies; None where a side has one of the unit."""
    nested = unit_between(cell, other) == PRE_TRAINING
    a, b = (cell.runs, other.runs) if nested else (cell.values, other.values)
    if min(len(a), len(b)) < 2:
        return None
    return permutation_test(a, b, generator(Purpose.STATISTICS, 0, 4))
