"""How a peer is trained in segments and translates; here it is a few lines that do as Joey NMT 2.3.0 with its files."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

import pytest
import yaml

from interlace.data.vocab import Vocab

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
LINES = {"en": ["a dog runs", "two men sit", "a boat"], "de": ["ein Hund rennt", "zwei Männer sitzen", "ein Boot"]}
FAKE = """
import json, sys, time
from pathlib import Path
import yaml

PERPLEXITIES = {2: 9.0, 4: 5.0, 6: 7.0, 8: 6.0, 10: 8.0}  # of the development set, at 4 the lowest
mode, config = sys.argv[1], yaml.safe_load(Path(sys.argv[2]).read_text())
training = config["training"]
if mode == "test":
    out = Path(sys.argv[sys.argv.index("--output-path") + 1])
    stem = json.loads(Path(config["testing"]["load_model"]).read_text())["step"]
    lines = Path(config["data"]["test"] + ".de").read_text().splitlines()
    Path(f"{out}.test").write_text("".join(f"{line}\\n" for line in lines))
    Path(f"{out}.step").write_text(str(stem))
    sys.exit()
folder = Path(config["model_dir"])
folder.mkdir()
(folder / "train.log").write_text("2026 - INFO - joeynmt.model - Total params: 1234\\n")
state = {"step": 0, "best": 1e9}
if "load_model" in training:
    state = json.loads(Path(training["load_model"]).read_text())

def save(*links):
    path = folder / f"{state['step']}.ckpt"
    path.write_text(json.dumps(state))
    for link in links:
        (folder / link).unlink(missing_ok=True)
        (folder / link).symlink_to(path.name)

pause = float(Path("pause").read_text())
try:
    while state["step"] < training["updates"]:
        state["step"] += 1
        if state["step"] % 2 == 0:
            found = PERPLEXITIES[state["step"]]
            if found < state["best"]:
                state["best"] = found
                save("latest.ckpt", "best.ckpt")
        if state["step"] == 7:
            Path("at-seven").write_text("")
            time.sleep(pause)
except KeyboardInterrupt:
    pass
finally:
    save("latest.ckpt")
"""


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({name: lines * 10 for name, lines in LINES.items()}, size=300)


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("_joey")


@pytest.fixture
def peer(module, tmp_path, vocab):
    (tmp_path / "joeynmt.py").write_text(FAKE)
    (tmp_path / "pause").write_text("0")
    made = module.Peer(sys.executable, tmp_path, ("en", "de"))
    made.write_vocab(vocab)
    for split in ("train", "dev", "test"):
        made.write_data(split, [LINES["en"], LINES["de"]], vocab)
    return made


def train(peer, seconds=60.0):
    return peer.train(10, 4, 1e-3, 2, seconds)


def test_it_trains_to_the_end_and_translates_by_the_lowest_perplexity(peer, vocab):
    assert train(peer) == 10
    assert train(peer) == 10  # nothing is left to do
    assert len(list(peer.into.glob("segment-*"))) == 1
    assert peer.translate("test", vocab, 10, 4, 60.0) == LINES["de"]
    assert (peer.into / "translated.step").read_text() == "4"
    assert peer.parameters() == 1234


def test_when_time_is_up_it_goes_on_from_where_it_stood(peer, module, vocab):
    """The second segment is worse than the first at its best, which stays the one that is taken."""
    (peer.into / "pause").write_text("600")
    done = 0
    while not (peer.into / "at-seven").exists():  # on a slow machine a first try may end before it
        done = train(peer, 5.0)
    assert done == 7  # where it stood, and not where its perplexity last fell
    (peer.into / "pause").write_text("0")
    assert train(peer) == 10
    last = max(peer.into.glob("segment-*"))
    assert not (last / "best.ckpt").exists()
    assert peer.translate("test", vocab, 10, 4, 60.0) == LINES["de"]
    assert (peer.into / "translated.step").read_text() == "4"


def test_small_numbers_are_numbers_to_its_reader(peer):
    """PyYAML takes 1e-09 for a word."""
    path = peer._keep({"rates": [1e-9, 5e-05, 1.5e-7, 0.001, 98, 1e-10]}, "config.yaml")
    found = yaml.safe_load(path.read_text())
    assert found["rates"] == [1e-9, 5e-05, 1.5e-7, 0.001, 98, 1e-10]
    assert all(isinstance(number, float | int) for number in found["rates"])
    config = yaml.safe_load(peer._keep(peer._config(peer.into / "s", 10, 4, 5e-5, 2), "train.yaml").read_text())
    assert config["training"]["learning_rate_min"] == 1e-9
    assert config["training"]["learning_rate"] == 5e-5


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
