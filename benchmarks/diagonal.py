"""Claims: `diagonal` links both directions and joins them in at most half the time of systran-align (fast_align as a
Python extension), and in time linear in the pairs; a second process has links of a small text within a second.

    python benchmarks/diagonal.py [--peer-python PYTHON] [--growth PAIRS,PAIRS,..]

systran-align is no dependency: `--peer-python` names an interpreter that has it; without, that claim is left out. Both
begin with words in memory, but the peer reads them from a file, which it can do in no other way. Peer and we are timed
in turn, several times; the ratio is the median over turns.
`--growth` measures time and peak memory, in fresh processes, at these numbers of pairs: the text repeated, with every
tenth word exchanged for another of the text, mapped from a file. It says whether time stays linear.

The text is Multi30k's English and German captions where `INTERLACE_DATA` names the folder of real data, else pairs of
made-up words. Words are what the word tokenizer `unicode` finds, lower-cased.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from interlace.aligners.diagonal import Diagonal
from interlace.alignment import WordPairs
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.readers.lines import PlainLines

TURNS = 5
FASTER, START, LINEAR = 2.0, 1.0, 1.5  # the claims
PEER = """
import json, sys, tempfile, time
import systran_align
pairs = [json.loads(line) for line in sys.stdin]
source, target = zip(*pairs)
with tempfile.TemporaryDirectory() as folder:
    names = [folder + "/" + name for name in ("text", "forward", "backward")]
    start = time.perf_counter()
    with open(names[0], "w") as file:
        file.writelines(" ".join(s) + " ||| " + " ".join(t) + "\\n" for s, t in pairs)
    systran_align.generate_alignment_probabilities(
        *names, favor_diagonal=True, optimize_tension=True, variational_bayes=True
    )
    systran_align.Aligner(*names[1:]).align_batch(list(source), list(target))
    print(time.perf_counter() - start)
"""
FIRST = """
import time
start = time.perf_counter()
import numpy as np
from interlace.aligners.diagonal import Diagonal
from interlace.alignment import WordPairs
from interlace.core.ragged import Ragged
rows = Ragged.of([[0, 1], [1, 2], [2, 0]] * 100)
pairs = WordPairs(rows, rows, list("abc"), list("xyz"))
Diagonal().fit(pairs).align(pairs)
print(time.perf_counter() - start)
"""


def text() -> WordPairs:
    """About 29 thousand pairs."""
    folder = os.environ.get("INTERLACE_DATA")
    if folder:
        files = [Path(folder, "parallel", "multi30k", f"train.{language}.gz") for language in ("en", "de")]
        return WordPairs.of(PlainLines(word_tokenizer="unicode").read_chunks(files, ["en", "de"]))
    rng = generator(Purpose.SAMPLE, 0)
    shares = 1 / (10 + rng.permutation(10_000))  # Zipf's law
    lengths = rng.integers(4, 22, 29_000)
    words = rng.choice(10_000, size=lengths.sum(), p=shares / shares.sum()).astype(np.int32)
    source = Ragged.from_lengths(words, lengths)
    moved = np.lexsort((source.columns() + rng.normal(0, 1, len(words)), source.rows()))  # each word by a place or so
    types = [[f"{side}{number}" for number in range(10_000)] for side in "st"]
    return WordPairs(source, Ragged(words[moved], source.offsets), types[0], types[1])


def link(pairs: WordPairs, **settings: int) -> float:
    """Seconds to learn from all pairs and link them."""
    start = time.perf_counter()
    Diagonal(**settings).fit(pairs).align(pairs)
    return time.perf_counter() - start


def against_peer(pairs: WordPairs, peer: str | None) -> float | None:
    """How many times as fast as the peer, if there is one."""
    folded = [[word.lower() for word in types] for types in (pairs.source_types, pairs.target_types)]
    rows = zip(pairs.source.to_lists(), pairs.target.to_lists(), strict=True)
    spelt = ([[types[word] for word in side] for types, side in zip(folded, row, strict=True)] for row in rows)
    lines = "".join(json.dumps(row) + "\n" for row in spelt if all(row))
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(link(pairs))
        if peer:
            run = subprocess.run([peer, "-c", PEER], input=lines, capture_output=True, text=True, check=True)
            theirs.append(float(run.stdout))
    print(f"diagonal        {statistics.median(ours):6.2f} s   one thread {link(pairs, threads=1):.2f} s")
    if not peer:
        print("systran-align   left out: name an interpreter that has it with --peer-python")
        return None
    print(f"systran-align   {statistics.median(theirs):6.2f} s")
    return statistics.median(other / own for own, other in zip(ours, theirs, strict=True))


def first_links() -> float:
    """Seconds until a new process has linked a small text, with its imports; the least of several after the first."""
    runs = [subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True) for _ in range(6)]
    return min(float(run.stdout) for run in runs[1:])


# ---- growth ----


def grown(pairs: WordPairs, size: int, folder: Path) -> WordPairs:
    """The pairs again and again, with every tenth word exchanged for another of the text, mapped from files."""
    rng = generator(Purpose.SAMPLE, 2)
    sides = []
    for name, side in (("source", pairs.source), ("target", pairs.target)):
        with (folder / name).open("wb") as file:
            for start in range(0, size, len(side)):
                words = side.flat[: side.offsets[min(len(side), size - start)]].copy()
                places = np.flatnonzero(rng.random(len(words)) < 0.1)
                words[places] = rng.choice(side.flat, len(places))
                file.write(words.tobytes())
        lengths = np.resize(side.lengths, size)
        sides.append(Ragged.from_lengths(np.memmap(str(folder / name), np.int32, mode="r"), lengths))
    return replace(pairs, source=sides[0], target=sides[1])


def measure(size: int) -> None:
    """What the fresh process does: learn from and link so many pairs, and print time and memory."""
    pairs = text()
    link(pairs.slice(0, 100))
    with tempfile.TemporaryDirectory() as folder:
        many = grown(pairs, size, Path(folder))
        before, start = status("RssAnon"), time.perf_counter()
        fitted = Diagonal().fit(many)
        learnt, peak = time.perf_counter() - start, status("VmHWM") - before - status("RssFile")
        met = len(fitted.arrays()["targets"])
        start = time.perf_counter()
        for chunk in many.chunks():
            fitted.align(chunk)
        linked = time.perf_counter() - start
    each = (learnt + linked) / size
    print(
        f"{size:9,} pairs   learnt in {learnt:6.2f} s   linked in {linked:6.2f} s   {each * 1e6:4.0f} us a pair   "
        f"{peak:5.0f} MiB   {met:,} pairs of types ({peak * 2**20 / met:.0f} bytes each)",
        flush=True,
    )
    print(json.dumps(each))


def status(field: str) -> float:
    """MiB of this process, as Linux tells it."""
    rows = dict(row.split(":", 1) for row in Path("/proc/self/status").read_text().split("\n") if ":" in row)
    return int(rows[field].split()[0]) / 1024


def growth(sizes: str) -> float:
    """Time and memory at each size; how much longer a pair takes in the greatest than in the smallest."""
    seconds = []
    for size in sizes.split(","):
        run = subprocess.run(
            [sys.executable, __file__, "--measure", size], stdout=subprocess.PIPE, text=True, check=True
        )
        row, per_pair = run.stdout.strip().split("\n")
        print(row, flush=True)
        seconds.append(json.loads(per_pair))
    return seconds[-1] / seconds[0]


def main() -> int:
    """Measure, and say whether the claims hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python")
    parser.add_argument("--growth", metavar="PAIRS,PAIRS,..")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return 0
    if options.growth:
        claims = [("time a pair, greatest over smallest", growth(options.growth), LINEAR, -1)]
    else:
        pairs = text()
        print(f"{len(pairs):,} pairs, {os.cpu_count()} cores")
        link(pairs.slice(0, 100))  # compiles, or loads what is compiled
        faster = against_peer(pairs, options.peer_python)
        claims = [("times systran-align", faster, FASTER, 1), ("seconds to the first links", first_links(), START, -1)]
    found = [claim for claim in claims if claim[1] is not None]
    for what, value, limit, sign in found:
        holds = "holds" if value * sign >= limit * sign else "DOES NOT HOLD"
        print(f"{what}: {value:.2f}, at {'least' if sign > 0 else 'most'} {limit} claimed: {holds}")
    return int(any(value * sign < limit * sign for _, value, limit, sign in found))


if __name__ == "__main__":
    sys.exit(main())
