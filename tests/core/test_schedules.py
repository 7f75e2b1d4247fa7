from __future__ import annotations

import pytest
from pydantic import Field, field_validator

from interlace.core.errors import SettingsError
from interlace.core.schedules import Schedule, value_at, within
from interlace.core.settings import Settings


class Masking(Settings):
    rate: Schedule = Field("0.15", description="Share of subwords that are predicted.")

    @field_validator("rate")
    @classmethod
    def _share(cls, rate):
        return within(rate, 0, 1)


@pytest.mark.parametrize(
    ("step", "value"),
    [(0, 1.0), (50_000, 0.55), (100_000, 0.1), (200_000, 0.05), (300_000, 0.0), (10**9, 0.0)],
)
def test_linear_between_points_and_constant_outside(step, value):
    assert value_at("0:1,100000:0.1,300000:0", step) == pytest.approx(value)


@pytest.mark.parametrize("rate", [0.15, 1, "0.15", "0:0.3,10000:0.05", "0:0.3, 10000:0.05"])
def test_numbers_and_strings_are_read_and_kept(rate):
    assert Masking(rate=rate).rate == str(rate).replace(" ", "")
    assert Masking.read(Masking(rate=rate).dump()) == Masking(rate=rate)


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (
            "often",
            "rate: expected a number or 'step:value,step:value,...' with whole steps, found",
        ),
        ("0:a", "rate: expected a number"),
        ("0.5:1", "rate: expected a number"),
        ("9:0.1,9:0.2", "rate: the steps of a schedule must grow, found '9:0.1,9:0.2'"),
        ("0:1,10:2", "rate: every value must lie in [0, 1] (found '0:1,10:2')"),
        (-0.1, "rate: every value must lie in [0, 1] (found -0.1)"),
        ("nan", "rate: every value must lie in [0, 1] (found 'nan')"),
    ],
)
def test_what_is_no_schedule_is_told(rate, message):
    with pytest.raises(SettingsError) as caught:
        Masking(rate=rate)
    assert str(caught.value).startswith(message)
