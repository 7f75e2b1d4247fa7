"""Torch building blocks of losses: cross-entropy over a vocabulary, the frozen encoder."""

from types import SimpleNamespace
from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional
from torch.nn.functional import cross_entropy

from command_line import run_code
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives.common.losses import FrozenEncoder, linear_cross_entropy
from interlace.objectives.mlm import Mlm

VOCAB = SimpleNamespace(pad=0, begin=1, end=2, mask=3, size=60, separator_ids=(2,))


def losses_and_gradients(loss, states, layer):
    total, parts = loss()
    inputs = [states, *layer.parameters()]
    return (
        total.detach(),
        parts.detach(),
        *torch.autograd.grad(3 * total, [x for x in inputs if x.requires_grad]),
    )


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 2e-2)]
)
@given(
    shape=st.tuples(st.integers(0, 40), st.integers(2, 50)),
    chunk=st.integers(1, 2500),
    scale=st.sampled_from([0.1, 3.0, 100.0]),
    smoothing=st.sampled_from([0.0, 0.1, 0.9]),
    parts=st.tuples(st.booleans(), st.booleans()),
    seed=st.integers(0, 99),
)
def test_chunked_cross_entropy_equals_the_plain_one(
    dtype, tolerance, shape, chunk, scale, smoothing, parts, seed
):
    (rows, size), (bias, frozen) = shape, parts
    torch.manual_seed(seed)
    states, labels = (
        (scale * torch.randn(rows, 16)).requires_grad_(),
        torch.randint(size, (rows,)),
    )
    layer = torch.nn.Linear(16, size, bias=bias)
    layer.weight.requires_grad = not frozen

    def plain():
        logits = layer(states).float()
        total = cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
        return total, cross_entropy(logits, labels, reduction="none")

    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        expected = losses_and_gradients(plain, states, layer)
        with patch("interlace.objectives.common.losses.MAX_LOGITS", chunk):
            ours = losses_and_gradients(
                lambda: linear_cross_entropy(states, layer, labels, smoothing), states, layer
            )
    # of a logit
    rounding = tolerance * max([1.0, *layer(states).detach().abs().flatten().tolist()])
    for one, other in zip(ours, expected, strict=True):
        largest = max([1.0, *other.abs().flatten().tolist()])
        torch.testing.assert_close(one, other, rtol=rounding, atol=rounding * largest)


def test_objectives_hold_no_more_logits_than_the_limit(monkeypatch):
    backbone = from_shape(Shape(layers=1, width=16, heads=2, max_length=32), VOCAB).eval()
    ids = torch.arange(4, 34)[None]
    at = (torch.zeros(30, dtype=torch.long), torch.arange(30))
    batch = SimpleNamespace(inputs={"input_ids": ids}, at=at, labels=ids[0] + 5)
    monkeypatch.setattr("interlace.objectives.common.losses.MAX_LOGITS", 7 * VOCAB.size)
    with patch.object(functional, "log_softmax", wraps=functional.log_softmax) as called:
        Mlm().loss(backbone, torch.nn.ModuleDict(), batch)
    assert [len(call.args[0]) for call in called.mock_calls] == [7, 7, 7, 7, 2]


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


def test_half_precision_keeps_small_probabilities_and_large_sums():
    """In half precision 1/V of a large vocabulary is subnormal, and the gradient of a frequent token overflows."""
    torch.manual_seed(0)
    layer, states = torch.nn.Linear(8, 60_000), (60 * torch.randn(3000, 8)).requires_grad_()
    with torch.no_grad():
        layer.weight.mul_(1e-3)
        states.abs_()
    labels = torch.zeros(3000, dtype=torch.long)
    linear_cross_entropy(states, layer, labels)[0].backward()
    expected = [each.grad.clone() for each in (states, layer.weight, layer.bias)]
    states.grad = None
    layer.zero_grad()
    with torch.autocast("cpu", torch.float16):
        linear_cross_entropy(states, layer, labels)[0].backward()
    assert layer.weight.grad.abs().max() > 70_000
    for found, each in zip(
        (states.grad, layer.weight.grad, layer.bias.grad), expected, strict=True
    ):
        torch.testing.assert_close(
            found, each, rtol=5e-3, atol=1e-4 * float(each.abs().median())
        )


def test_memory_does_not_grow_with_different_numbers_of_predictions_in_bfloat16():
    """On a CPU, copies of the table (51 MB here) in bf16 left gaps in the heap: 350 MB more after 16 updates."""
    work = (
        "import resource, torch\n"
        "from interlace.objectives.common.losses import linear_cross_entropy\n"
        "from interlace.training.device import accelerator_for\n"
        "accelerator = accelerator_for('bf16', threads=1)\n"
        "embedding, inner = torch.nn.Embedding(100_000, 128), torch.nn.Linear(128, 128)\n"
        "layer = torch.nn.Linear(128, 100_000)\n"
        "layer.weight = embedding.weight\n"
        "for rows in (91, 37, 120, 64, 23, 135, 78, 51, 108, 29, 96, 131, 44, 70, 115, 58):\n"
        "    labels = torch.randint(100_000, (rows,))\n"
        "    with accelerator.autocast():\n"
        "        linear_cross_entropy(inner(embedding(labels)), layer, labels)[0].backward()\n"
        "    layer.zero_grad()\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)\n"
    )
    peaks = [int(peak) for peak in run_code(work).stdout.split()]
    assert peaks[-1] - peaks[0] < 200, peaks
