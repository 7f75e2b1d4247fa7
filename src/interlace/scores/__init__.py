"""Intervals and tests, in numpy; what is random is drawn from a generator that the caller gives.

Every test is two-sided. Monte Carlo p-values count the observed arrangement among the drawn ones, (1 + k) / (1 +
draws), so that they are never 0 and keep their level (Phipson & Smyth 2010). `runs` asks whether it would be so in
other runs, `examples` whether it would be so on other test examples, `ranking` whether two measures go together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

ALPHA = 0.05  # what is told apart has a p below it
DRAWS = 10_000


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval; both are nan where one measurement tells no spread."""

    value: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Tested:
    """What a test says. least: the smallest p that it can give with so few measurements."""

    statistic: float
    p: float
    n: int
    least: float = 0.0


def holm(ps: Sequence[float]) -> list[float]:
    """p-values adjusted for their number (Holm 1979): rejecting those below alpha errs in alpha of all families.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(ps, kind="stable")
    scaled = np.asarray(ps, float)[order] * np.arange(len(ps), 0, -1)
    adjusted = np.empty(len(ps))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(round(p, 15)) for p in adjusted]
