"""Benchmark of decoding: both searches translate alike."""

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
        patch.setattr(
            module,
            "SHAPE",
            Shape(family="bert", layers=1, width=16, heads=2, max_length=64, init_std=0.4),
        )
        yield module


@pytest.fixture(scope="module")
def comparison(decoding, tmp_path_factory):
    """Lines of 3 to 12 words with given lengths of their translations."""
    folder = tmp_path_factory.mktemp("model")
    words = "the old doctor reads three letters in a small house".split()
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(words, size=rng.integers(3, 13))) for _ in range(12)]
    torch.manual_seed(0)
    ours, vocab = decoding.random_model(lines, lines, folder)
    theirs = EncoderDecoderModel.from_pretrained(folder).eval()
    ids = vocab.encode(lines, language="en").ids
    lengths = torch.from_numpy(rng.integers(2, 9, size=len(ids)))

    def made(beam):
        return decoding.Comparison(ours, theirs, vocab, ids, lengths, ("en", "de"), 4, beam)

    return made


@pytest.mark.parametrize("beam", [1, 3])
def test_both_searches_give_the_same_translations(comparison, beam):
    compared, rows = comparison(beam), np.arange(12)
    ours, theirs = compared.interlace(rows), compared.transformers(rows)
    assert (
        [len(row) for row in ours] == [len(row) for row in theirs] == compared.lengths.tolist()
    )
    # scores may tie
    assert sum(one == other for one, other in zip(ours, theirs, strict=True)) >= 11
    assert len({tuple(row[:2]) for row in ours}) > 1  # translations depend on the source


def test_a_step_waits_for_a_gpu_less_often_than_that_of_generate(decoding, monkeypatch, capsys):
    """It looks at the device twice in eight steps. A layer has 19 launches, and one that reorders its cache."""
    launches = {}
    for layers in (1, 2):
        monkeypatch.setattr(
            decoding, "COUNTED", decoding.SHAPE.model_copy(update={"layers": layers})
        )
        decoding.count([2], batch=4)
        ours, theirs, alone = capsys.readouterr().out.splitlines()
        assert ours.startswith("beam 2, interlace: ")
        assert "launches, 0.25 waits a step" in ours
        assert "launches, 2.00 waits a step" in theirs
        launches[layers] = [int(row.split(": ")[1].split()[0]) for row in (ours, theirs, alone)]
    assert launches[2][2] - launches[1][2] == 19
    assert launches[2][0] - launches[1][0] == pytest.approx(20, abs=1)
