"""When batches are packed rows, and a run that trains on such."""

import importlib
import logging
from pathlib import Path
from unittest.mock import patch

import pytest
import torch

from interlace.data.vocab import Vocab
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.models import blocks
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives.clm import Clm
from interlace.objectives.mlm import Mlm
from interlace.objectives.tlm import Tlm
from interlace.training import packing
from run_records import records
from toy_settings import TOY, under

OBJECTIVES = [Mlm(max_length=24), Tlm(max_length=32), Clm(max_length=64)]


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["the old doctor reads three letters"] * 3}, size=270)


@pytest.fixture
def capable(monkeypatch):
    """A device with variable-length attention."""
    monkeypatch.setattr(packing, "runs_varlen", lambda dtype, size: True)


def row_of(vocab, objectives=OBJECTIVES, **shape):
    options = {"layers": 1, "width": 16, "heads": 2, "max_length": 64, "attention_dropout": 0.0}
    backbone = from_shape(Shape(**options | shape), vocab)
    with patch.object(torch.cuda, "is_available", lambda: True):
        return packing.packed_row(backbone, vocab, objectives, 4096, "bf16"), backbone


@pytest.mark.usefixtures("capable")
def test_a_row_has_the_longest_sequences_of_packing_objectives(vocab):
    row, backbone = row_of(vocab, family="roberta")
    first_position = backbone.traits.first_position
    assert first_position == vocab.pad + 1
    assert row == packing.PackedRow(4096, 32, vocab.pad, first_position)
    assert backbone.max_packed_length == 32


@pytest.mark.usefixtures("capable")
def test_models_with_attention_dropout_are_packed(vocab):
    assert row_of(vocab, attention_dropout=0.25)[0] == row_of(vocab)[0]


@pytest.mark.usefixtures("capable")
def test_nothing_is_packed_without_an_objective_that_packs(vocab, caplog):
    row, backbone = row_of(vocab, OBJECTIVES[2:])
    assert (row, backbone.max_packed_length, caplog.records) == (None, 0, [])


def test_the_log_says_why_batches_are_padded(vocab, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(packing, "runs_varlen", lambda dtype, size: False)
    assert row_of(vocab)[0] is None
    assert "padded, because variable-length attention does not run in bf16 on" in caplog.text


def test_a_processor_pads_without_a_word(vocab, caplog):
    caplog.set_level(logging.INFO)
    backbone = from_shape(Shape(layers=1, width=16, heads=2, attention_dropout=0.0), vocab)
    assert packing.packed_row(backbone, vocab, OBJECTIVES, 4096, "bf16") is None
    assert not caplog.records


@pytest.mark.usefixtures("capable")
def test_a_run_on_packed_rows(monkeypatch, tmp_path, caplog):
    """Sentences and pairs share the row and one compiled encoder; updates count sequences and real tokens."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(blocks, "COMPILER", "eager")  # traces without minutes of a C++ compiler
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    varlen = importlib.import_module("_varlen")
    changes = TOY | {"vocab.size": "400", "objectives.tlm.weight": "1"}
    changes |= under(
        "model.shape", layers="1", width="16", heads="2", attention_dropout="0", dropout="0"
    )
    train = {
        "tokens_per_update": "512",
        "threads": "1",
        "precision": '"no"',
        "steps": "12",
        "compile": "true",
    }
    with varlen.replaced_varlen():
        pretrain(read_recipe("tiny/mlm-tlm", changes | under("train", **train)), tmp_path)
    assert "compiling the encoder as one graph (train.compile)" in caplog.text
    assert caplog.text.count("compiled the encoder in ") == 1
    steps = records(tmp_path, "step")
    assert {step["objective"] for step in steps} == {"mlm", "tlm"}
    for step in steps:
        assert 0.9 * 512 <= step["tokens"] <= 512
        assert step["rows"] > 1
        assert 0 < sum(step["losses"].values()) < 10
