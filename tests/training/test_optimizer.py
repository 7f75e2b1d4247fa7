"""The learning rate by hand."""

import pytest
from transformers import TrainingArguments

from interlace.training.optimizer import OptimizerSettings


@pytest.mark.parametrize(
    ("settings", "last", "rates"),
    [
        ({"warmup": 10}, 110, {1: 0.1, 5: 0.5, 10: 1, 11: 1, 61: 0.5, 110: 0.01}),
        ({"warmup": 0}, 10, {1: 1}),
        ({"warmup": 100, "schedule": "inverse_sqrt"}, 10_000, {100: 1, 400: 0.5}),
        ({"warmup": 0, "schedule": "constant"}, 5, {1: 1}),
        ({"warmup": 4000}, 100, {5: 0.5, 10: 1, 11: 1, 56: 0.5}),  # at most a tenth of the steps
        ({"warmup": 4000, "schedule": "inverse_sqrt"}, 100, {10: 1, 40: 0.5}),
        ({"warmup": 4000, "max_warmup_share": 0.5}, 100, {25: 0.5, 50: 1}),
    ],
)
def test_learning_rates_by_hand(settings, last, rates):
    schedule = OptimizerSettings(learning_rate=1.0, **settings)
    assert {step: schedule.rate(step, last) for step in rates} == pytest.approx(rates)


def test_presets_fill_what_is_not_set():
    roberta, defaults = OptimizerSettings(), OptimizerSettings(preset="transformers")
    assert (roberta.betas, roberta.epsilon, roberta.weight_decay) == ((0.9, 0.98), 1e-6, 0.01)
    assert (defaults.betas, defaults.epsilon, defaults.weight_decay) == ((0.9, 0.999), 1e-8, 0.0)
    trainer = TrainingArguments()
    assert defaults.betas == (trainer.adam_beta1, trainer.adam_beta2)
    assert (defaults.epsilon, defaults.weight_decay) == (trainer.adam_epsilon, trainer.weight_decay)
    assert OptimizerSettings(preset="transformers", weight_decay=0.1).weight_decay == 0.1
    assert OptimizerSettings(**defaults.dump()) == defaults
