"""Axes of figures: scales, round numbers along them, and labels that do not overlap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


def ticks(
    low: float,
    high: float,
    about: int = 4,
) -> list[float]:
    """Return about that many round numbers within [low, high]."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return those of 1, 2, 5, 10, 20, ... within [low, high]; powers of ten alone where these are more than five."""
    values = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for factor in (1, 2, 5):
            value = factor * 10.0**power
            if low * 0.999 <= value <= high * 1.001:
                values.append(value)
    powers_of_ten = [value for value in values if math.log10(value) % 1 < 1e-9]
    if len(values) > 5 and len(powers_of_ten) > 1:
        return powers_of_ten
    return values


def round_ends(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return multiples of half a tick around all ranges; between 0 and 100 if they are."""
    lowest = min(low for low, _ in ranges)
    highest = max(high for _, high in ranges)
    margin = (highest - lowest) * 0.05 or abs(highest) * 0.01 or 1.0
    values = ticks(lowest - margin, highest + margin, 5)
    step = (values[1] - values[0] if len(values) > 1 else margin) / 2
    low = math.floor((lowest - margin) / step) * step
    high = math.ceil((highest + margin) / step) * step
    if lowest >= 0:
        low = max(low, 0.0)
    if highest <= 100:
        high = min(high, 100.0)
    return low, high


@dataclass(frozen=True)
class Scale:
    """The linear (or logarithmic) map of [low, high] to [first, last]."""

    low: float
    high: float
    first: float
    last: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        start = self._bend(self.low)
        width = self._bend(self.high) - start or 1.0
        return self.first + (self._bend(value) - start) / width * (self.last - self.first)

    def _bend(self, value: float) -> float:
        return math.log10(value) if self.log else float(value)


def apart(
    positions: Sequence[float],
    distance: float,
    low: float,
    high: float,
) -> list[float]:
    """Return positions near these, in the same order, at least `distance` apart and within [low, high]."""
    order = sorted(range(len(positions)), key=positions.__getitem__)
    placed = list(positions)
    for index in order:
        placed[index] = max(placed[index], low)
        low = placed[index] + distance
    for index in reversed(order):
        placed[index] = min(placed[index], high)
        high = placed[index] - distance
    return placed
