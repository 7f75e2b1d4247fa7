"""Benchmarks of training on small models: what they measure, and what they print."""

import importlib
import sys
from pathlib import Path

import pytest

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
