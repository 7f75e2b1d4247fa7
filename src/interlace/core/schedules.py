"""Schedules: numbers that change during training, constant or piecewise linear (`"0:1,100000:0.1,300000:0"`).

The syntax is XLM's (Conneau & Lample 2019, public code): `step:value` pairs, linear between, constant outside.
"""

from typing import Annotated

import numpy as np
from pydantic import AfterValidator, BeforeValidator

_EXPECTED = "expected a number or 'step:value,step:value,...' with whole steps"


def _points(text: str) -> tuple[list[int], list[float]]:
    steps = []
    values = []
    try:
        for point in text.split(","):
            step, value = point.split(":")
            steps.append(int(step))
            values.append(float(value))
    except ValueError:
        raise ValueError(f"{_EXPECTED}, found {text!r}") from None
    if steps != sorted(set(steps)):
        raise ValueError(f"the steps of a schedule must grow, found {text!r}")
    return steps, values


def _checked(text: str) -> str:
    if ":" in text:
        _points(text)
        return text
    try:
        float(text)
    except ValueError:
        raise ValueError(f"{_EXPECTED}, found {text!r}") from None
    return text


Schedule = Annotated[
    str, BeforeValidator(lambda value: str(value).replace(" ", "")), AfterValidator(_checked)
]
"""A pydantic field type: accepts `0.15` or `"0:0.3,10000:0.05"`, keeps the text."""


def within(schedule: str, low: float, high: float) -> str:
    """Return the schedule if all its values lie in [low, high], else raise a ValueError; for field validators."""
    if not all(low <= value <= high for value in values_of(schedule)):
        raise ValueError(f"every value must lie in [{low:g}, {high:g}]")
    return schedule


def values_of(schedule: str) -> list[float]:
    """Return the values of a schedule, in order.

    >>> values_of("0:1,100:0")
    [1.0, 0.0]
    """
    if ":" in schedule:
        return _points(schedule)[1]
    return [float(schedule)]


def value_at(schedule: str, step: int) -> float:
    """Return the value of a schedule at `step`.

    >>> value_at("0:1,100:0", 25)
    0.75
    >>> value_at("0.15", 1000)
    0.15
    """
    if ":" not in schedule:
        return float(schedule)
    steps, values = _points(schedule)
    return float(np.interp(step, steps, values))
