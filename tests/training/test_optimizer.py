"""The learning rate by hand."""

import pytest

from interlace.training.optimizer import OptimizerSettings


@pytest.mark.parametrize(
    ("settings", "last", "rates"),
    [
        ({"warmup": 10}, 110, {1: 0.1, 5: 0.5, 10: 1, 11: 1, 61: 0.5, 110: 0.01}),
        ({"warmup": 0}, 10, {1: 1}),
        ({"warmup": 100, "schedule": "inverse_sqrt"}, 10_000, {100: 1, 400: 0.5}),
        ({"warmup": 0, "schedule": "constant"}, 5, {1: 1}),
        # at most a tenth of the steps
        (
            {"warmup": 4000},
            100,
            {5: 0.5, 10: 1, 11: 1, 56: 0.5},
        ),
        ({"warmup": 4000, "schedule": "inverse_sqrt"}, 100, {10: 1, 40: 0.5}),
        ({"warmup": 4000, "max_warmup_share": 0.5}, 100, {25: 0.5, 50: 1}),
    ],
)
def test_learning_rates_by_hand(settings, last, rates):
    schedule = OptimizerSettings(learning_rate=1.0, **settings)
    assert {step: schedule.rate(step, last) for step in rates} == pytest.approx(rates)
