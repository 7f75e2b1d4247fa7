"""Compare the speed of phrase extraction and NLTK, and of the phrase table and the aligner.

Targets: extraction on one thread is at least 50 times as fast as NLTK's `phrase_extraction`; extraction, counting and
scoring of a whole table take no longer than the aligner `diagonal` on the same text.

    python benchmarks/phrase_extraction.py [--peer-python PYTHON] [--links FILE] [--growth PAIRS,PAIRS,..]

`--peer-python` names an interpreter that has NLTK; without it, that target is skipped. NLTK gets 1,000 of the pairs.
The maximum phrase length is 4. Runs alternate, and ratios are medians. `--links` reads links in Pharaoh format; by
default `diagonal` aligns the text. `--growth` measures only time and peak memory of the table, in new processes, for
these numbers of pairs: the text is repeated, with every tenth word replaced by another, and counted in memory and in a
folder.

The text is Multi30k's English and German captions in `INTERLACE_DATA`, else random words.
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
from typing import TYPE_CHECKING

import numpy as np
from _common import Target, caption_pairs, process_memory, report

from interlace.aligners import ALIGNERS
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from interlace.alignment import WordPairs

RULES = TableRules(max_phrase_length=4)
ROUNDS, SAMPLE = 7, 1_000  # NLTK takes 0.1 seconds for 1,000 pairs
MIN_RATIO, MAX_SHARE = 50, 1.0
NLTK = """
import json, sys, time
from nltk.translate.phrase_based import phrase_extraction
pairs = [json.loads(line) for line in sys.stdin]
pairs = [(" ".join(s), " ".join(t), [tuple(link) for link in links]) for s, t, links in pairs]
start = time.perf_counter()
for source, target, links in pairs:
    phrase_extraction(source, target, links, 4)
print(time.perf_counter() - start)
"""


def align(pairs: WordPairs, path: str | None) -> tuple[Ragged, float]:
    """Read the links, or align and return the seconds that the aligner took."""
    if path:
        rows = [[link.split("-") for link in line.split()] for line in read_lines(path)]
        return Ragged.of([[(int(i), int(j)) for i, j in row] for row in rows], width=2), 0.0
    aligner = ALIGNERS.build("diagonal")
    aligner.fit(pairs.slice(0, 100)).align(pairs.slice(0, 100))  # compiles, or loads compiled code
    start = time.perf_counter()
    links = aligner.fit(pairs).align(pairs).links
    return links, time.perf_counter() - start


def compare_with_nltk(pairs: WordPairs, links: Ragged, python: str | None) -> float | None:
    """Print pairs per second of both, and return the median ratio."""
    rng = generator(Purpose.SAMPLE, 1)
    rows = rng.choice(len(pairs), size=min(SAMPLE, len(pairs)), replace=False)
    columns = [side.take(rows).to_lists() for side in (pairs.source, pairs.target, links)]
    sample = "".join(
        json.dumps([[*map(str, s)], [*map(str, t)], found]) + "\n" for s, t, found in zip(*columns, strict=True)
    )
    ours, theirs = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        spans = phrase_pairs(pairs.source.lengths, pairs.target.lengths, links, RULES, threads=1)
        ours.append(len(pairs) / (time.perf_counter() - start))
        if python:
            run = subprocess.run([python, "-c", NLTK], input=sample, capture_output=True, text=True, check=True)
            theirs.append(len(rows) / float(run.stdout))
    print(f"extraction  {statistics.median(ours):9,.0f} pairs/s   ({len(spans.values):,} phrase pairs)", flush=True)
    if not python:
        print("NLTK        skipped: set --peer-python to an interpreter that has it")
        return None
    print(f"NLTK        {statistics.median(theirs):9,.0f} pairs/s")
    return statistics.median(own / other for own, other in zip(ours, theirs, strict=True))


def table_seconds(pairs: WordPairs, links: Ragged) -> float:
    """Print the time of each stage, and return the seconds for counting the whole table."""
    stages = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            times = [time.perf_counter()]
            made = PhraseTable.count(pairs, links, RULES)
            times.append(time.perf_counter())
            made.write(Path(folder, "table"))
            times.append(time.perf_counter())
            PhraseTable.read(Path(folder, "table"))
            times.append(time.perf_counter())
            stages.append(np.diff(times))
    count, write, read = np.median(stages, axis=0)
    print(f"table       {count:.2f} s   written in {write:.2f} s   read in {read:.2f} s   ({len(made):,} rows)")
    return float(count)


def repeat(pairs: WordPairs, links: Ragged, size: int) -> tuple[WordPairs, Ragged]:
    """Repeat the pairs, with every tenth word replaced by another of the text."""
    rng = generator(Purpose.SAMPLE, 2)
    rows = np.arange(size) % len(pairs)
    sides = [pairs.source.take(rows), pairs.target.take(rows)]
    for side in sides:
        replaced = np.flatnonzero(rng.random(len(side.values)) < 0.1)
        side.values[replaced] = rng.permutation(side.values)[: len(replaced)]
    return replace(pairs, source=sides[0], target=sides[1]), links.take(rows)


def measure(pairs: WordPairs, links: Ragged, size: int, storage: str) -> None:
    """Count a table and print time and memory (in a new process)."""
    PhraseTable.count(pairs.slice(0, 10), links.slice(0, 10), RULES)
    pairs, links = repeat(pairs, links, size)
    before, start = process_memory("VmRSS"), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        rules = RULES.model_copy(update={"min_count": 2})
        made = PhraseTable.count(pairs, links, rules, Path(folder) if storage == "folder" else None)
    seconds, peak = time.perf_counter() - start, process_memory("VmHWM") - before
    print(f"{size:9,} pairs   in {storage:7} {seconds:6.1f} s   {peak:6.0f} MiB   {len(made):,} rows (min_count = 2)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python")
    parser.add_argument("--links")
    parser.add_argument("--growth", metavar="PAIRS,PAIRS,..")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.growth:
        links = ["--links", options.links] if options.links else []
        for size in options.growth.split(","):
            for storage in ("memory", "folder"):
                subprocess.run([sys.executable, __file__, "--measure", size, storage, *links], check=True)
        return 0
    pairs = caption_pairs()
    links, aligning = align(pairs, options.links)
    if options.measure:
        measure(pairs, links, int(options.measure[0]), options.measure[1])
        return 0
    print(f"{len(pairs):,} pairs, {len(links.values):,} links, {os.cpu_count()} cores")
    PhraseTable.count(pairs.slice(0, 100), links.slice(0, 100), RULES)  # compiles, or loads compiled code
    ratio = compare_with_nltk(pairs, links, options.peer_python)
    share = table_seconds(pairs, links) / aligning if aligning else None
    return report([
        Target("extraction, times NLTK", ratio, MIN_RATIO, at_least=True),
        Target("table, share of the aligner's time", share, MAX_SHARE),
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
