"""Compare the time to build a corpus from a text file with `encode_batch` alone, and measure peak memory.

Targets: with byte-level BPE and whitespace words, building takes at most 1.3 times as long as `encode_batch` on the
same lines; ten times the text takes at most 1.25 times the memory.

    python benchmarks/corpus_building.py [--memory]

Building reads, normalizes (NFC), tokenizes, encodes, maps tokens to words and writes. BPE vocabularies
are timed too. Runs alternate; ratios are medians of wall time and of processor time. `--memory` measures
only memory: the peak of a new process above its start. The time target assumes two cores: `encode_batch` uses all
cores, the conversion to arrays one. The text is Multi30k's captions in `INTERLACE_DATA`, else random words.
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

from _common import Target, caption_files, process_memory, report

from interlace.core.randomness import Purpose, generator
from interlace.data.corpus_text import CorpusText, build_corpus
from interlace.data.vocab import Vocab
from interlace.readers.lines import PlainLines
from interlace.text.lines import read_lines, write_lines
from interlace.text.word_tokenizers.whitespace import Whitespace

KINDS, ROUNDS, REPEATS = ("byte-bpe", "bpe"), 5, 5
MAX_RATIO, MAX_GROWTH = 1.3, 1.25


def text() -> list[str]:
    """Return 58,000 lines."""
    if files := caption_files():
        return [line for file in files for line in read_lines(file)]
    rng = generator(Purpose.SAMPLE, 0)
    letters = list("eeeeaaaooiinnttrrssllddkmgvpbuäöüßé")
    words = ["".join(rng.choice(letters, size=rng.integers(2, 10))) for _ in range(15_000)]
    shares = 1 / (10 + rng.permutation(len(words)))  # Zipf's law
    ids = rng.choice(len(words), size=(58_000, 13), p=shares / shares.sum())
    return [" ".join(words[number] for number in row).capitalize() + "." for row in ids]


Times = tuple[float, float]  # wall time and processor time


def now() -> Times:
    return time.perf_counter(), time.process_time()


def since(start: Times) -> Times:
    wall, processor = now()
    return wall - start[0], processor - start[1]


def build(vocab: Vocab, path: Path, output: Path) -> Times:
    start = now()
    build_corpus(CorpusText(("xx",), (path,), PlainLines(), Whitespace()), vocab, output)
    return since(start)


def encode(vocab: Vocab, lines: list[str]) -> Times:
    start = now()
    encodings = vocab.tokenizer.encode_batch(lines, add_special_tokens=False)
    seconds = since(start)
    del encodings
    return seconds


def time_ratio(folder: Path, lines: list[str]) -> float:
    """Print the times of each kind of vocabulary, and return the ratio of byte-level BPE."""
    ratios = {}
    for kind in KINDS:
        Vocab.learn({"xx": lines}, 10_000, kind=kind).save(folder / kind)
        vocab = Vocab.load(folder / kind)
        build(vocab, folder / "text.txt", folder / "corpus")
        runs = [
            (build(vocab, folder / "text.txt", folder / "corpus"), encode(vocab, lines))
            for _ in range(ROUNDS)
        ]
        wall, processor = (
            statistics.median(built[c] / encoded[c] for built, encoded in runs) for c in (0, 1)
        )
        built, encoded = (
            statistics.median(side[0] for side in sides) for sides in zip(*runs, strict=True)
        )
        times = f"encode_batch {encoded:5.2f} s   build {built:5.2f} s"
        print(
            f"{kind:10} {times}   ratio {wall:.2f} (processor time {processor:.2f})", flush=True
        )
        ratios[kind] = wall
    return ratios["byte-bpe"]


def print_peak(folder: Path, path: Path) -> None:
    """Build a corpus and print the peak memory above the start (in a new process)."""
    vocab = Vocab.load(folder / "byte-bpe")
    vocab.encode(["warm"] * 10)
    before = process_memory("VmRSS")
    build(vocab, path, folder / "measured")
    print(process_memory("VmHWM") - before)


def memory_growth(folder: Path, lines: list[str]) -> float:
    """Print the peaks of a text and of ten times the text, and return their ratio."""
    Vocab.learn({"xx": lines}, 10_000).save(folder / "byte-bpe")
    path, peaks = folder / "long.txt", []
    for times in (REPEATS, 10 * REPEATS):
        write_lines(path, (line for _ in range(times) for line in lines))
        command = [sys.executable, __file__, "--build", str(folder), str(path)]
        peaks.append(
            float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        )
        size = path.stat().st_size / 2**20
        print(
            f"memory     {times * len(lines):9,} lines ({size:5.0f} MiB)   peak above start {peaks[-1]:5.0f} MiB"
        )
    return peaks[1] / peaks[0]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--build", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        print_peak(*options.build)
        return 0
    lines = text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder / "text.txt", lines)
        print(f"{len(lines):,} lines, {os.cpu_count()} cores")
        ratio = None if options.memory else time_ratio(folder, lines)
        growth = memory_growth(folder, lines)
    return report(
        [Target("time ratio", ratio, MAX_RATIO), Target("memory growth", growth, MAX_GROWTH)]
    )


if __name__ == "__main__":
    sys.exit(main())
