"""A file that is written a window at a time, and goes on where a killed process stopped.

Beside the file stand what is written so far and a note of how far that is: of what text, by what settings, to which
byte. What was written behind the note is cut off and made again.
"""

from __future__ import annotations

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

from interlace.errors import DataError, RunError
from interlace.text.lines import read_lines
from interlace.train.folder import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

log = logging.getLogger(__name__)

EVERY = 2.0  # seconds between two notes


@dataclass
class Resuming:
    """The lines that are still to be read, and where their results go.

    lines: those that are still to be read. done: how many lines' results are written. counts: what was counted on the
    way, kept with the rest.
    """

    path: Path
    key: dict[str, Any]
    file: BinaryIO
    source: Path
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

    def note(self) -> None:
        """Write down how far it is."""
        self.sync()
        write_json(_state(self.path), self._known)
        self._noted = time.monotonic()

    def sync(self) -> None:
        """Have all that is written on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def _left(self) -> Iterator[str]:
        """The lines behind those that are done; all of them where the note is of other text or settings."""
        state = read_json(_state(self.path))
        if state is None:
            self.file.truncate(0)
            return read_lines(self.source)
        lines = read_lines(self.source)
        if state["key"] == self.key and state["bytes"] <= os.fstat(self.file.fileno()).st_size:
            self._count(list(islice(lines, state["lines"])))
            self.counts = state["counts"]
            self._known = self._told(state["bytes"])
            if self._known == state:
                self.file.truncate(state["bytes"])
                log.info("%s: going on behind line %s", self.path, f"{self.done:,}")
                return lines
        log.info("%s: what is there of it is of another text or other settings; it starts anew", self.path)
        self._begin()
        self.file.truncate(0)
        _state(self.path).unlink()
        return read_lines(self.source)

    def _begin(self) -> None:
        self.done, self.counts, self._digest = 0, {}, hashlib.blake2b(digest_size=16)
        self._known = self._told(0)

    def _told(self, size: int) -> dict[str, Any]:
        digest = self._digest.hexdigest()
        return {"key": self.key, "lines": self.done, "bytes": size, "read": digest, "counts": self.counts}

    def _count(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._digest.update(line.encode() + b"\n")
        self.done += len(lines)


@contextmanager
def resuming(source: Path, path: Path, key: dict[str, Any]) -> Iterator[Resuming]:
    """Go on with the file `path`, made of the lines of `source` under the settings `key`; or begin it.

    Raises:
        RunError: another process writes it.
        DataError: the text cannot be read, or a folder stands at `path`.
    """
    if path.is_dir():
        raise DataError(f"{path}: a folder where a file is to be written")
    if path.exists() and path.samefile(source):
        raise DataError(f"{path}: is what is read; write to another file")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _partial(path).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{path}: another process is writing it") from None
        at_work = Resuming(path, json.loads(json.dumps(key)), file, source)
        try:
            yield at_work
        except BaseException:
            at_work.note()
            raise
        at_work.sync()
        os.replace(_partial(path), path)
        _state(path).unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    return path.parent / f".{path.name}.partial"


def _state(path: Path) -> Path:
    return path.parent / f".{path.name}.partial.json"
