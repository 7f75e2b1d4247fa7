"""The folder of a run: its lock and its plain files."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from interlace.core.errors import RunError
from interlace.core.files import atomic

RECIPE, RUN, METRICS, SAMPLES, SCORES = "recipe.json", "run.json", "metrics.jsonl", "samples.json", "scores.json"
ALIGNMENTS, WORDS, VECTORS = "alignments.json", "words.safetensors", "vectors"
EVALUATION = "evaluate.json"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder for this process; the lock of a killed process is free again.

    Raises:
        RunError: another process holds the lock, or the folder cannot be made or written.
    """
    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise RunError(f"{folder}: in use by another process; wait for it or choose another folder") from None
    except (FileExistsError, NotADirectoryError):
        raise RunError(f"{folder}: is or is below a file, not the folder of a run; choose another folder") from None
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error.strerror}; choose another folder") from None
    try:
        yield
    finally:
        lock.release()


def write_json(path: Path, data: Any) -> None:
    """Write data atomically."""
    with atomic(path) as partial:
        partial.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path, default: Any = None) -> Any:
    """Return the file's data, or `default` if there is no file.

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
    """Append one line of JSON."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def cut_metrics(path: Path, step: int) -> None:
    """Remove the lines of steps after `step`, which a resumed run writes again."""
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            row = json.loads(line)
        except ValueError:  # empty, or the incomplete line of a killed process
            continue
        if row["step"] <= step:
            kept.append(line + "\n")
    with atomic(path) as partial:
        partial.write_text("".join(kept), encoding="utf-8")
