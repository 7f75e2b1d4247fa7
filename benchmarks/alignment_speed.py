"""Compare the speed of `interlace align` and eflomal, and measure startup time and scaling of `gibbs`.

Targets: from two text files to a file of links, `interlace align` takes no longer than eflomal; a second process aligns
ten pairs within a second; time per pair does not grow, and `max_training_cells` limits memory.

    python benchmarks/alignment_speed.py [--peer-python PYTHON] [--rounds N] [--growth] [--large]

Both programs start anew in every round, so times include imports. eflomal aligns both directions; interlace
also symmetrizes them. Rounds alternate between the programs, and the ratio is the median over rounds. The program
`eflomal-align` is searched in the folder of `--peer-python` and on the PATH; if missing, it is skipped.

`--growth` measures scaling only: new processes train on and align 30,000 and 300,000 pairs, with `--large` also three
million. The text is repeated, with every tenth word replaced by another. diagonal.py measures the aligner `diagonal`.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from _alignment_peers import Eflomal, NumberedText
from _common import (
    Target,
    caption_pairs,
    environment,
    measure_in_new_process,
    process_memory,
    repeat_pairs,
    report,
    startup_seconds,
)

from interlace.aligners.gibbs import Gibbs

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_RATIO, MAX_STARTUP, MAX_GROWTH = 1.0, 1.0, 1.0
MAX_OVERHEAD = 300  # MiB besides the cells
CELL = 28  # bytes, as documented for `max_training_cells`; a second thread may take 9 more
TEN_PAIRS = """
import time
start = time.perf_counter()
import numpy as np
from interlace.aligners.gibbs import Gibbs
from interlace.alignment import WordPairs
from interlace.core.ragged import Ragged
rows = Ragged.of([[0, 1], [1, 2], [2, 0], [3, 1, 0], [2, 3]] * 2)
pairs = WordPairs(rows, rows, list("abcd"), list("wxyz"))
Gibbs().fit(pairs).align_training_pairs(pairs)
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Seconds:
    """Wall time and processor time of a command."""

    wall: float
    cpu: float

    @classmethod
    def of(cls, command: Sequence[str], output: Path) -> Seconds:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        with output.open("wb") as file:
            subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=True)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def compare_with_eflomal(eflomal: Eflomal | None, rounds: int) -> float | None:
    """Print the times of both, and return the median ratio of wall times."""
    pairs = caption_pairs()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        NumberedText(pairs).write(folder / "source", folder / "target")
        NumberedText(pairs.slice(0, 100)).write(folder / "few.source", folder / "few.target")
        align = [sys.executable, "-m", "interlace", "align"]
        # compiles
        Seconds.of(
            [*align, str(folder / "few.source"), str(folder / "few.target")], folder / "few"
        )
        commands = {"gibbs": [*align, str(folder / "source"), str(folder / "target")]}
        if eflomal:
            commands["eflomal"] = eflomal.command(folder)
        runs: dict[str, list[Seconds]] = {name: [] for name in commands}
        for _ in range(rounds):
            for aligner, command in commands.items():
                runs[aligner].append(Seconds.of(command, folder / aligner))
    print(
        f"\n{len(pairs):,} pairs, {rounds} rounds\n\n| aligner | wall s | processor s |\n|---|---|---|"
    )
    for aligner, times in runs.items():
        print(
            f"| {aligner} | {_spread([run.wall for run in times])} | {_spread([run.cpu for run in times])} |"
        )
    if not eflomal:
        print(
            "\neflomal skipped: not found; set --peer-python to an interpreter in the same folder"
        )
        return None
    both = list(zip(runs["eflomal"], runs["gibbs"], strict=True))
    cpu = statistics.median(theirs.cpu / ours.cpu for theirs, ours in both)
    print(f"\neflomal takes {cpu:.2f} times the processor time")
    return statistics.median(theirs.wall / ours.wall for theirs, ours in both)


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def measure(size: int) -> None:
    """Train on and align so many pairs, and print time and memory (in a new process)."""
    pairs = caption_pairs()
    few = pairs.slice(0, 100)
    Gibbs().fit(few).align(few)
    with tempfile.TemporaryDirectory() as name:
        many = repeat_pairs(pairs, size, Path(name))
        cells = int((many.source.lengths * many.target.lengths).sum())
        before, start, cpu = process_memory("RssAnon"), time.perf_counter(), time.process_time()
        fitted = Gibbs().fit(many)
        training, start = time.perf_counter() - start, time.perf_counter()
        links = sum(
            len(fitted.align_training_pairs(chunk).links.flat) for chunk in many.chunks()
        )
        aligning = time.perf_counter() - start
        cpu, peak = (
            time.process_time() - cpu,
            process_memory("VmHWM") - before - process_memory("RssFile"),
        )
    stored = min(cells, Gibbs().max_training_cells)
    print(
        f"| {size:,} | {training:.1f} | {aligning:.1f} | {(training + aligning) / size * 1e6:.0f} "
        f"| {cpu / size * 1e6:.0f} | {peak:,.0f} | {cells / 1e6:.0f} | {peak * 2**20 / stored:.0f} "
        f"| {links / size:.1f} |"
    )
    print(json.dumps([cpu / size, peak, stored * CELL / 2**20]))


def growth(sizes: Sequence[int]) -> list[Target]:
    print(
        "\n| pairs | training s | aligning s | us per pair | processor us per pair | peak MiB | million cells "
        "| bytes per stored cell | links per pair |\n|---|---|---|---|---|---|---|---|---|"
    )
    times, peaks, cells = np.array([measure_in_new_process(__file__, size) for size in sizes]).T
    return [
        Target(
            "processor time per pair, largest over smallest", times[-1] / times[0], MAX_GROWTH
        ),
        Target("MiB besides the cells", float((peaks - cells).max()), MAX_OVERHEAD),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer-python")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return 0
    print(environment())
    if options.growth or options.large:
        targets = growth([30_000, 300_000, *([3_000_000] if options.large else [])])
    else:
        ratio = compare_with_eflomal(Eflomal.find(options.peer_python), options.rounds)
        targets = [
            Target("wall time of eflomal over gibbs", ratio, MIN_RATIO, at_least=True),
            Target("seconds to the first links", startup_seconds(TEN_PAIRS), MAX_STARTUP),
        ]
    print()
    return report(targets)


if __name__ == "__main__":
    sys.exit(main())
