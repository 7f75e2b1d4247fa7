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
    """Return the powers of ten within [low, high], or those of 1, 2, 5, 10, 20, ... if they are fewer than three."""
    powers = []
    values = []
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for factor in (1, 2, 5):
            value = factor * 10.0**exponent
            if low * 0.999 <= value <= high * 1.001:
                values.append(value)
                if factor == 1:
                    powers.append(value)
    return powers if len(powers) > 2 else values


def round_ends(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the closest round numbers around all ranges."""
    low = min(start for start, _ in ranges)
    high = max(end for _, end in ranges)
    values = ticks(low, high, 5)
    step = values[1] - values[0] if len(values) > 1 else 1.0
    return math.floor(low / step) * step, math.ceil(high / step + 1e-9) * step


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
