"""The folder of a run: its lock and its plain files."""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NotRequired, Required

from filelock import FileLock, Timeout
from pydantic import Field
from typing_extensions import TypedDict

from interlace.core.display import listed
from interlace.core.errors import DataError, RunError
from interlace.core.files import (
    MAX_LINE,
    atomic,
    disk_errors,
    must_not_be_special,
    open_no_link,
)
from interlace.core.json_files import (
    JsonMapping,
    JsonObject,
    checked,
    json_record,
    parse_json,
    read_json,
)

log = logging.getLogger(__name__)

RECIPE = "recipe.json"
RUN = "run.json"
METRICS = "metrics.jsonl"
SAMPLES = "samples.json"
SCORES = "scores.json"
WORDS = "words.safetensors"
VECTORS = "vectors"
EVALUATION = "evaluate.json"
RUN_STATE = "run_state.json"
CELL = "cell.json"
CODE = "code"
_REMEDY = "delete this line"  # of a damaged `metrics.jsonl`
# all that a failed start leaves
_FIRST = {
    RECIPE,
    RUN_STATE,
    CODE,
    "dictionaries",
    "predictions",
}
# what may precede the marks of a folder
_OWN = {*_FIRST, "text", "trackers", "contamination.json"} - {RECIPE}


@json_record
class FileRecord(TypedDict):
    """A file in `data` of `run.json`."""

    name: str
    bytes: int
    digest: str


@json_record
class CorpusRecord(TypedDict):
    """A corpus in `data` of `run.json`."""

    split: str
    languages: Annotated[list[str], Field(min_length=1)]
    rows: int
    subwords: int
    left_out: dict[str, int]
    files: list[FileRecord]
    aligner: NotRequired[str]


@json_record
class RunRecord(TypedDict, total=False):
    """`run.json`; `finished` is the time, `seconds` are those of all updates."""

    name: str
    interlace: str
    python: str
    torch: str
    transformers: str
    platform: str
    processor: str
    cores: int | None
    threads: int
    device: str
    precision: str
    processes: int
    finished: str | bool
    model_key: str
    stopped: str
    steps: int
    tokens: int
    parameters: int
    perplexity_unit: str
    seconds: dict[str, float]
    shares: dict[str, float]
    data: list[CorpusRecord]


@json_record
class MetricsRow(TypedDict, total=False):
    """A line of `metrics.jsonl`."""

    kind: str
    step: Required[int]
    scores: dict[str, float | None]


def check_folder(folder: Path, *marks: str) -> None:
    """Reject a folder with files of others: none of the marks, and something other than logs and a failed start's."""
    if not folder.is_dir() or any((folder / mark).is_file() for mark in (*marks, CELL)):
        return
    foreign = []
    for path in sorted(folder.iterdir()):
        if path.name[0] != "." and path.suffix != ".log" and path.name not in _OWN:
            foreign.append(path.name)
    if foreign:
        raise RunError(
            f"{folder}: holds {listed(foreign)} but no {marks[0]}, so it belongs to something else; choose another "
            f"folder, such as {folder / 'run'}"
        )


@contextmanager
def locked(folder: Path, *marks: str) -> Iterator[None]:
    """Lock the folder for this process; the lock of a killed process is free again.

    A folder that this call makes is removed after an error if it holds no more than first records.
    Raise a RunError if another process holds the lock, or the folder holds files of others.

    marks: files one of which shows that the folder is of the kind that is wanted; default: the recipe of a run.
    """
    check_folder(folder, *(marks or [RECIPE]))
    is_new = not folder.exists()
    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise RunError(
            f"{folder}: in use by another process; wait for it or choose another folder"
        ) from None
    except OSError as error:
        raise RunError(
            f"{folder}: cannot be written or locked: {error.strerror}; choose another folder"
        ) from None
    try:
        yield
    except BaseException:
        entries = {path.name for path in folder.iterdir()}
        if is_new and entries <= {*_FIRST, ".lock"}:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        lock.release()


def read_run(folder: Path) -> JsonObject:
    """Return `run.json`; empty if there is none. Raise a DataError if it is damaged."""
    return read_json(
        folder / RUN, RunRecord, {}, remedy="remove it, and rerun the command to write it again"
    )


def read_scores(folder: Path) -> list[JsonObject]:
    """Return the entries of `scores.json`, without those of previous weights of a run that was trained again."""
    entries: list[JsonObject] = read_json(folder / SCORES, list[JsonObject], [])
    key = read_run(folder).get("model_key")
    current = [entry for entry in entries if not key or entry.get("model_key", key) == key]
    if len(current) < len(entries):
        log.warning("%s: leaving out scores of previous weights; evaluate it again", folder)
    return current


def read_metrics(path: Path) -> list[JsonObject]:
    """Return the lines of `metrics.jsonl`, without the incomplete one that a killed process leaves at the end."""
    return [row for row, _ in _metrics_lines(path)]


def _metrics_lines(path: Path) -> Iterator[tuple[JsonObject, bytes]]:
    """Yield the rows of `metrics.jsonl`, each with its line."""
    must_not_be_special(path)
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
            if len(line) > MAX_LINE:
                raise DataError(
                    f"{path}, line {number}: more than {MAX_LINE >> 20} MB; {_REMEDY}"
                )
            if not line.strip():
                continue
            try:
                row = parse_json(line)
            except ValueError as error:
                if not line.endswith(b"\n"):
                    return
                raise DataError(
                    f"{path}, line {number}: damaged: {error}; {_REMEDY}"
                ) from error
            yield (
                checked(row, MetricsRow, f"{path}, line {number}", _REMEDY),
                line.removesuffix(b"\n"),
            )


def append_line(path: Path, row: JsonMapping) -> None:
    """Append one line of JSON."""
    with disk_errors(path), open_no_link(path, "a", "utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def training_seconds(path: Path) -> float:
    """Return the seconds of all updates in `metrics.jsonl`, those before an interruption included."""
    return sum(row.get("seconds", 0.0) for row, _ in _metrics_lines(path))


def cut_metrics(path: Path, step: int) -> None:
    """Remove the lines of steps after `step`, which a resumed run writes again."""
    if path.exists():
        lines = [line + b"\n" for row, line in _metrics_lines(path) if row["step"] <= step]
        with atomic(path) as partial:
            partial.write_bytes(b"".join(lines))
