"""Claim: from random weights, our small translation model beats Joey NMT's of the same size after as many updates.

    INTERLACE_DATA=FOLDER python benchmarks/translation_peer.py --peer-python PYTHON --output DIR --minutes 60
        [--updates 2000] [--target de] [--rows 29000] [--test 1000] [--rate 1e-3] [--peer-rate 1e-3] [--threads 1]

PYTHON has `joeynmt` 2.3.0, `importlib_metadata` and torch: an environment of its own, for example

    python -m venv joey && joey/bin/pip install joeynmt==2.3.0 importlib_metadata torch

Captions of Multi30k from English into one language. Both models have 3 and 3 layers of width 256, the same subwords,
one table of them for both sides and the output, dropout and label smoothing of 0.1, and the same number of updates, of
as many sentences on the mean. Adam, the warm-up and the clipping are the same; the peer's rate then falls by the root
of the steps, its own schedule for Transformers, and ours linearly, the default here. Both translate by a beam of 5 and
are scored by the same sacreBLEU; intervals are of a bootstrap over sentences. The peer takes its checkpoint of the
lowest development perplexity, ours its last.

The work stops after so many minutes; the same command goes on where it was. In the end DIR/scores.json has the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from _joey import Peer, ended, left
from _where import where

from interlace.core.randomness import Purpose, generator
from interlace.data.vocab import Vocab
from interlace.scores.examples import Examples, bootstrap, identity_of, paired_bootstrap
from interlace.tasks.common.translation import TextMetric, bleu, chrf
from interlace.text.lines import read_lines, write_lines

FILES = {"train": "train", "dev": "val", "test": "test_2016_flickr"}
WARMUP = 400


def write_slice(root: Path, into: Path, target: str, rows: int, test: int) -> None:
    """The captions that both read."""
    into.mkdir(parents=True, exist_ok=True)
    for split, name in FILES.items():
        count = {"train": rows, "dev": min(rows, 1014), "test": test}[split]
        for language in ("en", target):
            path = root / f"parallel/multi30k/{name}.{language}.gz"
            write_lines(into / f"{split}.{language}", islice(read_lines(path), count))


def lines(into: Path, split: str, language: str) -> list[str]:
    """One side of a split."""
    return list(read_lines(into / f"data/{split}.{language}"))


def ours_trained(arguments: argparse.Namespace, seconds: float) -> bool:
    """Train ours for a time; whether it is done."""
    run = arguments.into / "ours"
    every = max(1, arguments.updates // 8)
    warmup = min(WARMUP, max(1, arguments.updates // 4))
    pairs = '["{split}.{{source}}", "{split}.{{target}}"]'
    changes = {
        "data_root": json.dumps(str((arguments.into / "data").resolve())),
        "corpora": f'{{pairs = {{pairs = ["en-{arguments.target}"], train = {pairs.format(split="train")}, '
        f"dev = {pairs.format(split='dev')}}}}}",
        "vocab.corpora": "[]",
        "objectives.translation.directions": '"forward"',
        "train.steps": str(arguments.updates),
        "train.tokens_per_batch": str(arguments.tokens),
        "train.checkpoint_every": str(every),
        "train.evaluate_every": str(max(every, arguments.updates // 4)),
        "train.threads": str(arguments.threads),
        "train.precision": '"no"',
        "train.optimizer.learning_rate": str(arguments.rate),
        "train.optimizer.warmup": str(warmup),
        "train.optimizer.weight_decay": "0.0",
        "seed": str(arguments.seed),
    }
    sets = [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]
    command = ["pretrain", f"mt/multi30k-en-{arguments.target}", "--output", str(run), *sets]
    return ended([sys.executable, "-m", "interlace", *command], arguments.into / "ours.log", seconds)


def ours_translated(arguments: argparse.Namespace, seconds: float) -> bool:
    """Translate the test set by ours."""
    out = arguments.into / "ours.translated"
    if out.exists():
        return True
    way = ["--from", "en", "--to", arguments.target, "--input", str(arguments.into / "data/test.en")]
    command = ["translate", str(arguments.into / "ours"), *way, "--output", str(out)]
    return ended([sys.executable, "-m", "interlace", *command], arguments.into / "ours.log", seconds)


def rows_an_update(run: Path) -> int:
    """Sentences of ours in an update, on the mean."""
    steps = [json.loads(line) for line in read_lines(run / "metrics.jsonl") if line]
    return max(1, round(fmean(step["rows"] for step in steps if step["kind"] == "step")))


def peer_translated(arguments: argparse.Namespace, until: float) -> list[str] | None:
    """Train the peer as far as the time allows, and its translations in the end; None where time is up."""
    out = arguments.into / "peer.translated"
    if out.exists():
        return list(read_lines(out))
    folder = arguments.into / "peer"
    folder.mkdir(exist_ok=True)
    peer = Peer(arguments.peer_python, folder.resolve(), ("en", arguments.target))
    vocab = Vocab.load(arguments.into / "ours/model")
    peer.write_vocab(vocab)
    for split in FILES:
        most = max(10, arguments.rows // 150) if split == "dev" else None  # it translates them whenever it looks
        peer.write_data(split, [lines(arguments.into, split, side)[:most] for side in ("en", arguments.target)], vocab)
    rows = rows_an_update(arguments.into / "ours")
    warmup = min(WARMUP, max(1, arguments.updates // 4))
    done = peer.train(arguments.updates, rows, arguments.peer_rate, warmup, left(until))
    print(f"peer: {done:,} of {arguments.updates:,} updates, {rows} sentences each")
    if done < arguments.updates or left(until) <= 0:
        return None
    found = peer.translate("test", vocab, arguments.updates, rows, left(until))
    if found is not None:
        write_lines(out, found)
        (arguments.into / "peer.json").write_text(json.dumps({"parameters": peer.parameters(), "rows": rows}))
    return found


def scored(found: TextMetric, references: list[str]) -> Examples:
    """A system's sentences."""
    count = len(references)
    return Examples(np.zeros(count), np.ones(count), identity_of(references), found.sentences, "bleu")


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Both systems' scores, and the difference with its interval."""
    into, target = arguments.into, arguments.target
    references = lines(into, "test", target)
    said = {name: list(read_lines(into / f"{name}.translated")) for name in ("ours", "peer")}
    scores = {name: bleu(each, references, target) for name, each in said.items()}
    examples = {name: scored(score, references) for name, score in scores.items()}
    rng = generator(Purpose.STATISTICS, 0)
    result: dict[str, Any] = {
        "signature": scores["ours"].signature,
        "updates": arguments.updates,
        "test": len(references),
    }
    for name, each in examples.items():
        ends = bootstrap(each, rng, draws=2000)
        result[name] = {
            "bleu": each.total,
            "low": ends.low,
            "high": ends.high,
            "chrf": chrf(said[name], references).value,
        }
    gain = paired_bootstrap(examples["ours"], examples["peer"], rng, draws=2000)
    result["difference"] = {"bleu": gain.value, "low": gain.low, "high": gain.high}
    facts = json.loads((into / "ours/run.json").read_text(encoding="utf-8"))
    result["ours"]["parameters"] = facts.get("parameters")
    result["peer"] |= json.loads((into / "peer.json").read_text(encoding="utf-8"))
    return result


def main() -> None:
    """Go on with what is left to do."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer-python", required=True, help="a Python that has joeynmt 2.3.0")
    parser.add_argument("--output", type=Path, required=True, help="folder of both runs")
    parser.add_argument("--minutes", type=float, default=60, help="most time of this call")
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--target", default="de")
    parser.add_argument("--rows", type=int, default=29_000, help="training pairs")
    parser.add_argument("--test", type=int, default=1000, help="lines of the test set")
    parser.add_argument("--tokens", type=int, default=2048, help="padded subwords of our batches")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--peer-rate", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    until = time.monotonic() + 60 * arguments.minutes
    print(where())
    if not (arguments.into / "data").is_dir():
        root = Path(os.environ.get("INTERLACE_DATA", "absent"))
        write_slice(root, arguments.into / "data", arguments.target, arguments.rows, arguments.test)
    if not (ours_trained(arguments, left(until)) and ours_translated(arguments, left(until))):
        raise SystemExit("time is up while ours is at work; the same command goes on")
    if peer_translated(arguments, until) is None:
        raise SystemExit("time is up while the peer is at work; the same command goes on")
    result = compare(arguments)
    (arguments.into / "scores.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    for name in ("ours", "peer"):
        one = result[name]
        interval = f"({one['low']:.1f} to {one['high']:.1f})"
        print(f"{name}: BLEU {one['bleu']:.1f} {interval}, chrF {one['chrf']:.1f}, {one['parameters'] or 0:,} weights")
    gain = result["difference"]
    print(f"difference: {gain['bleu']:+.1f} ({gain['low']:+.1f} to {gain['high']:+.1f}); {result['signature']}")


if __name__ == "__main__":
    main()
