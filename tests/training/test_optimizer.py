"""The learning rate by hand."""

import pytest

from interlace.training.optimizer import OptimizerSettings


def test_linear_rises_then_falls_to_nothing():
    settings = OptimizerSettings(learning_rate=1.0, warmup=10)
    assert [settings.rate(step, 110) for step in (1, 5, 10, 11, 61, 110)] == pytest.approx(
        [0.1, 0.5, 1.0, 1.0, 0.5, 0.01]
    )


def test_inverse_square_root_after_four_times_the_warmup_is_half():
    settings = OptimizerSettings(learning_rate=2.0, warmup=100, schedule="inverse_sqrt")
    assert settings.rate(100, 10_000) == pytest.approx(2.0)
    assert settings.rate(400, 10_000) == pytest.approx(1.0)


def test_constant_needs_no_warmup():
    assert OptimizerSettings(learning_rate=0.3, warmup=0, schedule="constant").rate(1, 5) == 0.3


def test_linear_without_warmup_starts_at_the_peak():
    assert OptimizerSettings(learning_rate=1.0, warmup=0).rate(1, 10) == pytest.approx(1.0)
