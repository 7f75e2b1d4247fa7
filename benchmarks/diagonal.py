"""Compare the speed of the aligner `diagonal` and systran-align (fast_align as a Python extension).

Targets: `diagonal` aligns both directions and symmetrizes them in at most half the time of systran-align; time is
linear in the number of pairs; a second process aligns a small text within a second.

    python benchmarks/diagonal.py [--peer-python PYTHON] [--growth PAIRS,PAIRS,..]

`--peer-python` names an interpreter that has systran-align; without it, that target is skipped. Both start with words
in memory, but systran-align reads them from a file, its only input. Runs alternate, and the ratio is a median.
`--growth` measures only time and peak memory, in new processes, for these numbers of pairs: the text
is repeated, with every tenth word replaced by another, and mapped from files.

The text is Multi30k's English and German captions in `INTERLACE_DATA`, else random words.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from _common import (
    MemoryPeak,
    Target,
    caption_pairs,
    environment,
    measure_in_new_process,
    repeat_pairs,
    report,
    startup_seconds,
)

from interlace.aligners.diagonal import Diagonal

if TYPE_CHECKING:
    from interlace.alignment import WordPairs

ROUNDS = 5
MIN_RATIO, MAX_STARTUP, MAX_GROWTH = 2.0, 1.0, 1.5
SYSTRAN = """
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
SMALL_TEXT = """
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


def align_seconds(pairs: WordPairs, **settings: int) -> float:
    start = time.perf_counter()
    Diagonal(**settings).fit(pairs).align(pairs)
    return time.perf_counter() - start


def compare_with_systran(pairs: WordPairs, python: str | None) -> float | None:
    """Print the times of both, and return the median ratio."""
    folded = [
        [word.lower() for word in types] for types in (pairs.source_types, pairs.target_types)
    ]
    rows = zip(pairs.source.to_lists(), pairs.target.to_lists(), strict=True)
    words = (
        [[types[word] for word in side] for types, side in zip(folded, row, strict=True)]
        for row in rows
    )
    lines = "".join(json.dumps(row) + "\n" for row in words if all(row))
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(align_seconds(pairs))
        if python:
            run = subprocess.run(
                [python, "-c", SYSTRAN], input=lines, capture_output=True, text=True, check=True
            )
            theirs.append(float(run.stdout))
    print(
        f"diagonal        {statistics.median(ours):6.2f} s   one thread {align_seconds(pairs, threads=1):.2f} s"
    )
    if not python:
        print("systran-align   skipped: set --peer-python to an interpreter that has it")
        return None
    print(f"systran-align   {statistics.median(theirs):6.2f} s")
    return statistics.median(other / own for own, other in zip(ours, theirs, strict=True))


def measure(size: int) -> None:
    """Train on and align so many pairs, and print time and memory (in a new process)."""
    pairs = caption_pairs()
    align_seconds(pairs.slice(0, 100))
    with tempfile.TemporaryDirectory() as folder:
        many = repeat_pairs(pairs, size, Path(folder))
        start = time.process_time()
        with MemoryPeak() as peak:
            fitted = Diagonal().fit(many)
            training, start = time.process_time() - start, time.process_time()
            links = sum(len(fitted.align(chunk).links.flat) for chunk in many.chunks())
        aligning = time.process_time() - start
        whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        types = int((fitted.model.targets >= 0).sum())
    per_pair = (training + aligning) / size
    print(
        f"| {size:,} | {training:.0f} | {aligning:.0f} | {per_pair * 1e6:.0f} | {peak.value:,.0f} "
        f"| {whole:,.0f} | {types:,} | {links / size:.2f} |"
    )
    print(json.dumps(per_pair))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer-python")
    parser.add_argument("--growth", metavar="PAIRS,PAIRS,..")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return 0
    if options.growth:
        print(environment())
        print(
            "\n| pairs | training, processor s | aligning | us per pair | peak MiB without mapped files "
            "| ru_maxrss MiB | pairs of types | links per pair |\n|---|---|---|---|---|---|---|---|",
            flush=True,
        )
        sizes = options.growth.split(",")
        seconds = [measure_in_new_process(__file__, int(size)) for size in sizes]
        return report(
            [
                Target(
                    "time per pair, largest over smallest", seconds[-1] / seconds[0], MAX_GROWTH
                )
            ]
        )
    pairs = caption_pairs()
    print(f"{len(pairs):,} pairs, {os.cpu_count()} cores")
    align_seconds(pairs.slice(0, 100))  # compiles, or loads compiled code
    ratio = compare_with_systran(pairs, options.peer_python)
    return report([
        Target("time of systran-align over diagonal", ratio, MIN_RATIO, at_least=True),
        Target("seconds to the first links", startup_seconds(SMALL_TEXT), MAX_STARTUP),
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
