"""How a peer is trained in segments and translates; here it is a few lines that do as Joey NMT 2.3.0 with its files."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_both_are_scored_on_the_same_sentences(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    benchmark = importlib.import_module("translation_peer")
    (tmp_path / "data").mkdir()
    (tmp_path / "ours").mkdir()
    right = [f"ein Hund rennt durch den Schnee {number}" for number in range(40)]
    for name, lines in {
        "data/test.de": right,
        "ours.translated": right,
        "peer.translated": [line.replace("Schnee", "Regen") for line in right],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    steps = [{"kind": "step", "rows": rows} for rows in (10, 13)] + [{"kind": "evaluation"}]
    (tmp_path / "ours/metrics.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    (tmp_path / "ours/run.json").write_text('{"parameters": 7}')
    (tmp_path / "peer.json").write_text('{"parameters": 8}')
    assert benchmark.rows_an_update(tmp_path / "ours") == 12
    found = benchmark.compare(argparse.Namespace(into=tmp_path, target="de", updates=3))
    assert found["ours"]["bleu"] == pytest.approx(100)
    assert 0 < found["peer"]["bleu"] < 100
    assert found["difference"]["bleu"] == pytest.approx(found["ours"]["bleu"] - found["peer"]["bleu"])
    assert found["difference"]["low"] > 0
    assert (found["ours"]["parameters"], found["peer"]["parameters"], found["test"]) == (7, 8, 40)
