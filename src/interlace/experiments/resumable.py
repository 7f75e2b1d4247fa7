"""Output files that are written in windows and resumed after an interruption.

Next to the output file are a partial file and its progress: the source text, the settings and the number of bytes.
Bytes after the recorded progress are discarded.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import json
import logging
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from interlace.core.errors import DataError, RunError
from interlace.core.files import NO_LINK, must_take_a_file
from interlace.training.run_folder import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from interlace.experiments.translation import LineRange

log = logging.getLogger(__name__)

_SAVE_EVERY = 2.0  # seconds
_BLOCK = 10_000  # lines hashed at a time


@dataclass
class ResumableFile:
    """The remaining lines of a source, and the partial file of their results.

    lines: the remaining lines. done: number of lines whose results are written. counts: summed over windows.
    """

    path: Path
    key: dict[str, Any]
    file: BinaryIO
    source: LineRange
    done: int = field(init=False)
    counts: dict[str, int] = field(init=False)
    lines: Iterator[str] = field(init=False)
    _progress: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self._reset()
        self._saved = -_SAVE_EVERY  # save at once
        self.lines = self._remaining()

    def write(self, read: Sequence[str], rows: Sequence[str], counts: Mapping[str, int]) -> None:
        """Append the results of some lines."""
        data = "".join(f"{row}\n" for row in rows).encode()
        data = gzip.compress(data, mtime=0) if self.path.suffix == ".gz" else data
        self.file.write(data)
        self._count(read)
        self.counts = {name: self.counts.get(name, 0) + count for name, count in counts.items()}
        self._progress = self._state(int(self._progress["bytes"]) + len(data))
        if time.monotonic() - self._saved >= _SAVE_EVERY:
            self.save()

    @property
    def digest(self) -> str:
        """The `digest_of` the lines that are done."""
        return self._digest.hexdigest()

    def save(self) -> None:
        """Store the progress."""
        self.sync()
        write_json(_state_path(self.path), self._progress)
        self._saved = time.monotonic()

    def interrupt(self) -> None:
        """Store the progress, or remove the partial file if no line is done."""
        if self.done:
            self.save()
            return
        _partial(self.path).unlink()
        _state_path(self.path).unlink(missing_ok=True)

    def sync(self) -> None:
        """Flush the partial file to the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def _remaining(self) -> Iterator[str]:
        """Return the lines that are not done; all lines if the partial file has another text or other settings."""
        state = read_json(_state_path(self.path))
        if state is None:
            self.file.truncate(0)
            return iter(self.source)
        lines = iter(self.source)
        if state["key"] == self.key and state["bytes"] <= os.fstat(self.file.fileno()).st_size:
            for block in _blocks(islice(lines, state["lines"])):
                self._count(block)
            self.counts = state["counts"]
            self._progress = self._state(state["bytes"])
            if self._progress == state:
                self.file.truncate(state["bytes"])
                if self.done:
                    log.info("%s: resuming after line %s", self.path, f"{self.source.first + self.done:,}")
                return lines
        log.info("%s: the partial file belongs to another text or other settings; starting over", self.path)
        self._reset()
        self.file.truncate(0)
        _state_path(self.path).unlink()
        return iter(self.source)

    def _reset(self) -> None:
        self.done, self.counts, self._digest = 0, {}, _hasher()
        self._progress = self._state(0)

    def _state(self, size: int) -> dict[str, Any]:
        return {"key": self.key, "lines": self.done, "bytes": size, "read": self.digest, "counts": self.counts}

    def _count(self, lines: Sequence[str]) -> None:
        _digest(self._digest, lines)
        self.done += len(lines)


@contextmanager
def resumable(source: LineRange, path: Path, key: dict[str, Any]) -> Iterator[ResumableFile]:
    """Write the file `path` from the lines of `source` under the settings `key`; resume an interrupted one.

    Raises:
        RunError: another process writes it.
        DataError: the text cannot be read, or `path` cannot be a file.
    """
    must_take_a_file(path)
    if path.exists() and path.samefile(source.path):
        raise DataError(f"{path}: is the source text; write to another file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise DataError(f"{path}: {path.parent} is not a folder") from None
    with _opened(_partial(path)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{path}: another process is writing it") from None
        result = ResumableFile(path, json.loads(json.dumps({**key, "first": source.first})), file, source)
        try:
            yield result
        except BaseException:
            result.interrupt()
            raise
        result.sync()
        os.replace(_partial(path), path)
        _state_path(path).unlink(missing_ok=True)


def _opened(path: Path) -> BinaryIO:
    """Open a file for appending; create it if missing.

    Raises:
        DataError: the path is a symbolic link.
    """
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK, 0o666), "ab")
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise DataError(f"{path}: is a symbolic link; remove it") from None


def digest_of(lines: Iterable[str]) -> str:
    """Return a hash of a text's lines."""
    digest = _hasher()
    for block in _blocks(lines):
        _digest(digest, block)
    return digest.hexdigest()


def _hasher() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def _digest(digest: hashlib.blake2b, lines: Sequence[str]) -> None:
    digest.update("".join(f"{line}\n" for line in lines).encode())


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    coming = iter(lines)
    while block := list(islice(coming, _BLOCK)):
        yield block


def _partial(path: Path) -> Path:
    return path.parent / f".{path.name}.partial"


def _state_path(path: Path) -> Path:
    return path.parent / f".{path.name}.partial.json"
