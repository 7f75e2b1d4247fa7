"""Benchmarks of training on small models: what they measure, and what they print."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from interlace.experiments.mining import MinedPairs
from interlace.models.settings import Shape


@pytest.fixture
def load_benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module


def test_all_systems_have_the_same_loss(load_benchmark, monkeypatch, capsys):
    module = load_benchmark("vocabulary_loss")
    names = module.systems()
    assert names[:2] == ["chunked", "plain"]
    totals = [module.measure(name, 32, 500, 16)["total"] for name in names]
    assert totals == pytest.approx([totals[0]] * len(names), rel=1e-2 if module.GPU else 1e-5)
    sizes = [
        "--rows",
        "32",
        "--size",
        "500",
        "--width",
        "16",
        "--rounds",
        "1",
        "--plain-rows",
        "8",
    ]
    monkeypatch.setattr(sys, "argv", ["vocabulary_loss.py", *sizes])
    module.main()
    assert "plain measured with 8 rows" in capsys.readouterr().out


def test_draws_tokens_of_the_given_vocabulary_size(load_benchmark, monkeypatch, capsys):
    module = load_benchmark("weam_update")
    monkeypatch.setattr(module, "SHAPE", Shape(layers=1, width=16, heads=2, max_length=128))
    monkeypatch.setattr(module, "ROWS", 2)
    monkeypatch.setattr(sys, "argv", ["weam_update.py", "--size", "500", "--rounds", "1"])
    module.main()
    shown = capsys.readouterr().out
    assert "vocabulary 500, " in shown
    assert "expected ratio of weam: " in shown


def test_f1_of_mined_pairs_by_threshold(load_benchmark):
    """Of two gold pairs, the first and the third mined pair are correct."""
    module = load_benchmark("bitext_mining")
    numbers = np.arange(3)
    mined = MinedPairs(numbers, numbers, np.array([3.0, 2.0, 1.0]))
    scores, f1 = module.f1_by_threshold(mined, [True, False, True], 2)
    assert f1 == pytest.approx([200 / 3, 50, 80])
    at = [module.f1_at(scores, f1, threshold) for threshold in (4, 3, 1.5, 0)]
    assert at == pytest.approx([0, 200 / 3, 50, 80])
