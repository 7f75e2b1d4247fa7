"""The comparison with `generate` is of the same work: the same model, ends, caps and translations."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import EncoderDecoderModel

from interlace.models.settings import Shape

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def decoding():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        module = importlib.import_module("decoding")
        patch.setattr(module, "SHAPE", Shape(family="bert", layers=1, width=16, heads=2, max_length=64, init_std=0.4))
        yield module


@pytest.fixture(scope="module")
def sides(decoding, tmp_path_factory):
    """Lines of 3 to 12 words, and the lengths at which both sides end."""
    folder = tmp_path_factory.mktemp("model")
    words = "the old doctor reads three letters in a small house".split()
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(words, size=rng.integers(3, 13))) for _ in range(12)]
    torch.manual_seed(0)
    ours, vocab = decoding.made(lines, lines, folder)
    theirs = EncoderDecoderModel.from_pretrained(folder).eval()
    ids = vocab.encode(lines, language="en").ids
    lengths = torch.from_numpy(rng.integers(2, 9, size=len(ids)))

    def made(beam, *, forced=True):
        ends = lengths if forced else None
        return decoding.Sides(ours, theirs, vocab, ids, ends, ("en", "de"), 4, beam, full=False)

    return made


@pytest.mark.parametrize("beam", [1, 3])
def test_both_decoders_generate_the_same(sides, beam):
    compared, rows = sides(beam), np.arange(12)
    mine, theirs = compared.mine(rows), compared.generated(rows)
    assert [len(row) for row in mine] == [len(row) for row in theirs] == compared.lengths.tolist()
    assert sum(one == other for one, other in zip(mine, theirs, strict=True)) >= 11  # but for equal scores
    assert len({tuple(row[:2]) for row in mine}) > 1  # what is said hangs on what is read


def test_ratios_of_alternating_runs(decoding, sides, capsys):
    """A clock that counts calls: each piece of work takes one tick."""
    ticks = iter(range(100))
    options = argparse.Namespace(rounds=4, lines=6, batch=4, verbose=False)
    decoding.measure(sides(1), options, lambda: float(next(ticks)))
    said = capsys.readouterr().out
    assert "beam 1:" in said
    assert "1.00 (least 1.00, most 1.00)" in said
    assert next(ticks) == 16  # two works a turn, a beginning and an end each
    assert "of 24 translations the same" in said
