"""Benchmark of the loss over a vocabulary: every system that can be measured here computes the same sum."""

import importlib
import sys
from pathlib import Path

import pytest


def test_all_systems_have_the_same_loss(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    module = importlib.import_module("vocabulary_loss")
    names = module.systems()
    assert names[:2] == ["chunked", "plain"]
    totals = [module.measure(name, 32, 500, 16)["total"] for name in names]
    assert totals == pytest.approx([totals[0]] * len(names), rel=1e-2 if module.GPU else 1e-5)
    sizes = ["--rows", "32", "--size", "500", "--width", "16", "--rounds", "1", "--plain-rows", "8"]
    monkeypatch.setattr(sys, "argv", ["vocabulary_loss.py", *sizes])
    module.main()
    assert "plain measured with 8 rows" in capsys.readouterr().out
