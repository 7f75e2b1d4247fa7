"""Benchmarks of training and of translation on small models: what they measure, and what they print."""

import argparse
import importlib
import json
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
    sizes = ["--rows", "32", "--size", "500", "--width", "16", "--rounds", "1", "--plain-rows", "8"]
    monkeypatch.setattr(sys, "argv", ["vocabulary_loss.py", *sizes])
    module.main()
    assert "plain measured with 8 rows" in capsys.readouterr().out


@pytest.mark.parametrize("size", [500, 30_000])
def test_draws_tokens_of_the_given_vocabulary_size(load_benchmark, size, monkeypatch, capsys):
    module = load_benchmark("weam_update")
    monkeypatch.setattr(module, "SHAPE", Shape(layers=1, width=16, heads=2, max_length=128))
    monkeypatch.setattr(module, "ROWS", 2)
    monkeypatch.setattr(sys, "argv", ["weam_update.py", "--size", str(size), "--rounds", "1"])
    module.main()
    shown = capsys.readouterr().out
    assert f"vocabulary {size}, " in shown
    assert "expected ratio of weam: " in shown


def test_scores_translations_of_both_systems(load_benchmark, tmp_path):
    peer = load_benchmark("translation_peer")
    (tmp_path / "data").mkdir()
    (tmp_path / "ours").mkdir()
    references = [f"ein Hund rennt durch den Schnee {number}" for number in range(40)]
    for name, lines in {
        "data/test.de": references,
        "ours.translated": references,
        "peer.translated": [line.replace("Schnee", "Regen") for line in references],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    steps = [{"kind": "step", "rows": rows} for rows in (10, 13)] + [{"kind": "evaluation"}]
    (tmp_path / "ours/metrics.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    (tmp_path / "ours/run.json").write_text('{"parameters": 7}')
    (tmp_path / "peer.json").write_text('{"parameters": 8}')
    assert peer.mean_sentences(tmp_path / "ours") == 12
    found = peer.compare(argparse.Namespace(output=tmp_path, target="de", updates=3))
    assert found["ours"]["bleu"] == pytest.approx(100)
    assert 0 < found["peer"]["bleu"] < 100
    assert found["difference"]["bleu"] == pytest.approx(
        found["ours"]["bleu"] - found["peer"]["bleu"]
    )
    assert found["difference"]["low"] > 0
    assert (found["ours"]["parameters"], found["peer"]["parameters"], found["test"]) == (7, 8, 40)
