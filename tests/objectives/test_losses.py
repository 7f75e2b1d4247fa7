"""Torch building blocks of losses: the split vocabulary head, the identity layer, the frozen encoder."""

from types import SimpleNamespace

import pytest
import torch

from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives.common.losses import FrozenEncoder, identity_layer, split_head

VOCAB = SimpleNamespace(pad=0, begin=1, end=2, mask=3, size=60, separator_ids=(2,))


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_split_head_equals_the_whole(family):
    backbone = from_shape(Shape(family=family, layers=1, width=16, heads=2, max_length=32), VOCAB)
    states = torch.randn(5, 16)
    dense, rest = split_head(backbone)
    torch.testing.assert_close(rest(dense(states)), backbone.logits(states))


def test_frozen_encoder_does_not_change():
    backbone = from_shape(Shape(layers=1, width=16, heads=2, max_length=32, dropout=0.5), VOCAB)
    start = FrozenEncoder(backbone)
    torch.nn.ModuleDict({"start": start}).train()
    inputs = {"input_ids": torch.arange(4, 12)[None]}
    before = start.encode(inputs)
    with torch.no_grad():
        backbone.input_embeddings.mul_(2)
    torch.testing.assert_close(start.encode(inputs), before)
    assert not before.requires_grad
    assert not any(parameter.requires_grad for parameter in start.parameters())
    assert "decoder" not in " ".join(name for name, _ in start.named_parameters())
    states = torch.randn(3, 8)
    torch.testing.assert_close(identity_layer(8)(states), states)
