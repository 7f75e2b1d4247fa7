"""Measure `interlace prepare` by one and two workers, and reading a corpus that was written in 1,500 parts.

Targets: two workers take at most 1 / 1.7 of the time of one on one processor; random batches of a corpus in 1,500 parts
are gathered at 0.8 times the rate of one in 5 parts or more.

    python benchmarks/preparation.py [--lines N] [--rounds N]

Preparation learns a vocabulary from two languages' captions, of which every tenth word is replaced, and builds their
corpora (words of `unicode`, byte BPE). A worker alone uses one processor, as taskset has it; with all processors it
also encodes by threads, which is the third time. Each preparation has a new cache. The three alternate; ratios are
those of medians. Quiet processors are needed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _common import Target, caption_pairs, environment, repeat_pairs, report

from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Sentences
from interlace.data.corpus import Corpus
from interlace.text.lines import write_lines

MIN_SPEEDUP, MIN_RATE = 1.7, 0.8
PARTS, ROWS, BATCH, READS = (5, 1500), 1_500_000, 1000, 120
RECIPE = """
name = "preparation"
data_root = "{folder}"
word_tokenizer = "unicode"
vocab.size = 10000
train.steps = 1
objectives.mlm.max_length = 128
[corpora.text]
languages = ["en", "de"]
train = "{{language}}.txt"
"""


def write_text(folder: Path, count: int) -> None:
    """Write `count` lines of each language and the recipe."""
    pairs = repeat_pairs(caption_pairs(), count, folder)
    for language, rows, types in (
        ("en", pairs.source, pairs.source_types),
        ("de", pairs.target, pairs.target_types),
    ):
        write_lines(
            folder / f"{language}.txt", (" ".join(types[word] for word in row) for row in rows)
        )
    (folder / "recipe.toml").write_text(RECIPE.format(folder=folder), encoding="utf-8")


def prepare_seconds(folder: Path, workers: int, processors: int) -> float:
    """Return the wall time of a preparation with a new cache by the first processors."""
    usable = ",".join(map(str, sorted(os.sched_getaffinity(0))[:processors]))
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        command = [
            "taskset",
            "-c",
            usable,
            sys.executable,
            "-m",
            "interlace",
            "prepare",
            str(folder / "recipe.toml"),
        ]
        start = time.perf_counter()
        subprocess.run(
            [*command, "--workers", str(workers)],
            check=True,
            capture_output=True,
            env={**os.environ, "INTERLACE_CACHE": cache},
        )
        return time.perf_counter() - start


def speedup(folder: Path, rounds: int) -> float:
    """Print the times, and return how many times as fast two workers are as one on one processor."""
    setups = {
        "1 worker, 1 processor": (1, 1),
        "1 worker, 2 processors": (1, 2),
        "2 workers": (2, 2),
    }
    times: dict[str, list[float]] = {name: [] for name in setups}
    for _ in range(rounds):
        for name, setup in setups.items():
            times[name].append(prepare_seconds(folder, *setup))
    medians = [statistics.median(each) for each in times.values()]
    for name, each in times.items():
        print(
            f"prepare, {name:23} {statistics.median(each):6.1f} s ({min(each):.1f} to {max(each):.1f})",
            flush=True,
        )
    print(
        f"prepare, 2 workers against 1 that encodes by threads: {medians[1] / medians[2]:.2f} times as fast"
    )
    return medians[0] / medians[2]


def gathering_rate(folder: Path) -> float:
    """Return the rate of random batches from a corpus written in 1,500 parts over that from one in 5."""
    rng = generator(Purpose.SAMPLE, 1)
    corpora = []
    for parts in PARTS:
        chunks = (_sentences(rng, ROWS // parts) for _ in range(parts))
        into = folder / f"{parts}-parts"
        corpora.append(
            Corpus.write(into, chunks, languages=["en"], word_tokenizer="whitespace")
        )
        _leave_page_cache(into)
    rates: list[list[float]] = [[], []]
    for _ in range(READS):
        rows = rng.integers(ROWS, size=BATCH)
        for rate, corpus in zip(rates, corpora, strict=True):
            start = time.process_time()
            tokens = len(corpus.take(rows).ids.flat)
            rate.append(tokens / (time.process_time() - start))
    few, many = (statistics.median(each) for each in rates)
    print(
        f"gathering, {PARTS[0]:,} parts {few / 1e6:.1f}, {PARTS[1]:,} parts {many / 1e6:.1f} million tokens/s"
    )
    return many / few


def _sentences(rng: np.random.Generator, count: int) -> Sentences:
    lengths = rng.integers(5, 26, count)
    ids = Ragged.from_lengths(rng.integers(300, size=lengths.sum()).astype(np.int32), lengths)
    return Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), "en")


def _leave_page_cache(folder: Path) -> None:
    """Write files to the disk and drop them from memory: after small writes they would lie there in small pages."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=1_000_000, help="of each language")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(environment())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rate = gathering_rate(folder)
        write_text(folder, options.lines)
        faster = speedup(folder, options.rounds)
    return report(
        [
            Target("gathering", rate, MIN_RATE, True),
            Target("preparation", faster, MIN_SPEEDUP, True),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
