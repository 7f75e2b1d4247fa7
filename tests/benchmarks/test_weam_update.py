"""Benchmark of `weam` updates: token ids of any vocabulary size."""

import importlib
import sys
from pathlib import Path

import pytest

from interlace.models.settings import Shape


@pytest.mark.parametrize("size", [500, 30_000])
def test_draws_tokens_of_the_given_vocabulary_size(size, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    module = importlib.import_module("weam_update")
    monkeypatch.setattr(module, "SHAPE", Shape(layers=1, width=16, heads=2, max_length=128))
    monkeypatch.setattr(module, "ROWS", 2)
    monkeypatch.setattr(sys, "argv", ["weam_update.py", "--size", str(size), "--rounds", "1"])
    module.main()
    shown = capsys.readouterr().out
    assert f"vocabulary {size}, " in shown
    assert "expected ratio of weam: " in shown
