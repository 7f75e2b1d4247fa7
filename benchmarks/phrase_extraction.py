"""Claims: phrase pairs are extracted at least 50 times as fast as NLTK's `phrase_extraction` does it, on one thread;
extraction, counting and scoring of a whole table take no longer than the aligner `diagonal` takes to link the text.

    python benchmarks/phrase_extraction.py [--peer-python PYTHON] [--links FILE] [--growth PAIRS,PAIRS,..]

NLTK is no dependency: `--peer-python` names an interpreter that has it; without, that claim is left out. It gets 1,000
of the pairs. Maximum length is 4 for all. Peer and we are timed in turn, several times; ratios are medians over turns.
`--links` reads links in Pharaoh's format, one line a pair; without, `diagonal` finds them.
`--growth` only measures the table: time and peak memory, in fresh processes, at these numbers of pairs. Pairs are
repeated with every tenth word exchanged for another of the text, and counted in memory and in a folder.

The text is Multi30k's English and German captions where `INTERLACE_DATA` names the folder of real data, else pairs of
made-up words. Words are what the word tokenizer `unicode` finds.
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

from interlace.aligners import ALIGNERS
from interlace.alignment import WordPairs
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.readers.lines import PlainLines
from interlace.text.lines import read_lines

RULES = TableRules(max_phrase_length=4)
TURNS, SAMPLE = 7, 1_000  # NLTK takes 0.1 seconds for so many pairs
FASTER, SLOWER = 50, 1.0  # the claims
PEER = """
import json, sys, time
from nltk.translate.phrase_based import phrase_extraction
pairs = [json.loads(line) for line in sys.stdin]
pairs = [(" ".join(s), " ".join(t), [tuple(link) for link in links]) for s, t, links in pairs]
start = time.perf_counter()
for source, target, links in pairs:
    phrase_extraction(source, target, links, 4)
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


def linked(pairs: WordPairs, path: str | None) -> tuple[Ragged, float]:
    """Links of all pairs, and the seconds it took to find them, 0 where they are read."""
    if path:
        rows = [[link.split("-") for link in line.split()] for line in read_lines(path)]
        return Ragged.of([[(int(i), int(j)) for i, j in row] for row in rows], width=2), 0.0
    aligner = ALIGNERS.build("diagonal")
    aligner.fit(pairs.slice(0, 100)).align(pairs.slice(0, 100))  # compiles, or loads what is compiled
    start = time.perf_counter()
    links = aligner.fit(pairs).align(pairs).links
    return links, time.perf_counter() - start


def extraction(pairs: WordPairs, links: Ragged, peer: str | None) -> float | None:
    """Print pairs a second; how many times those of NLTK they are, None where it is not asked."""
    rng = generator(Purpose.SAMPLE, 1)
    rows = rng.choice(len(pairs), size=min(SAMPLE, len(pairs)), replace=False)
    columns = [side.take(rows).to_lists() for side in (pairs.source, pairs.target, links)]
    some = "".join(
        json.dumps([[*map(str, s)], [*map(str, t)], found]) + "\n" for s, t, found in zip(*columns, strict=True)
    )
    ours, theirs = [], []
    for _ in range(TURNS):
        start = time.perf_counter()
        spans = phrase_pairs(pairs.source.lengths, pairs.target.lengths, links, RULES, threads=1)
        ours.append(len(pairs) / (time.perf_counter() - start))
        if peer:
            run = subprocess.run([peer, "-c", PEER], input=some, capture_output=True, text=True, check=True)
            theirs.append(len(rows) / float(run.stdout))
    print(f"extraction  {statistics.median(ours):9,.0f} pairs/s   ({len(spans.values):,} phrase pairs)", flush=True)
    if not peer:
        print("NLTK        left out: name an interpreter that has it with --peer-python")
        return None
    print(f"NLTK        {statistics.median(theirs):9,.0f} pairs/s")
    return statistics.median(mine / yours for mine, yours in zip(ours, theirs, strict=True))


def table(pairs: WordPairs, links: Ragged) -> float:
    """Print the time of each stage; seconds for the whole table."""
    stages = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TURNS):
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


# ---- growth ----


def grown(pairs: WordPairs, links: Ragged, size: int) -> tuple[WordPairs, Ragged]:
    """The pairs again and again, with every tenth word exchanged for another of the text."""
    rng = generator(Purpose.SAMPLE, 2)
    rows = np.arange(size) % len(pairs)
    sides = [pairs.source.take(rows), pairs.target.take(rows)]
    for side in sides:
        places = np.flatnonzero(rng.random(len(side.values)) < 0.1)
        side.values[places] = rng.permutation(side.values)[: len(places)]
    return replace(pairs, source=sides[0], target=sides[1]), links.take(rows)


def measure(pairs: WordPairs, links: Ragged, size: int, where: str) -> None:
    """What the fresh process does: count a table and print time and memory."""
    PhraseTable.count(pairs.slice(0, 10), links.slice(0, 10), RULES)
    pairs, links = grown(pairs, links, size)
    before, start = status("VmRSS"), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        rules = RULES.model_copy(update={"min_count": 2})
        made = PhraseTable.count(pairs, links, rules, Path(folder) if where == "folder" else None)
    seconds, peak = time.perf_counter() - start, status("VmHWM") - before
    print(
        f"{size:9,} pairs   in {where:7} {seconds:6.1f} s   {peak:6.0f} MiB   {len(made):,} rows seen twice", flush=True
    )


def status(field: str) -> float:
    """MiB of this process, as Linux tells it."""
    rows = dict(row.split(":", 1) for row in Path("/proc/self/status").read_text().split("\n") if ":" in row)
    return int(rows[field].split()[0]) / 1024


def growth(sizes: str, path: str | None) -> None:
    """Time and memory at each size."""
    for size in sizes.split(","):
        for where in ("memory", "folder"):
            command = [sys.executable, __file__, "--measure", size, where, *(["--links", path] if path else [])]
            subprocess.run(command, check=True)


def main() -> int:
    """Measure, and say whether the claims hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python")
    parser.add_argument("--links")
    parser.add_argument("--growth", metavar="PAIRS,PAIRS,..")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.growth:
        growth(options.growth, options.links)
        return 0
    pairs = text()
    links, aligning = linked(pairs, options.links)
    if options.measure:
        measure(pairs, links, int(options.measure[0]), options.measure[1])
        return 0
    print(f"{len(pairs):,} pairs, {len(links.values):,} links, {os.cpu_count()} cores")
    PhraseTable.count(pairs.slice(0, 100), links.slice(0, 100), RULES)  # compiles, or loads what is compiled
    faster = extraction(pairs, links, options.peer_python)
    slower = table(pairs, links) / aligning if aligning else None
    claims = [("extraction, times NLTK", faster, FASTER, 1), ("table, share of the aligner's time", slower, SLOWER, -1)]
    found = [(what, value, limit, sign) for what, value, limit, sign in claims if value is not None]
    for what, value, limit, sign in found:
        holds = "holds" if value * sign >= limit * sign else "DOES NOT HOLD"
        print(f"{what}: {value:.2f}, at {'least' if sign > 0 else 'most'} {limit} claimed: {holds}")
    return int(any(value * sign < limit * sign for _, value, limit, sign in found))


if __name__ == "__main__":
    sys.exit(main())
