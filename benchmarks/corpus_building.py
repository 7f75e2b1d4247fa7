"""Claim: building a corpus from a text file takes at most 1.3 times the time of `encode_batch` alone on the same lines
(byte-level BPE, words by blanks), and its memory does not grow with the file.

    python benchmarks/corpus_building.py [--memory]

Building reads, normalises (NFC), finds words, encodes, gives each subword its word, and writes. WordPiece and Unigram
vocabularies, loaded from a folder as any Hugging Face tokenizer is, are timed too. The two are timed in turn, several
times; the ratio is the median over turns, of wall time and, less sensitive to a busy machine, of processor time.
`--memory` only measures memory: the peak of a fresh process at 1 and 10 times the lines, above what it held before.

The claim is about two cores: `encode_batch` uses all there are, turning what it gives into arrays uses one. The text is
Multi30k's English and German lines where `INTERLACE_DATA` names the folder of real data, else made-up words.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from interlace.core.randomness import Purpose, generator
from interlace.data.build import build_corpus
from interlace.data.vocab import Vocab
from interlace.readers.lines import PlainLines
from interlace.text.lines import read_lines, write_lines
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers.whitespace import Whitespace

KINDS, TURNS, BASE = ("byte-bpe", "bpe", "wordpiece", "unigram"), 5, 5
CLAIM, GROWTH = 1.3, 1.25


def text() -> list[str]:
    """About 58 thousand lines."""
    folder = os.environ.get("INTERLACE_DATA")
    if folder:
        files = [Path(folder, "parallel", "multi30k", f"train.{language}.gz") for language in ("en", "de")]
        return [line for file in files for line in read_lines(file)]
    rng = generator(Purpose.SAMPLE, 0)
    letters = list("eeeeaaaooiinnttrrssllddkmgvpbuäöüßé")
    words = ["".join(rng.choice(letters, size=rng.integers(2, 10))) for _ in range(15_000)]
    shares = 1 / (10 + rng.permutation(len(words)))  # Zipf's law
    ids = rng.choice(len(words), size=(58_000, 13), p=shares / shares.sum())
    return [" ".join(words[number] for number in row).capitalize() + "." for row in ids]


Times = tuple[float, float]  # seconds by the clock, and of all processors together


def now() -> Times:
    """Both clocks."""
    return time.perf_counter(), time.process_time()


def since(start: Times) -> Times:
    """What has passed on both clocks."""
    wall, processor = now()
    return wall - start[0], processor - start[1]


def build(vocab: Vocab, path: Path, into: Path) -> Times:
    """Time to build a corpus."""
    start = now()
    build_corpus(PlainLines(), [path], ["xx"], vocab, Whitespace(), Normalization(), into)
    return since(start)


def encode(vocab: Vocab, lines: list[str]) -> Times:
    """Time of `encode_batch` alone."""
    start = now()
    encodings = vocab.tokenizer.encode_batch(lines, add_special_tokens=False)
    seconds = since(start)
    del encodings
    return seconds


def speed(folder: Path, lines: list[str]) -> float:
    """Print the times of each kind; the ratio of byte-level BPE."""
    ratios = {}
    for kind in KINDS:
        Vocab.learn({"xx": lines}, 10_000, kind=kind).save(folder / kind)
        vocab = Vocab.load(folder / kind)
        build(vocab, folder / "text.txt", folder / "corpus")
        turns = [(build(vocab, folder / "text.txt", folder / "corpus"), encode(vocab, lines)) for _ in range(TURNS)]
        wall, processor = (statistics.median(built[c] / encoded[c] for built, encoded in turns) for c in (0, 1))
        built, encoded = (statistics.median(side[0] for side in sides) for sides in zip(*turns, strict=True))
        times = f"encode_batch {encoded:5.2f} s   build {built:5.2f} s"
        print(f"{kind:10} {times}   ratio {wall:.2f} (processor time {processor:.2f})", flush=True)
        ratios[kind] = wall
    return ratios["byte-bpe"]


def peak(folder: Path, path: Path) -> float:
    """MiB that building takes at its peak, in a fresh process."""
    command = [sys.executable, __file__, "--build", str(folder), str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def build_and_measure(folder: Path, path: Path) -> None:
    """What the fresh process does: print its peak minus what it held before."""
    vocab = Vocab.load(folder / "byte-bpe")
    vocab.encode(["warm"] * 10)
    before = status("VmRSS")
    build(vocab, path, folder / "measured")
    print(status("VmHWM") - before)


def status(field: str) -> float:
    """MiB of this process, as Linux tells it; `getrusage` would hand down its parent's peak."""
    rows = dict(row.split(":", 1) for row in Path("/proc/self/status").read_text().split("\n") if ":" in row)
    return int(rows[field].split()[0]) / 1024


def memory(folder: Path, lines: list[str]) -> float:
    """Print the peak at 1 and 10 times the lines; how many times it grew."""
    Vocab.learn({"xx": lines}, 10_000).save(folder / "byte-bpe")
    peaks = []
    for times in (BASE, 10 * BASE):
        write_lines(folder / "long.txt", (line for _ in range(times) for line in lines))
        peaks.append(peak(folder, folder / "long.txt"))
        size = (folder / "long.txt").stat().st_size / 2**20
        print(f"memory     {times * len(lines):9,} lines ({size:5.0f} MiB)   peak above start {peaks[-1]:5.0f} MiB")
    return peaks[1] / peaks[0]


def main() -> int:
    """Measure, and say whether the claim holds."""
    lines = text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder / "text.txt", lines)
        print(f"{len(lines):,} lines, {os.cpu_count()} cores")
        results = {} if "--memory" in sys.argv else {"ratio": (speed(folder, lines), CLAIM)}
        results["growth of memory"] = (memory(folder, lines), GROWTH)
    for what, (found, most) in results.items():
        print(f"{what} {found:.2f}, at most {most} claimed: {'holds' if found <= most else 'DOES NOT HOLD'}")
    return int(any(found > most for found, most in results.values()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--build"]:
        build_and_measure(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        sys.exit(main())
