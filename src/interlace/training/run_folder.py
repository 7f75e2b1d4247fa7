"""The folder of a run: its lock and its plain files."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from interlace.core.errors import RunError
from interlace.core.files import atomic

RECIPE, RUN, METRICS, SAMPLES, SCORES = "recipe.json", "run.json", "metrics.jsonl", "samples.json", "scores.json"
ALIGNMENTS, WORDS, VECTORS = "alignments.json", "words.safetensors", "vectors"
EVALUATION, RUN_STATE, CELL = "evaluate.json", "run_state.json", "cell.json"
_STARTED = {"predictions", "tuning"}  # folders that a failed start leaves empty
_FIRST = {RECIPE, RUN_STATE, "dictionaries", *_STARTED}  # all that a failed start leaves
_OWN = {*_FIRST, "text", "trackers", "contamination.json"} - {RECIPE}  # what may precede the marks of a folder


def check_folder(folder: Path, *marks: str) -> None:
    """Reject a folder with files of others: none of the marks, and something other than logs and a failed start's.

    Raises:
        RunError: names what was found.
    """
    if not folder.is_dir() or any((folder / mark).is_file() for mark in (*marks, CELL)):
        return
    entries = sorted(path for path in folder.iterdir() if path.name[0] != "." and path.suffix != ".log")
    if foreign := [path.name for path in entries if path.name not in _OWN]:
        named, more = ", ".join(map(repr, foreign[:3])), f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        hint = f"choose another folder, such as {folder / 'run'}"
        raise RunError(f"{folder}: holds {named}{more} but no {marks[0]}, so it belongs to something else; {hint}")


@contextmanager
def locked(folder: Path, *marks: str) -> Iterator[None]:
    """Lock the folder for this process; the lock of a killed process is free again.

    A folder that this call makes is removed after an error if it holds no more than first records.

    marks: files one of which shows that the folder is of the kind that is wanted; default: the recipe of a run.

    Raises:
        RunError: another process holds the lock, the folder cannot be made or written, or holds files of others.
    """
    check_folder(folder, *(marks or [RECIPE]))
    made, lock = not folder.exists(), FileLock(folder / ".lock")
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
    except BaseException:
        lock.release()
        kept = {path.name for path in folder.iterdir() if path.name not in _STARTED or any(path.iterdir())}
        if made and kept <= {*_FIRST, ".lock"} - _STARTED:
            shutil.rmtree(folder, ignore_errors=True)
        raise
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
