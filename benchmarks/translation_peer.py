"""Compare a small translation model with a Joey NMT model of the same size, trained for as many updates.

    INTERLACE_DATA=FOLDER python benchmarks/translation_peer.py --peer-python PYTHON --output DIR --minutes 60
        [--updates 2000] [--target de] [--rows 29000] [--test 1000] [--rate 1e-3] [--peer-rate 1e-3] [--threads 1]

PYTHON is an environment with `joeynmt` 2.3.0, `importlib_metadata` and torch, for example

    python -m venv joey && joey/bin/pip install joeynmt==2.3.0 importlib_metadata torch

The data are captions of Multi30k from English into one language. Both models have random initial weights, 3 encoder and
3 decoder layers of width 256, the same subwords, tied embeddings, dropout and label smoothing of 0.1, and the same
number of updates of as many sentences on average. Adam, warm-up and gradient clipping are the same. Joey NMT decays
the learning rate by the inverse square root, its schedule for Transformers, and interlace linearly, its default. Both
translate with a beam of 5 and are scored by sacreBLEU, with bootstrap confidence intervals over sentences. Joey NMT
uses its checkpoint of the lowest development perplexity, interlace its last.

The script stops after `--minutes`; rerun the same command to resume. DIR/scores.json has the final scores.
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
from _common import environment
from _joey import JoeyNMT, run_with_timeout, seconds_left

from interlace.core.randomness import Purpose, generator
from interlace.data.vocab import Vocab
from interlace.scores.examples import Examples, bootstrap, identity_of, paired_bootstrap
from interlace.tasks.common.translation import bleu, chrf
from interlace.text.lines import read_lines, write_lines

FILES = {"train": "train", "dev": "val", "test": "test_2016_flickr"}


def write_data(root: Path, output: Path, target: str, rows: int, test: int) -> None:
    """Write the captions that both read."""
    output.mkdir(parents=True, exist_ok=True)
    for split, name in FILES.items():
        count = {"train": rows, "dev": min(rows, 1014), "test": test}[split]
        for language in ("en", target):
            path = root / f"parallel/multi30k/{name}.{language}.gz"
            write_lines(output / f"{split}.{language}", islice(read_lines(path), count))


def lines(output: Path, split: str, language: str) -> list[str]:
    return list(read_lines(output / f"data/{split}.{language}"))


def warmup(updates: int) -> int:
    return min(400, max(1, updates // 4))


def train_interlace(options: argparse.Namespace, seconds: float) -> bool:
    """Train interlace, and return whether it finished in time."""
    every = max(1, options.updates // 8)
    pairs = '["{split}.{{source}}", "{split}.{{target}}"]'
    changes = {
        "data_root": json.dumps(str((options.output / "data").resolve())),
        "corpora": f'{{pairs = {{pairs = ["en-{options.target}"], train = {pairs.format(split="train")}, '
        f"dev = {pairs.format(split='dev')}}}}}",
        "vocab.corpora": "[]",
        "objectives.translation.directions": '"forward"',
        "train.steps": str(options.updates),
        "train.tokens_per_update": str(options.tokens),
        "train.checkpoint_every": str(every),
        "train.evaluate_every": str(max(every, options.updates // 4)),
        "train.threads": str(options.threads),
        "train.precision": '"no"',
        "train.optimizer.learning_rate": str(options.rate),
        "train.optimizer.warmup": str(warmup(options.updates)),
        "train.optimizer.weight_decay": "0.0",
        "seed": str(options.seed),
    }
    sets = [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]
    recipe = f"mt/multi30k:en-{options.target}"
    command = [
        sys.executable,
        "-m",
        "interlace",
        "pretrain",
        recipe,
        "--output",
        str(options.output / "ours"),
        *sets,
    ]
    return run_with_timeout(command, options.output / "ours.log", seconds)


def translate_interlace(options: argparse.Namespace, seconds: float) -> bool:
    """Translate the test set with interlace, and return whether it finished in time."""
    output = options.output / "ours.translated"
    if output.exists():
        return True
    command = [
        sys.executable,
        "-m",
        "interlace",
        "translate",
        str(options.output / "ours"),
        "--from",
        "en",
    ]
    command += [
        "--to",
        options.target,
        "--input",
        str(options.output / "data/test.en"),
        "--output",
        str(output),
    ]
    return run_with_timeout(command, options.output / "ours.log", seconds)


def mean_sentences(run: Path) -> int:
    """Return the mean number of sentences of an update of interlace."""
    steps = [json.loads(line) for line in read_lines(run / "metrics.jsonl") if line]
    return max(1, round(fmean(step["rows"] for step in steps if step["kind"] == "step")))


def train_and_translate_joey(options: argparse.Namespace, deadline: float) -> bool:
    """Train Joey NMT and translate the test set, and return whether both finished in time."""
    output = options.output / "peer.translated"
    if output.exists():
        return True
    folder = options.output / "peer"
    folder.mkdir(exist_ok=True)
    joey = JoeyNMT(options.peer_python, folder.resolve(), ("en", options.target))
    vocab = Vocab.load(options.output / "ours/model")
    joey.write_vocab(vocab)
    for split in FILES:
        # Joey NMT translates it at each validation
        limit = max(10, options.rows // 150) if split == "dev" else None
        joey.write_data(
            split,
            [lines(options.output, split, side)[:limit] for side in ("en", options.target)],
            vocab,
        )
    rows = mean_sentences(options.output / "ours")
    done = joey.train(
        options.updates,
        rows,
        options.peer_rate,
        warmup(options.updates),
        seconds_left(deadline),
    )
    print(f"Joey NMT: {done:,} of {options.updates:,} updates of {rows} sentences")
    if done < options.updates or seconds_left(deadline) <= 0:
        return False
    translated = joey.translate("test", vocab, options.updates, rows, seconds_left(deadline))
    if translated is None:
        return False
    write_lines(output, translated)
    (options.output / "peer.json").write_text(
        json.dumps({"parameters": joey.parameters(), "rows": rows})
    )
    return True


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Return the scores of both systems, and their difference with its confidence interval."""
    output, target = options.output, options.target
    references = lines(output, "test", target)
    translations = {
        name: list(read_lines(output / f"{name}.translated")) for name in ("ours", "peer")
    }
    scores = {name: bleu(each, references, target) for name, each in translations.items()}
    count, identity = len(references), identity_of(references)
    examples = {
        name: Examples(np.zeros(count), np.ones(count), identity, score.sentences, "bleu")
        for name, score in scores.items()
    }
    rng = generator(Purpose.STATISTICS, 0)
    result: dict[str, Any] = {
        "signature": scores["ours"].signature,
        "updates": options.updates,
        "test": count,
    }
    for name, each in examples.items():
        interval = bootstrap(each, rng, draws=2000)
        result[name] = {
            "bleu": each.total,
            "low": interval.low,
            "high": interval.high,
            "chrf": chrf(translations[name], references).value,
        }
    difference = paired_bootstrap(examples["ours"], examples["peer"], rng, draws=2000)
    result["difference"] = {
        "bleu": difference.value,
        "low": difference.low,
        "high": difference.high,
    }
    record = json.loads((output / "ours/run.json").read_text(encoding="utf-8"))
    result["ours"]["parameters"] = record.get("parameters")
    result["peer"] |= json.loads((output / "peer.json").read_text(encoding="utf-8"))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer-python", help="Python with joeynmt 2.3.0")
    parser.add_argument("-o", "--output", type=Path, help="folder of both runs")
    parser.add_argument("--minutes", type=float, default=60, help="maximum time")
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--target", default="de")
    parser.add_argument("--rows", type=int, default=29_000, help="training pairs")
    parser.add_argument("--test", type=int, default=1000, help="lines of the test set")
    parser.add_argument(
        "--tokens",
        type=int,
        default=2048,
        help="tokens per batch of interlace, including padding",
    )
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--peer-rate", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if not (options.peer_python and options.output):
        print("skipped: needs --peer-python and --output")
        return
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    deadline = time.monotonic() + 60 * options.minutes
    print(environment())
    if not (options.output / "data").is_dir():
        root = Path(os.environ.get("INTERLACE_DATA", "absent"))
        write_data(root, options.output / "data", options.target, options.rows, options.test)
    finished = train_interlace(options, seconds_left(deadline)) and translate_interlace(
        options, seconds_left(deadline)
    )
    if not (finished and train_and_translate_joey(options, deadline)):
        raise SystemExit("out of time; rerun the same command to resume")
    result = compare(options)
    (options.output / "scores.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    for name, system in (("interlace", result["ours"]), ("Joey NMT", result["peer"])):
        interval = f"({system['low']:.1f} to {system['high']:.1f})"
        weights = f"{system['parameters'] or 0:,} weights"
        print(
            f"{name}: BLEU {system['bleu']:.1f} {interval}, chrF {system['chrf']:.1f}, {weights}"
        )
    gain = result["difference"]
    print(
        f"difference: {gain['bleu']:+.1f} ({gain['low']:+.1f} to {gain['high']:+.1f}); {result['signature']}"
    )


if __name__ == "__main__":
    main()
