"""The learning rate by hand; Muon with AdamW against both alone."""

import copy

import pytest
import torch

from interlace.training import checkpoint
from interlace.training.muon import hidden_matrices
from interlace.training.optimizer import OptimizerSettings


@pytest.mark.parametrize(
    ("settings", "last", "rates"),
    [
        ({"warmup": 10}, 110, {1: 0.1, 5: 0.5, 10: 1, 11: 1, 61: 0.5, 110: 0.01}),
        ({"warmup": 0}, 10, {1: 1}),
        ({"warmup": 100, "schedule": "inverse_sqrt"}, 10_000, {100: 1, 400: 0.5}),
        ({"warmup": 0, "schedule": "constant"}, 5, {1: 1}),
        (
            {"warmup": 10, "schedule": "wsd"},
            100,
            {5: 0.5, 10: 1, 11: 1, 80: 1, 81: 1, 91: 0.5, 100: 0.05},
        ),
        ({"schedule": "wsd", "decay_share": 1.0, "warmup": 10}, 110, {11: 1, 61: 0.5}),
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


@pytest.fixture
def model():
    """An embedding of 7 tokens, tied to the output; a layer with matrix and bias, and a frozen one."""
    torch.manual_seed(0)
    embedding = torch.nn.Embedding(7, 4)
    layer = torch.nn.Linear(4, 6)
    frozen = torch.nn.Linear(6, 4).requires_grad_(requires_grad=False)
    output = torch.nn.Linear(4, 7, bias=False)
    output.weight = embedding.weight
    untied = torch.nn.Linear(4, 7, bias=False)
    return torch.nn.ModuleList([embedding, layer, frozen, output, untied])


def set_gradients(model, seed):
    torch.manual_seed(seed)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.randn_like(parameter)


SETTINGS = OptimizerSettings(algorithm="muon", learning_rate=0.01, weight_decay=0.1)


def test_muon_takes_the_matrices_of_layers_alone(model):
    assert [id(weight) for weight in hidden_matrices(model)] == [id(model[1].weight)]


def test_muon_and_adamw_update_their_weights(model):
    """As torch's optimizers alone, with AdamW's scale of updates: 0.2 of the learning rate as root mean square."""
    reference = copy.deepcopy(model)
    optimizer = SETTINGS.build(model)
    muon = torch.optim.Muon(
        [reference[1].weight], lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"
    )
    adamw = SETTINGS.model_copy(update={"algorithm": "adamw"}).build(reference)
    matrices = adamw.param_groups[0]["params"]
    matrices[:] = [weight for weight in matrices if weight is not reference[1].weight]
    for step in range(3):
        for part in (model, reference):
            set_gradients(part, step)
        for part in (optimizer, muon, adamw):
            part.step()
    for weight, expected in zip(model.parameters(), reference.parameters(), strict=True):
        assert torch.equal(weight, expected)
    before = model[1].weight.detach().clone()
    set_gradients(model, 9)
    optimizer.step()
    change = model[1].weight - before * (1 - 0.01 * 0.1)
    assert change.square().mean().sqrt().item() == pytest.approx(0.2 * 0.01, rel=0.35)


def test_one_learning_rate_sets_both(model):
    optimizer = SETTINGS.build(model)
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    before = [weight.detach().clone() for weight in model.parameters()]
    set_gradients(model, 1)
    optimizer.step()
    assert all(map(torch.equal, model.parameters(), before))


def test_a_step_without_finite_gradients_changes_nothing(model):
    optimizer = SETTINGS.build(model)
    set_gradients(model, 1)
    optimizer.step()
    weights = [weight.detach().clone() for weight in model.parameters()]
    momentum = optimizer.state[model[1].weight]["momentum_buffer"].clone()
    model[1].weight.grad[0, 0] = torch.nan
    optimizer.found_inf = torch.ones(())
    optimizer.step()
    assert all(map(torch.equal, model.parameters(), weights))
    assert torch.equal(optimizer.state[model[1].weight]["momentum_buffer"], momentum)
    optimizer.found_inf = torch.zeros(())
    set_gradients(model, 2)
    optimizer.step()
    assert not torch.equal(model[1].weight, weights[1])


def test_a_restored_optimizer_goes_on_bit_for_bit(model, tmp_path):
    optimizer = SETTINGS.build(model)
    set_gradients(model, 1)
    optimizer.step()
    path = checkpoint.save(tmp_path, 1, model, optimizer, {})
    restored = copy.deepcopy(model)
    with torch.no_grad():
        for weight in restored.parameters():
            weight.zero_()
    restored_optimizer = SETTINGS.build(restored)
    checkpoint.load(path, restored, restored_optimizer)
    for seed in (2, 3):
        for part in (model, restored):
            set_gradients(part, seed)
        optimizer.step()
        restored_optimizer.step()
    assert all(map(torch.equal, restored.parameters(), model.parameters()))
    assert set(restored_optimizer.state[restored[1].weight]) == {"momentum_buffer"}
