import json
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from interlace.models import attention as attention_module
from interlace.models.attention import Dropout, apply_dropout, attention, encoder_attention
from interlace.models.backbone import Backbone
from interlace.models.blocks import blocks_of
from interlace.models.build import from_shape, load
from interlace.models.families import SEQUENCE_ENDS
from interlace.models.settings import Shape

TRAINING = SimpleNamespace(training=True, is_causal=False)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (1e-6, 1.0), (1.0, 0.0)])
def test_dropout_of_none_or_all(share, expected):
    assert torch.equal(apply_dropout(torch.ones(9), share), torch.full((9,), expected))


def parts(length=6):
    torch.manual_seed(2)
    return tuple(torch.randn(2, 3, length, 4) for _ in range(3))


def seen(lengths, length=6):
    keys = torch.arange(length) < torch.tensor(lengths)[:, None]
    return keys[:, None, None, :].expand(-1, 1, length, -1)


@pytest.mark.parametrize(("mask", "scaling"), [(None, None), (seen((6, 3)), 0.3)])
def test_attention_without_dropout_equals_torch(mask, scaling):
    query, key, value = parts()
    ours, _ = attention(TRAINING, query, key, value, mask, scaling=scaling)
    theirs = functional.scaled_dot_product_attention(query, key, value, mask, scale=scaling)
    torch.testing.assert_close(ours, theirs.transpose(1, 2))


def test_rows_without_visible_keys_stay_finite():
    query, key, value = parts()
    mask = seen((6, 3)).clone()
    mask[1, :, 4:] = False
    out, _ = attention(TRAINING, query, key, value, mask)
    assert out.isfinite().all()


def test_attention_drops_whole_weights_and_keeps_the_mean():
    query, key, value = parts()
    mask = seen((6, 3))
    torch.manual_seed(7)
    many = torch.stack(
        [attention(TRAINING, query, key, value, mask, dropout=0.2)[0] for _ in range(3000)]
    )
    plain, _ = attention(TRAINING, query, key, value, mask)
    assert many.std(dim=0).min() > 0.01
    torch.testing.assert_close(many.mean(dim=0), plain, atol=0.08, rtol=0)


def gradients(family, vocab, kernel, ids, width=8):
    shape = Shape(
        family=family,
        layers=2,
        width=width,
        heads=2,
        max_length=16,
        dropout=0,
        attention_dropout=0,
        local_attention=4,
    )
    inputs = {"input_ids": ids, "attention_mask": (ids != vocab.pad).long()}
    backbone = from_shape(shape, vocab, seed=1).train().to(ids.device)
    backbone.model.set_attn_implementation(kernel)
    backbone.logits(backbone.encode(inputs)[ids != vocab.pad]).square().sum().backward()
    return {name: p.grad for name, p in backbone.named_parameters() if p.grad is not None}


@pytest.fixture
def padded(vocab):
    torch.manual_seed(5)
    ids = torch.randint(3, 40, (3, 12))
    ids[1, 5:] = ids[2, 1:] = vocab.pad
    return ids


def close(one, other):
    torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_a_model_learns_the_same_with_either_kernel(family, vocab, padded):
    """Without dropout, gradients of the quick kernels equal those of eager attention, padding and windows included."""
    close(*(gradients(family, vocab, kernel, padded) for kernel in ("interlace", "eager")))


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
@pytest.mark.parametrize("compiled", [False, True])
def test_packed_sequences_learn_the_same(family, vocab, padded, monkeypatch, compiled):
    """The stand-in for torch's kernel leaves what is in no sequence undefined, and its gradients too."""
    calls = []

    def varlen(query, key, value, ends, *others, scale, window_size):
        assert others == (ends, *([16 if compiled else 12] * 2))
        assert ends.tolist() == [0, 12, 17, 18]
        calls.append(window_size)
        found = []
        for start, end in pairwise(ends.tolist()):
            apart = (torch.arange(end - start)[:, None] - torch.arange(end - start)).abs()
            mask = apart <= window_size[1] if window_size[1] >= 0 else None
            parts = (each[start:end].transpose(0, 1) for each in (query, key, value))
            found.append(
                functional.scaled_dot_product_attention(*parts, mask, scale=scale).transpose(
                    0, 1
                )
            )
        return torch.cat([*found, (query + key + value)[end:] * torch.nan])

    expected = gradients(family, vocab, "interlace", padded)
    monkeypatch.setattr(attention_module, "has_varlen", lambda _: True)
    monkeypatch.setattr(attention_module, "varlen_attn", varlen)
    if compiled:  # lengths are rounded up
        monkeypatch.setattr(Backbone, "length_multiple", 16)
    close(gradients(family, vocab, "interlace", padded), expected)
    assert calls == ([(-1, -1), (2, 2)] if family == "modernbert" else [(-1, -1)] * 2)


class FlashAttention(TorchDispatchMode):
    """Records the arguments of torch's kernel."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        options = options or {}
        if operation is torch.ops.aten._flash_attention_forward.default:
            self.calls.append((arguments[3:10], options))
        return operation(*arguments, **options)


@pytest.mark.parametrize("family", ["roberta", "modernbert"])
def test_a_packed_row_passes_attention_dropout_to_torchs_kernel(family, vocab):
    """On tensors without data: the kernel takes these arguments, and gives the projections a gradient."""
    shape = Shape(
        family=family,
        layers=2,
        width=16,
        heads=2,
        max_length=8,
        attention_dropout=0.25,
        local_attention=4,
    )
    with torch.device("meta"):
        backbone = from_shape(shape, vocab).train()
        row = torch.empty(1, 12, dtype=torch.long)
        ends = torch.empty(4, dtype=torch.int32)
    backbone.max_packed_length = 6
    with FlashAttention() as kernel:
        inputs = {"input_ids": row, "position_ids": row, SEQUENCE_ENDS: ends}
        backbone.encode(inputs).sum().backward()
    windows = []
    for (first_ends, second_ends, *others), options in kernel.calls:
        assert first_ends is second_ends is ends
        assert others == [6, 6, 0.25, False, False]
        assert options["scale"] == pytest.approx(8**-0.5)
        windows.append((options["window_size_left"], options["window_size_right"]))
    assert windows == ([(-1, -1), (2, 2)] if family == "modernbert" else [(-1, -1)] * 2)
    layers = list(blocks_of(backbone.model.base_model))
    for name, weight in layers[0].named_parameters():
        assert weight.grad is not None, name


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_packed_attention_on_a_gpu_drops_whole_weights_and_keeps_the_mean():
    """Values are unit vectors, so that outputs are the weights."""
    torch.manual_seed(2)
    ends = torch.tensor([0, 5, 8, 8], dtype=torch.int32, device="cuda")
    query, key = torch.randn(2, 1, 1, 8, 8, dtype=torch.bfloat16, device="cuda")
    value = torch.eye(8, dtype=torch.bfloat16, device="cuda")[None, None]
    options = {SEQUENCE_ENDS: ends, "max_length_q": 5, "scaling": 1.0}
    plain = encoder_attention(TRAINING, query, key, value, None, **options)[0][0, :, 0].float()
    dropped = []
    for _ in range(2000):
        states, _ = encoder_attention(
            TRAINING, query, key, value, None, dropout=0.25, **options
        )
        dropped.append(states[0, :, 0].float())
    weights = torch.stack(dropped)
    kept = weights != 0
    torch.testing.assert_close(weights, kept * plain / 0.75, rtol=0.02, atol=0.01)
    is_visible = plain > 0
    assert is_visible.sum() == 5 * 5 + 3 * 3
    share = kept.float().mean(dim=0)[is_visible]
    torch.testing.assert_close(share, torch.full_like(share, 0.75), rtol=0, atol=0.06)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_the_kernel_of_a_gpu_learns_as_sdpa(family, vocab, padded, monkeypatch):
    found = []
    for packed in (True, False):
        if not packed:
            monkeypatch.setattr(attention_module, "has_varlen", lambda _: False)
        with torch.autocast("cuda", torch.bfloat16):
            found.append(gradients(family, vocab, "interlace", padded.cuda(), width=128))
    for name, gradient in found[0].items():
        apart = (gradient - found[1][name]).norm() / found[1][name].norm().clamp(min=1e-6)
        assert apart < 0.05, name


def test_the_kernels_name_stays_out_of_the_checkpoint(vocab, tmp_path):
    backbone = from_shape(Shape(layers=1, width=8, heads=2, max_length=16), vocab)
    folder = backbone.save_pretrained(tmp_path / "model", vocab)
    assert backbone.model.config._attn_implementation == "interlace"
    assert "interlace" not in json.dumps(json.loads((folder / "config.json").read_text()))
    assert {
        type(module)
        for module in load(folder).modules()
        if isinstance(module, torch.nn.Dropout)
    } == {Dropout}
