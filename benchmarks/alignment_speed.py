"""Claims: from two files of text to a file of links, `interlace align` takes no longer than eflomal; a second process
aligns ten pairs within a second; time grows no faster than the pairs, and memory as `max_training_cells` allows.

    python benchmarks/alignment_speed.py [--peer-python PYTHON] [--rounds N] [--growth] [--large]

Both read words from files and write links to files, and both are started anew each time, so that everything counts:
imports, numbering, learning, links. eflomal gives the links of both directions; ours are joined as well. They are timed
by turns; the ratio is the median over rounds. Processor seconds stand beside wall seconds, because they say more where
other programs run. The program `eflomal-align` is no dependency: it is looked for beside the interpreter that
`--peer-python` names, and on the PATH; without it, that claim is left out.

`--growth` only measures growth: fresh processes learn from and link 30 and 300 thousand pairs, and three million with
`--large`: the text repeated, with every tenth word exchanged for another of the text, mapped from a file.

The text is that of diagonal.py, which measures the aligner `diagonal`.
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
from _alignment_peers import Eflomal, shown
from _where import where
from diagonal import grown, status, text

from interlace.aligners.gibbs import Gibbs

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_SLOWER, START, LINEAR = 1.0, 1.0, 1.0  # the claims
SPARE = 300  # MiB that memory may be beyond what the cells take
CELL = 28  # bytes, as `max_training_cells` says; a second thread may take 9 more
STARTS = 6  # processes that link ten pairs, after a first one
TEN = """
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


# ---- against eflomal ----


@dataclass(frozen=True)
class Spent:
    """Seconds a program took: of the clock, and of all processors."""

    wall: float
    cpu: float

    @classmethod
    def running(cls, command: Sequence[str], output: Path) -> Spent:
        """Start a program and wait for its end."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        with output.open("wb") as file:
            subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=True)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def by_turns(commands: dict[str, Sequence[str]], folder: Path, rounds: int) -> dict[str, list[Spent]]:
    """What each program spends in each round."""
    found: dict[str, list[Spent]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(Spent.running(command, folder / name))
    return found


def against_eflomal(eflomal: Eflomal | None, rounds: int) -> float | None:
    """Print what each takes; how many times as long eflomal takes, if it is there."""
    pairs = text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shown(pairs).write(folder / "source", folder / "target")
        shown(pairs.slice(0, 100)).write(folder / "few.source", folder / "few.target")
        Spent.running(_ours(folder, "few."), folder / "few")  # compiles, or loads what is compiled
        commands = {"gibbs": _ours(folder), **({"eflomal": eflomal.command(folder)} if eflomal else {})}
        spent = by_turns(commands, folder, rounds)
    print(f"\n{len(pairs):,} pairs, {rounds} rounds\n\n| aligner | wall s | processor s |\n|---|---|---|")
    for aligner, runs in spent.items():
        print(f"| {aligner} | {_spread([run.wall for run in runs])} | {_spread([run.cpu for run in runs])} |")
    if not eflomal:
        print("\neflomal is left out: name the interpreter beside which it stands with --peer-python")
        return None
    both = list(zip(spent["eflomal"], spent["gibbs"], strict=True))
    cpu = statistics.median(theirs.cpu / ours.cpu for theirs, ours in both)
    print(f"\neflomal takes {cpu:.2f} times the processor seconds")
    return statistics.median(theirs.wall / ours.wall for theirs, ours in both)


def _ours(folder: Path, prefix: str = "") -> list[str]:
    return [
        sys.executable,
        "-m",
        "interlace",
        "align",
        *(str(folder / f"{prefix}{side}") for side in ("source", "target")),
    ]


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


# ---- the first links of a process ----


def first_links() -> float:
    """Seconds until a new process has linked ten pairs, with its imports; the least of several after the first."""
    runs = [
        subprocess.run([sys.executable, "-c", TEN], capture_output=True, text=True, check=True) for _ in range(STARTS)
    ]
    return min(float(run.stdout) for run in runs[1:])


# ---- growth ----


def measure(size: int) -> None:
    """What the fresh process does: learn from and link so many pairs, and print time and memory."""
    pairs = text()
    few = pairs.slice(0, 100)
    Gibbs().fit(few).align(few)
    with tempfile.TemporaryDirectory() as name:
        many = grown(pairs, size, Path(name))
        cells = int((many.source.lengths * many.target.lengths).sum())
        before, start, spent = status("RssAnon"), time.perf_counter(), time.process_time()
        fitted = Gibbs().fit(many)
        learnt, start = time.perf_counter() - start, time.perf_counter()
        links = sum(len(fitted.align_training_pairs(chunk).links.flat) for chunk in many.chunks())
        linked = time.perf_counter() - start
        spent, peak = time.process_time() - spent, status("VmHWM") - before - status("RssFile")
    held = min(cells, Gibbs().max_training_cells)
    print(
        f"| {size:,} | {learnt:.1f} | {linked:.1f} | {(learnt + linked) / size * 1e6:.0f} | {spent / size * 1e6:.0f} "
        f"| {peak:,.0f} | {cells / 1e6:.0f} | {peak * 2**20 / held:.0f} | {links / size:.1f} |"
    )
    print(json.dumps([spent / size, peak, held * CELL / 2**20]))


def growth(sizes: Sequence[int]) -> tuple[float, float]:
    """Processor time a pair at the greatest size over that at the smallest; most MiB beyond what the cells take."""
    print(
        "\n| pairs | learnt in s | linked in s | us a pair | processor us a pair | peak MiB | million cells "
        "| bytes a cell held | links a pair |\n|---|---|---|---|---|---|---|---|---|"
    )
    rows = []
    for size in sizes:
        command = [sys.executable, __file__, "--measure", str(size)]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        row, figures = run.stdout.strip().split("\n")
        print(row, flush=True)
        rows.append(json.loads(figures))
    times, peaks, cells = np.array(rows).T
    return times[-1] / times[0], float((peaks - cells).max())


def main() -> int:
    """Measure, and say whether the claims hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return 0
    print(where())
    if options.growth or options.large:
        slower, more = growth([30_000, 300_000, *([3_000_000] if options.large else [])])
        claims = [
            ("processor time a pair, greatest over smallest", slower, LINEAR, -1),
            ("MiB beyond the cells", more, SPARE, -1),
        ]
    else:
        times = against_eflomal(Eflomal.find(options.peer_python), options.rounds)
        claims = [
            ("times the wall seconds of gibbs", times, NO_SLOWER, 1),
            ("seconds to the first links", first_links(), START, -1),
        ]
    print()
    found = [claim for claim in claims if claim[1] is not None]
    for what, value, limit, sign in found:
        holds = "holds" if value * sign >= limit * sign else "DOES NOT HOLD"
        print(f"{what}: {value:.2f}, at {'least' if sign > 0 else 'most'} {limit} claimed: {holds}")
    return int(any(value * sign < limit * sign for _, value, limit, sign in found))


if __name__ == "__main__":
    sys.exit(main())
