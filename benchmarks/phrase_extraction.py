"""Compare the speed of phrase extraction and NLTK, and of the phrase table and the aligner.

Targets: extraction on one thread is at least 50 times as fast as NLTK's `phrase_extraction`; extraction, counting and
scoring of a whole table take no longer than the aligner `diagonal` on the same text.

    python benchmarks/phrase_extraction.py [--peer-python PYTHON] [--links FILE] [--growth PAIRS,PAIRS,..]

`--peer-python` names an interpreter that has NLTK; without it, that target is skipped. NLTK gets 1,000 of the pairs.
The maximum phrase length is 4. Runs alternate, and ratios are medians. `--links` reads links in Pharaoh format; by
default `diagonal` aligns the text. `--growth` measures only time and peak memory of lexicon and table, counted and
written in new processes, for these numbers of pairs: the text is repeated, with every tenth word replaced by another,
and text and links are mapped from files.

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

import numpy as np
from _common import MemoryPeak, Target, caption_pairs, environment, repeat_pairs, report

from interlace.aligners import ALIGNERS
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.phrase_counts import count_phrases
from interlace.alignment.phrase_rules import TableRules
from interlace.alignment.phrase_table import PhraseTable
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
    # compiles, or loads compiled code
    aligner.fit(pairs.slice(0, 100)).align(pairs.slice(0, 100))
    start = time.perf_counter()
    links = aligner.fit(pairs).align(pairs).links
    return links, time.perf_counter() - start


def compare_with_nltk(pairs: WordPairs, links: Ragged, python: str | None) -> float | None:
    """Print pairs per second of both, and return the median ratio."""
    rng = generator(Purpose.SAMPLE, 1)
    rows = rng.choice(len(pairs), size=min(SAMPLE, len(pairs)), replace=False)
    columns = [side.take(rows).to_lists() for side in (pairs.source, pairs.target, links)]
    sample = "".join(
        json.dumps([[*map(str, s)], [*map(str, t)], found]) + "\n"
        for s, t, found in zip(*columns, strict=True)
    )
    ours, theirs = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        spans = phrase_pairs(
            pairs.source.lengths, pairs.target.lengths, links, RULES, threads=1
        )
        ours.append(len(pairs) / (time.perf_counter() - start))
        if python:
            run = subprocess.run(
                [python, "-c", NLTK], input=sample, capture_output=True, text=True, check=True
            )
            theirs.append(len(rows) / float(run.stdout))
    print(
        f"extraction  {statistics.median(ours):9,.0f} pairs/s   ({len(spans.values):,} phrase pairs)",
        flush=True,
    )
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
            made = count_phrases(pairs, links, RULES)
            times.append(time.perf_counter())
            made.write(Path(folder, "table"))
            times.append(time.perf_counter())
            stages.append(np.diff(times))
    count, write = np.median(stages, axis=0)
    print(f"table       {count:.2f} s   written in {write:.2f} s   ({len(made):,} rows)")
    return float(count)


def measure(pairs: WordPairs, links: Ragged, size: int, what: str) -> None:
    """Count a table or a lexicon, write it, and print time and memory (in a new process)."""
    count_phrases(pairs.slice(0, 10), links.slice(0, 10), RULES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many = repeat_pairs(pairs, size, folder)
        with (folder / "links").open("wb") as file:
            for start in range(0, size, len(links)):
                file.write(links.slice(0, min(len(links), size - start)).flat.tobytes())
        values = np.memmap(str(folder / "links"), np.int32, mode="r").reshape(-1, 2)
        found = Ragged.from_lengths(values, np.resize(links.lengths, size))
        start = time.process_time()
        with MemoryPeak() as peak:
            made: PhraseTable | Lexicon = (
                Lexicon.count(many, found) if what == "lexicon" else
                count_phrases(many, found, RULES)
            )  # fmt: skip
            counting = time.process_time() - start
            made.write(folder / "made")
        seconds, whole = (
            time.process_time() - start,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        )
        size_of_file = (folder / "made").stat().st_size / 2**20
    print(
        f"| {what} | {size:,} | {len(made):,} | {counting:.0f} | {seconds - counting:.0f} "
        f"| {peak.value:,.0f} | {whole:,.0f} | {size_of_file:,.0f} |",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer-python")
    parser.add_argument("--links")
    parser.add_argument("--growth", metavar="PAIRS,PAIRS,..")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.growth:
        given = ["--links", options.links] if options.links else []
        print(environment())
        print(
            "\n| of | pairs | rows | counting, processor s | writing | peak MiB without mapped files "
            "| ru_maxrss MiB | file MiB |\n|---|---|---|---|---|---|---|---|",
            flush=True,
        )
        for what in ("lexicon", "phrases"):
            for size in options.growth.split(","):
                subprocess.run(
                    [sys.executable, __file__, "--measure", size, what, *given], check=True
                )
        return 0
    pairs = caption_pairs()
    links, aligning = align(pairs, options.links)
    if options.measure:
        measure(pairs, links, int(options.measure[0]), options.measure[1])
        return 0
    print(f"{len(pairs):,} pairs, {len(links.values):,} links, {os.cpu_count()} cores")
    # compiles, or loads compiled code
    count_phrases(pairs.slice(0, 100), links.slice(0, 100), RULES)
    ratio = compare_with_nltk(pairs, links, options.peer_python)
    share = table_seconds(pairs, links) / aligning if aligning else None
    return report([
        Target("extraction, times NLTK", ratio, MIN_RATIO, at_least=True),
        Target("table, share of the aligner's time", share, MAX_SHARE),
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
