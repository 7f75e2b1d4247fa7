"""A run's folder: who may write in it, and its plain files.

The lock is `flock`'s: the kernel drops it when its holder dies, so a killed run never blocks its restart.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from interlace.core.errors import RunError
from interlace.core.files import atomic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

RECIPE, RUN, METRICS, SAMPLES, SCORES, EMBEDDING, ALIGNMENTS, WORDS, VECTORS, EVALUATION = (
    "recipe.json",
    "run.json",
    "metrics.jsonl",
    "samples.json",
    "scores.json",
    "embedding.json",
    "alignments.json",
    "words.safetensors",
    "vectors",
    "evaluate.json",
)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder for this process.

    Raises:
        RunError: another process holds it, or it cannot be made or written.
    """
    with _lock_file(folder) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise RunError(f"{folder}: in use by another process ({holder}); wait for it or choose another") from None
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def _lock_file(folder: Path) -> TextIO:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / ".lock").open("a+")
    except (FileExistsError, NotADirectoryError):
        raise RunError(f"{folder}: a file stands where a run's folder is expected; choose another folder") from None
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error.strerror}; choose another folder") from None


def write_json(path: Path, data: Any) -> None:
    """Write atomically."""
    with atomic(path) as partial:
        partial.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path, default: Any = None) -> Any:
    """The file's data, or `default` where there is none.

    Raises:
        RunError: the file is damaged; names the line.
    """
    if not path.exists():
        return default
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{path}: damaged: {error}") from error


def append_line(path: Path, row: Mapping[str, Any]) -> None:
    """Add one JSON line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def cut_metrics(path: Path, step: int) -> None:
    """Drop what was recorded after `step`: a resumed run writes those lines again."""
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            row = json.loads(line)
        except ValueError:  # empty, or the half line of a killed process
            continue
        if row["step"] <= step:
            kept.append(line + "\n")
    with atomic(path) as partial:
        partial.write_text("".join(kept), encoding="utf-8")
