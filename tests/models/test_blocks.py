"""Recomputed and compiled layers give the gradients of plain ones; weights keep their names."""

from types import SimpleNamespace

import pytest
import torch

from interlace.data.layout import sentence_layout
from interlace.data.vocab import Vocab
from interlace.models import blocks
from interlace.models.build import build_model, from_shape, load
from interlace.models.settings import DecoderSettings, ModelSettings, Shape
from little_checkpoints import KINDS, save

LINES = ["the old doctor reads three letters", "a cat"]


def gradients(backbone, vocab, train=True):
    """Loss and gradients of a batch with padding, with dropout."""
    rows = sentence_layout(vocab.encode(LINES), vocab, 32)
    ids, real = torch.from_numpy(rows.ids), torch.from_numpy(rows.real).long()
    torch.manual_seed(3)
    backbone.train(train)
    states = backbone.encode({"input_ids": ids, "attention_mask": real})
    if hasattr(backbone, "decode"):
        states = backbone.decode(states, real, {"input_ids": ids})
    logits = backbone.logits(states[:, :-1].flatten(0, 1))
    loss = torch.nn.functional.cross_entropy(logits, ids[:, 1:].flatten())
    backbone.zero_grad()
    loss.backward()
    weights = dict(backbone.named_parameters())
    found = {name: each.grad.clone() for name, each in weights.items() if each.grad is not None}
    return loss.detach(), found


@pytest.fixture
def model(request, tmp_path):
    kind = "mbert" if request.param == "seq2seq" else request.param
    folder = str(save(kind, tmp_path / kind))
    vocab = Vocab.load(folder)
    if request.param != "seq2seq":
        return load(folder), vocab
    vocab = vocab.with_target_languages(["en", "de"])
    settings = ModelSettings(start=folder, decoder=DecoderSettings())
    return build_model(settings, vocab, ("en", "de"), 3, seq2seq=True), vocab


def check(backbone, vocab, **how):
    names = list(backbone.state_dict())
    plain, _ = gradients(backbone, vocab, train=False)
    expected_loss, expected = gradients(backbone, vocab)
    blocks.wrap_blocks(backbone, **how)
    loss, found = gradients(backbone, vocab)
    torch.testing.assert_close(loss, expected_loss)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    assert list(backbone.state_dict()) == names
    torch.testing.assert_close(gradients(backbone, vocab, train=False)[0], plain)


@pytest.mark.parametrize("model", [*KINDS, "seq2seq"], indirect=True)
def test_recomputed_layers_learn_the_same(model):
    backbone, vocab = model
    calls = []
    parts = [backbone.model.base_model]
    if hasattr(backbone, "decoder"):
        parts.append(backbone.decoder.model.base_model)
    for part in parts:
        block = next(iter(blocks.blocks_of(part)))
        linear = next(each for each in block.modules() if isinstance(each, torch.nn.Linear))
        linear.register_forward_hook(lambda *_: calls.append(0))
    check(backbone, vocab, checkpointing=True, compiled=False)
    assert len(calls) == 5 * len(parts)  # in four forward passes and one backward pass


@pytest.mark.slow
@pytest.mark.parametrize("model", ["xlm-r", "seq2seq"], indirect=True)
def test_compiled_layers_learn_the_same(model, monkeypatch):
    # traces the layers without minutes of a C++ compiler
    monkeypatch.setattr(blocks, "COMPILER", "eager")
    check(*model, checkpointing=True, compiled=True)


@pytest.mark.parametrize(
    ("width", "tokens", "waits"),
    [(384, 16_384, True), (768, 32_768, True), (768, 65_536, False), (1024, 32_768, False)],
)
def test_small_updates_wait_for_launches(width, tokens, waits):
    """12 layers compute for 5, 42, 84 and 74 ms, and are launched in 64."""
    vocab = SimpleNamespace(size=60, pad=0, begin=1, end=2)
    shape = Shape(layers=12, width=width, heads=4)
    with torch.device("meta"):
        backbone = from_shape(shape, vocab)
    assert blocks.waits_for_launches(backbone, tokens) is waits
