"""Environment, memory, targets and text that several benchmarks share."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numba
import numpy as np

from interlace.alignment import WordPairs
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.readers.lines import PlainLines

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parent.parent


def environment() -> str:
    """Return commit, processor, load and versions in one line; `+` marks uncommitted changes in src."""
    commit = _git("rev-parse", "--short", "HEAD") or "unknown"
    changed = "+" if _git("status", "--porcelain", "--", "src") else ""
    return (
        f"Commit {commit}{changed}; {os.cpu_count()} cores of {_processor()}, load {os.getloadavg()[0]:.1f} before; "
        f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}."
    )


def _git(*command: str) -> str:
    return subprocess.run(
        ["git", "-C", ROOT, *command], capture_output=True, text=True, check=False
    ).stdout.strip()


def _processor() -> str:
    try:
        rows = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (row.split(":", 1)[1].strip() for row in rows if row.startswith("model name")),
        platform.machine(),
    )


def process_memory(field: str) -> float:
    """Return a field of /proc/self/status in MiB; `getrusage` would include the peak of the parent process."""
    rows = dict(
        row.split(":", 1)
        for row in Path("/proc/self/status").read_text().split("\n")
        if ":" in row
    )
    return int(rows[field].split()[0]) / 1024


class MemoryPeak:
    """The peak of a process's memory without mapped files, in MiB, sampled by a thread, above that at the start."""

    def __enter__(self) -> Self:
        self.before = self.value = process_memory("RssAnon")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.value -= self.before

    def _sample(self) -> None:
        while not self._ended.wait(0.02):
            self.value = max(self.value, process_memory("RssAnon"))


@dataclass(frozen=True)
class Target:
    """A measured value and its maximum, or its minimum with `at_least`; None means not measured."""

    name: str
    value: float | None
    limit: float
    at_least: bool = False


def report(targets: Iterable[Target]) -> int:
    """Print whether each measured target is met, and return the exit code."""
    failed = 0
    for target in targets:
        if target.value is not None:
            met = (
                target.value >= target.limit
                if target.at_least
                else target.value <= target.limit
            )
            bound = f"{'at least' if target.at_least else 'at most'} {target.limit}"
            print(
                f"{target.name}: {target.value:.2f} (target: {bound}): {'met' if met else 'NOT MET'}"
            )
            failed |= not met
    return int(failed)


def startup_seconds(script: str) -> float:
    """Return the minimum of the times that five new processes print, after a first one that may compile."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        for _ in range(6)
    ]
    return min(float(run.stdout) for run in runs[1:])


def measure_in_new_process(script: str, size: int, *options: str) -> Any:
    """Run `script --measure size`, print its first line and return the JSON of its second line."""
    command = [sys.executable, script, "--measure", str(size), *options]
    row, figures = (
        subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        .stdout.strip()
        .split("\n")
    )
    print(row, flush=True)
    return json.loads(figures)


def caption_files() -> list[Path] | None:
    """Return Multi30k's English and German training captions, if INTERLACE_DATA has them."""
    folder = Path(os.environ.get("INTERLACE_DATA", "absent"), "parallel", "multi30k")
    return (
        [folder / f"train.{language}.gz" for language in ("en", "de")]
        if folder.is_dir()
        else None
    )


def caption_pairs() -> WordPairs:
    """Return 29,000 sentence pairs: Multi30k, or random words in nearly the same order on both sides."""
    if files := caption_files():
        return WordPairs.of(
            PlainLines(word_tokenizer="unicode").read_chunks(files, ["en", "de"])
        )
    rng = generator(Purpose.SAMPLE, 0)
    shares = 1 / (10 + rng.permutation(10_000))  # Zipf's law
    lengths = rng.integers(4, 22, 29_000)
    words = rng.choice(10_000, size=lengths.sum(), p=shares / shares.sum()).astype(np.int32)
    source = Ragged.from_lengths(words, lengths)
    order = np.lexsort((source.columns() + rng.normal(0, 1, len(words)), source.rows()))
    types = [[f"{side}{number}" for number in range(10_000)] for side in "st"]
    return WordPairs(source, Ragged(words[order], source.offsets), types[0], types[1])


def repeat_pairs(pairs: WordPairs, size: int, folder: Path) -> WordPairs:
    """Repeat the pairs, replace every tenth word by a random word of the text, and map them from files."""
    rng = generator(Purpose.SAMPLE, 2)
    sides = []
    for name, side in (("source", pairs.source), ("target", pairs.target)):
        with (folder / name).open("wb") as file:
            for start in range(0, size, len(side)):
                words = side.flat[: side.offsets[min(len(side), size - start)]].copy()
                replaced = np.flatnonzero(rng.random(len(words)) < 0.1)
                words[replaced] = rng.choice(side.flat, len(replaced))
                file.write(words.tobytes())
        lengths = np.resize(side.lengths, size)
        sides.append(
            Ragged.from_lengths(np.memmap(str(folder / name), np.int32, mode="r"), lengths)
        )
    return replace(pairs, source=sides[0], target=sides[1])
