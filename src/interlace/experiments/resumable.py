"""A file that is written a window at a time, and goes on where a killed process stopped.

Beside the file stand what is written so far and a note of how far that is: of what text, by what settings, to which
byte. What was written behind the note is cut off and made again.
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

EVERY = 2.0  # seconds between two notes
_BLOCK = 10_000  # lines that are held at a time where they are only read over


@dataclass
class ResumableFile:
    """The lines that are still to be read, and where their results go.

    lines: those that are still to be read. done: how many lines' results are written. counts: what was counted on the
    way, kept with the rest.
    """

    path: Path
    key: dict[str, Any]
    file: BinaryIO
    source: LineRange
    done: int = field(init=False)
    counts: dict[str, int] = field(init=False)
    lines: Iterator[str] = field(init=False)
    _known: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self._begin()
        self._noted = -EVERY  # a first note at once
        self.lines = self._left()

    def write(self, read: Sequence[str], rows: Sequence[str], counts: Mapping[str, int]) -> None:
        """Add the rows that came of some lines."""
        data = "".join(f"{row}\n" for row in rows).encode()
        data = gzip.compress(data, mtime=0) if self.path.suffix == ".gz" else data
        self.file.write(data)
        self._count(read)
        self.counts = {name: self.counts.get(name, 0) + count for name, count in counts.items()}
        self._known = self._told(int(self._known["bytes"]) + len(data))
        if time.monotonic() - self._noted >= EVERY:
            self.note()

    @property
    def digest(self) -> str:
        """As `digest_of` has it, of the lines that are done."""
        return self._digest.hexdigest()

    def note(self) -> None:
        """Write down how far it is."""
        self.sync()
        write_json(_state(self.path), self._known)
        self._noted = time.monotonic()

    def leave(self) -> None:
        """Stop here; where nothing is done yet, nothing is left behind."""
        if self.done:
            self.note()
            return
        _partial(self.path).unlink()
        _state(self.path).unlink(missing_ok=True)

    def sync(self) -> None:
        """Have all that is written on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def _left(self) -> Iterator[str]:
        """The lines behind those that are done; all of them where the note is of other text or settings."""
        state = read_json(_state(self.path))
        if state is None:
            self.file.truncate(0)
            return iter(self.source)
        lines = iter(self.source)
        if state["key"] == self.key and state["bytes"] <= os.fstat(self.file.fileno()).st_size:
            for block in _blocks(islice(lines, state["lines"])):
                self._count(block)
            self.counts = state["counts"]
            self._known = self._told(state["bytes"])
            if self._known == state:
                self.file.truncate(state["bytes"])
                if self.done:
                    log.info("%s: going on behind line %s", self.path, f"{self.source.first + self.done:,}")
                return lines
        log.info("%s: what is there of it is of another text or other settings; it starts anew", self.path)
        self._begin()
        self.file.truncate(0)
        _state(self.path).unlink()
        return iter(self.source)

    def _begin(self) -> None:
        self.done, self.counts, self._digest = 0, {}, _hasher()
        self._known = self._told(0)

    def _told(self, size: int) -> dict[str, Any]:
        return {"key": self.key, "lines": self.done, "bytes": size, "read": self.digest, "counts": self.counts}

    def _count(self, lines: Sequence[str]) -> None:
        _digest(self._digest, lines)
        self.done += len(lines)


@contextmanager
def resumable(source: LineRange, path: Path, key: dict[str, Any]) -> Iterator[ResumableFile]:
    """Go on with the file `path`, made of the lines of `source` under the settings `key`; or begin it.

    Raises:
        RunError: another process writes it.
        DataError: the text cannot be read, or something that is no file stands at `path`.
    """
    must_take_a_file(path)
    if path.exists() and path.samefile(source.path):
        raise DataError(f"{path}: is what is read; write to another file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise DataError(f"{path}: {path.parent} is no folder to write in") from None
    with _opened(_partial(path)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{path}: another process is writing it") from None
        at_work = ResumableFile(path, json.loads(json.dumps({**key, "first": source.first})), file, source)
        try:
            yield at_work
        except BaseException:
            at_work.leave()
            raise
        at_work.sync()
        os.replace(_partial(path), path)
        _state(path).unlink(missing_ok=True)


def _opened(path: Path) -> BinaryIO:
    """A file to append to, made where there is none.

    Raises:
        DataError: a symbolic link or no file stands there.
    """
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK, 0o666), "ab")
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise DataError(f"{path}: a symbolic link where lines are to be kept; remove it") from None


def digest_of(lines: Iterable[str]) -> str:
    """A hash of a text that hangs on nothing but its lines."""
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


def _state(path: Path) -> Path:
    return path.parent / f".{path.name}.partial.json"
