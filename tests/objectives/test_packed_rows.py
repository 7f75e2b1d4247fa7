"""Packed rows: what they hold, and that a model learns from them as from padded batches."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import torch

from interlace.models.attention import NAME
from interlace.models.build import from_shape, load
from interlace.models.families import SEQUENCE_ENDS
from interlace.models.settings import Shape
from interlace.objectives import Batch
from interlace.objectives.common.packed_rows import PackedRow
from interlace.training.loop import TrainingModel
from interlace.training.mixture import Mixture, MixtureDraw
from little_checkpoints import FURTHER_KINDS, save

OBJECTIVES = ["mlm", "tlm", "weam", "alm", "align_mlm", "dict_mlm"]


@pytest.fixture(scope="module")
def benchmarks():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
        yield importlib.import_module("_random_training"), importlib.import_module("_varlen")


def padded():
    """Three sequences of 4, 3 and 2 tokens; the last one is padded inside."""
    ids = np.array([[5, 11, 12, 6], [5, 13, 6, 1], [5, 1, 6, 1]])
    return Batch(
        {
            "input_ids": ids,
            "attention_mask": (ids != 1).astype(np.int64),
            "token_type_ids": np.array([[2, 2, 3, 3], [2, 2, 2, 0], [2, 0, 3, 0]]),
        },
        at=(np.array([0, 1, 2]), np.array([2, 1, 2])),
        labels=np.array([7, 8, 9]),
        counts={"mlm": 3},
        tokens=9,
        places={"partners": np.array([1, 5, 10, 10])},
    )


def test_a_row_holds_the_sequences_and_filler_of_its_own():
    batch = PackedRow(tokens=32, max_length=16, pad=1, first_position=2).pack(padded())
    assert batch.inputs["input_ids"].tolist() == [
        [5, 11, 12, 6, 5, 13, 6, 5, 6, *[1] * 23],
    ]
    assert batch.inputs["position_ids"].tolist() == [
        [2, 3, 4, 5, 2, 3, 4, 2, 3, *range(2, 18), *range(2, 9)],
    ]
    assert batch.inputs["token_type_ids"][0, :10].tolist() == [2, 2, 3, 3, 2, 2, 2, 2, 3, 0]
    assert batch.inputs[SEQUENCE_ENDS].tolist() == [0, 4, 7, 9, 25, 32, *[32] * 3]
    assert batch.inputs[SEQUENCE_ENDS].dtype == np.int32
    assert [part.tolist() for part in batch.at] == [[0, 0, 0], [2, 5, 8]]
    assert batch.places["partners"].tolist() == [1, 5, 8, 8]
    assert (batch.sequences, batch.tokens) == (3, 9)
    assert "attention_mask" not in batch.inputs


def test_positions_of_a_padded_batch_are_kept():
    batch = padded()
    batch.inputs["position_ids"] = np.array([[0, 1, 0, 1], [0, 1, 2, 0], [0, 0, 7, 0]])
    row = PackedRow(tokens=9, max_length=9, pad=1, first_position=0).pack(batch)
    assert row.inputs["position_ids"].tolist() == [[0, 1, 0, 1, 0, 1, 2, 0, 7]]


def test_a_batch_that_does_not_fit_is_a_longer_row():
    row = PackedRow(tokens=8, max_length=4, pad=1, first_position=0)
    assert row.pack(padded()).inputs["input_ids"].shape == (1, 12)


def test_many_short_sequences_have_few_shapes():
    sizes = set()
    for count in range(1, 17):
        ids = np.full((count, 2), 5)
        batch = Batch({"input_ids": ids}, (ids[:0, 0],) * 2, ids[:0, 0], {}, 2 * count)
        row = PackedRow(tokens=32, max_length=32, pad=1, first_position=0)
        ends = row.pack(batch).inputs[SEQUENCE_ENDS]
        assert ends[: count + 1].tolist() == list(range(0, 2 * count + 1, 2))
        assert ends[-1] == 32
        sizes.add(len(ends) - 1)
    assert sizes == {2, 4, 8, 16}


def gradients(whole, source, batch):
    whole.zero_grad()
    loss, _ = whole(source.objective, batch.to(torch.device("cpu")), batch.counts)
    loss.backward()
    return loss.item(), {
        name: weight.grad.clone()
        for name, weight in whole.named_parameters()
        if weight.grad is not None
    }


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_a_model_learns_from_a_row_as_from_a_padded_batch(benchmarks, family):
    """Loss and gradients are equal, with filler, language ids, local attention and positions that restart."""
    training, varlen = benchmarks
    vocab = training.vocabulary(120)
    shape = Shape(
        family=family,
        layers=2,
        width=16,
        heads=2,
        max_length=64,
        dropout=0,
        attention_dropout=0,
        local_attention=8,
    )
    sources = training.sources_of(OBJECTIVES, vocab, shape, 256, 40)
    row = training.row_of(vocab, shape, 400)
    backbone = from_shape(shape, vocab, seed=3).train()
    backbone.max_packed_length = row.max_length
    learners = {source.objective: source.learner for source in sources}
    whole = TrainingModel(backbone, learners, 0)
    for source in sources:
        batch = Mixture([source], 0).batch(MixtureDraw(1, 0, 2, ()), 0)
        loss, expected = gradients(whole, source, batch)
        packed = row.pack(batch)
        assert packed.inputs["input_ids"].shape == (1, 400)
        with varlen.replaced_varlen():
            packed_loss, found = gradients(whole, source, packed)
        assert packed_loss == pytest.approx(loss, rel=1e-5)
        assert found.keys() == expected.keys()
        for name, gradient in expected.items():
            torch.testing.assert_close(found[name], gradient, rtol=1e-3, atol=1e-6, msg=name)


@pytest.mark.parametrize("objective", ["mlm", "tlm", "weam", "alm"])
def test_rows_are_full(benchmarks, objective):
    """At least 98 % of the tokens are real, and all rows have one shape."""
    training, _ = benchmarks
    vocab = training.vocabulary(2000)
    shape = Shape(family="roberta", layers=1, width=16, heads=2, max_length=128)
    [source] = training.sources_of([objective], vocab, shape, 16_384, 12_000, packed=True)
    row = training.row_of(vocab, shape, 16_384)
    shares = []
    for number in range(8):
        batch = Mixture([source], 0).batch(MixtureDraw(1, 0, number, ()), 0)
        packed = row.pack(batch)
        assert packed.inputs["input_ids"].shape == (1, 16_384)
        assert packed.inputs[SEQUENCE_ENDS].shape == (16_384 // 16 + 1,)
        shares.append(packed.tokens / 16_384)
    assert np.mean(shares) >= 0.98


@pytest.mark.parametrize("kind", FURTHER_KINDS)
def test_further_families_read_a_row_as_its_sequences(benchmarks, kind, tmp_path):
    """Those with an attention of their own are never given one."""
    _, varlen = benchmarks
    backbone = load(save(kind, tmp_path / kind)).eval()
    if backbone.model.config._attn_implementation != NAME:
        assert kind in ("deberta-v2", "rembert")
        return
    backbone.max_packed_length = 8
    ids = torch.from_numpy(np.random.default_rng(0).integers(5, 45, size=(1, 12)))
    first = backbone.traits.first_position
    positions = torch.tensor([[*range(7), *range(5)]]) + first
    ends = torch.tensor([0, 7, 12], dtype=torch.int32)
    packed = {"input_ids": ids, "position_ids": positions, SEQUENCE_ENDS: ends}
    with torch.no_grad(), varlen.replaced_varlen():
        states = backbone.encode(packed)
        apart = [backbone.encode({"input_ids": part}) for part in (ids[:, :7], ids[:, 7:])]
    torch.testing.assert_close(states, torch.cat(apart, dim=1), rtol=1e-4, atol=1e-5)
