"""Weights cast together train as under autocast, bit for bit, in fewer operations."""

from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from interlace.models.blocks import wrap_blocks
from interlace.models.build import load
from little_checkpoints import FURTHER_KINDS, KINDS, save

IDS = torch.arange(5, 29).reshape(2, 12)


class Operations(TorchDispatchMode):
    """Counts casts of single tensors, and operations over lists."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        self.counts[operation.name().partition(".")[0]] += 1
        return operation(*arguments, **(options or {}))


def learn(backbone, dtype=torch.bfloat16):
    """Return the loss, the gradients and the operations of a batch, with dropout."""
    torch.manual_seed(3)
    backbone.train()
    backbone.zero_grad()
    with Operations() as operations, torch.autocast("cpu", dtype):
        loss = backbone.encode({"input_ids": IDS}).float().square().sum()
        loss.backward()
    weights = dict(backbone.named_parameters())
    return loss.detach(), {name: weight.grad for name, weight in weights.items()}, operations


def learn_with_autocast(monkeypatch, *arguments):
    """As `learn`, with autocast's own casts, which several processes have."""
    with monkeypatch.context() as patch:
        patch.setattr(torch.distributed, "is_initialized", lambda: True)
        return learn(*arguments)


@pytest.mark.parametrize("kind", [*KINDS, *FURTHER_KINDS])
def test_training_equals_that_with_autocasts_casts(kind, tmp_path, monkeypatch):
    backbone = load(str(save(kind, tmp_path / kind)))
    layers = [
        layer
        for layer in backbone.model.base_model.modules()
        if isinstance(layer, torch.nn.Linear)
    ]
    frozen = layers[0].weight
    frozen.requires_grad_(False)
    expected_loss, expected, plain = learn_with_autocast(monkeypatch, backbone)
    loss, gradients, operations = learn(backbone)
    assert torch.equal(loss, expected_loss)
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        if expected[name] is None:
            assert gradient is None, name
        else:
            assert torch.equal(gradient, expected[name]), name
    assert frozen.grad is None
    assert operations.counts["aten::_foreach_copy_"] == 2
    assert plain.counts["aten::_foreach_copy_"] == 0
    casts = plain.counts["aten::_to_copy"] - operations.counts["aten::_to_copy"]
    weights = [weight for layer in layers for weight in layer.parameters()]
    assert casts == 2 * sum(weight.grad is not None for weight in weights)  # both ways


def test_fp16_and_recomputed_layers_equal_autocast(tmp_path, monkeypatch):
    backbone = load(str(save("xlm-r", tmp_path / "model")))
    wrap_blocks(backbone, checkpointing=True, compiled=False)
    for dtype in (torch.bfloat16, torch.float16):
        expected_loss, expected, _ = learn_with_autocast(monkeypatch, backbone, dtype)
        loss, gradients, _ = learn(backbone, dtype)
        assert torch.equal(loss, expected_loss)
        torch.testing.assert_close(gradients, expected, rtol=0, atol=0)


def test_torch_may_be_built_without_distributed(tmp_path, monkeypatch):
    backbone = load(str(save("xlm-r", tmp_path / "model")))
    monkeypatch.setattr(torch.distributed, "is_available", lambda: False)
    monkeypatch.delattr(torch.distributed, "is_initialized")
    _, _, operations = learn(backbone)
    assert operations.counts["aten::_foreach_copy_"] == 2


def test_nothing_is_cast_where_nothing_is_learnt(tmp_path):
    backbone = load(str(save("xlm-r", tmp_path / "model")))
    with Operations() as operations, torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        backbone.encode({"input_ids": IDS})
    with Operations() as of_float32:
        backbone.train()
        backbone.encode({"input_ids": IDS})
    assert operations.counts["aten::_foreach_copy_"] == 0
    assert of_float32.counts["aten::_foreach_copy_"] == 0


def test_a_model_without_trained_layers_is_left_to_autocast(tmp_path):
    backbone = load(str(save("xlm-r", tmp_path / "model")))
    for layer in backbone.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.requires_grad_(False)
    _, gradients, operations = learn(backbone)
    assert operations.counts["aten::_foreach_copy_"] == 0
    assert gradients["model.roberta.embeddings.position_embeddings.weight"] is not None
