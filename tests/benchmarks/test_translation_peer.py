"""Benchmark against Joey NMT: scores of both systems."""

import argparse
import importlib
import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_scores_both_systems(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    benchmark = importlib.import_module("translation_peer")
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
    assert benchmark.mean_sentences(tmp_path / "ours") == 12
    found = benchmark.compare(argparse.Namespace(output=tmp_path, target="de", updates=3))
    assert found["ours"]["bleu"] == pytest.approx(100)
    assert 0 < found["peer"]["bleu"] < 100
    assert found["difference"]["bleu"] == pytest.approx(found["ours"]["bleu"] - found["peer"]["bleu"])
    assert found["difference"]["low"] > 0
    assert (found["ours"]["parameters"], found["peer"]["parameters"], found["test"]) == (7, 8, 40)
