"""Lines of files, in and out: UTF-8, split on line feeds only, plain or gzip by suffix, written atomically.

Sentences may hold U+0085, U+2028 or control characters, so `str.splitlines` and text-mode universal newlines are wrong
here: only a line feed ends a line, and one carriage return before it is dropped.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import secrets
import shutil
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from interlace.core.errors import DataError, InterlaceError, did_you_mean
from interlace.text.places import must_take_a_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_BLOCK = 1 << 20  # bytes read at a time
_BOM = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # flag of `os.open`: a symbolic link is not followed
_FULL = {errno.ENOSPC, errno.EDQUOT}


class Lines:
    """The lines of one file after another; unlike a generator, it can be read again."""

    def __init__(self, *paths: Path | str) -> None:
        self.paths = [Path(path) for path in paths]

    def __iter__(self) -> Iterator[str]:
        for path in self.paths:
            yield from read_lines(path)


def read_lines(path: Path | str) -> Iterator[str]:
    """The lines of a file, read as they are asked for; a byte order mark at its start is dropped.

    Raises:
        DataError: the file is missing (names the nearest), empty, damaged, or not UTF-8 (names the line).
    """
    path = Path(path)
    first, rest = 1, b""  # the number of the next line, and the bytes of a line not yet ended
    seen = False
    for block in read_blocks(path):
        data = block if seen else block.removeprefix(_BOM)
        seen = True
        head, feed, tail = data.rpartition(b"\n")
        if not feed:
            rest += data
            continue
        lines = _decoded(rest + head, path, first)
        yield from lines
        first += len(lines)
        rest = tail
    if not seen:
        raise DataError(f"{path}: the file is empty")
    if rest:
        yield from _decoded(rest, path, first)


def lines_of(file: BinaryIO, name: str) -> Iterator[str]:
    """The lines of an open file, each as soon as it is there; `name` stands for the file in errors.

    Raises:
        DataError: a line is not UTF-8; names it.
    """
    for number, data in enumerate(iter(file.readline, b""), 1):
        raw = data.removeprefix(_BOM) if number == 1 else data
        yield from _decoded(raw.removesuffix(b"\n"), name, number)


def read_blocks(path: Path | str) -> Iterator[bytes]:
    """Blocks of a file's bytes, unpacked where its name ends in `.gz`; an empty file has none.

    Raises:
        DataError: the file is missing, damaged, or may not be read.
    """
    path = must_exist(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged gzip file: {error}") from error
    except PermissionError as error:
        raise DataError(f"{path}: may not be read: permission denied") from error


def count_lines(path: Path | str) -> int:
    """How many lines `read_lines` gives of a file, whose characters are not looked at; see `read_blocks`."""
    count, last = 0, b"\n"
    for block in read_blocks(path):
        count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


def write_lines(path: Path | str, lines: Iterable[str]) -> None:
    """Write one line each, gzip where the name ends in `.gz`; the file appears whole or not at all.

    Raises:
        DataError: a line holds a line feed, or the disk is full.
    """
    with writing(path) as write:
        write(lines)


@contextmanager
def writing(path: Path | str) -> Iterator[Callable[[Iterable[str]], None]]:
    """The same for lines that come in parts: what is yielded takes each of them.

    Raises:
        DataError: as `write_lines`.
    """
    count = 0
    with atomic(path) as partial, _opened_to_write(partial) as file:

        def write(lines: Iterable[str]) -> None:
            nonlocal count
            for line in lines:
                count += 1
                if "\n" in line:
                    raise DataError(f"{path}: line {count} would hold a line feed: {line[:60]!r}")
                file.write(line.encode("utf-8") + b"\n")

        yield write


def must_exist(path: Path | str, what: str = "file") -> Path:
    """The path, if a file stands there.

    Raises:
        DataError: nothing or a folder stands there; names the nearest file of the folder.
    """
    path = Path(path)
    if path.is_file():
        return path
    if path.is_dir():
        raise DataError(f"{path}: a folder where a {what} is expected{did_you_mean('', _names(path))}")
    if path.exists():
        raise DataError(f"{path}: a pipe or a device where a {what} is expected; what is read may be read twice")
    folder = path.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    if folder != path.parent:
        missing = path.relative_to(folder).parts[0]
        hint = did_you_mean(missing, _names(folder))
        raise DataError(f"{path}: no such {what}; the folder {folder / missing} does not exist{hint}")
    raise DataError(f"{path}: no such {what}{did_you_mean(path.name, _names(folder))}")


@contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """A temporary name beside `path` to write a file at; it takes the place of `path` when all went well.

    Raises:
        DataError: no file may stand there, or the disk is full; nothing is left behind.
    """
    path = Path(path)
    partial = _beside(path)
    with _disk_errors(path):
        must_take_a_file(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, 0o666))
            yield partial
            _sync(partial)
            os.replace(partial, path)
            _sync(path.parent)
        finally:
            partial.unlink(missing_ok=True)


def must_be_replaceable(path: Path | str, mark: str, what: str) -> None:
    """Refuse to put `what` in the place of a file, or of a folder with other things in it than an older one.

    mark: a file that every such folder holds.

    Raises:
        DataError: something else stands at `path`, which writing there would delete.
    """
    path = Path(path)
    if path.exists() and not (path.is_dir() and ((path / mark).is_file() or not any(path.iterdir()))):
        raise DataError(f"{path}: holds something that is no {what} (no {mark}); give a new folder")


@contextmanager
def atomic_folder(path: Path | str) -> Iterator[Path]:
    """An empty temporary folder beside `path` to write in; it takes the place of `path` when all went well.

    A folder cannot replace one that holds something in a single system call: for an instant the old one stands under
    a hidden name. A process killed just then leaves `path` missing, never half-made.

    Raises:
        DataError: the disk is full; nothing is left behind.
    """
    path = Path(path)
    partial = _beside(path)
    with _disk_errors(path):
        try:
            partial.mkdir(parents=True)
            yield partial
            for folder, _, files in os.walk(partial):
                for name in files:
                    _sync(Path(folder, name))
                _sync(Path(folder))
            _swap(partial, path)
            _sync(path.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def remove_partials(path: Path) -> None:
    """Remove what killed writers of `path` left beside it; the caller sees to it that none is at work."""
    for left in path.parent.iterdir():
        name = left.name.lstrip(".")  # a writer inside a temporary folder puts a second dot before the name
        if left.name == name or not name.startswith(f"{path.name}.") or ".partial" not in name:
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.parent / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.partial{path.suffix}"


def _swap(new: Path, path: Path) -> None:
    """Put the folder `new` at `path`; whatever stood there is removed."""
    old = _beside(path)
    with contextlib.suppress(FileNotFoundError):
        path.rename(old)
    new.rename(path)
    if old.is_dir():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have the kernel write a file or folder through to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some file systems cannot sync folders
            raise
    finally:
        os.close(handle)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """What the operating system refuses while `path` is written, in words; libraries wrap the error in their own."""
    try:
        yield
    except InterlaceError:
        raise
    except Exception as error:
        number = error.errno if isinstance(error, OSError) else None
        if number in _FULL or "os error 28)" in str(error):
            raise DataError(f"{path}: no space left on the disk; nothing was kept") from error
        if number in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise DataError(f"{path}: may not be written: {os.strerror(number or 0)}") from error
        raise


def _opened_to_write(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return gzip.GzipFile(path, "wb", compresslevel=6, mtime=0)  # type: ignore[return-value]
    return path.open("wb")


def _decoded(data: bytes, path: Path | str, first: int) -> list[str]:
    """The lines of `data`, whose first is number `first` of the file."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1)
        hint = "; it looks like UTF-16" if first == 1 and data.startswith(_UTF16_MARKS) else ""
        message = f"{path}, line {line}: not valid UTF-8 at byte {column + 1} (0x{data[error.start]:02x}){hint}"
        raise DataError(f"{message}; convert the file to UTF-8") from None
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _names(folder: Path) -> list[str]:
    """Names of what stands in a folder, at most so many that a message stays readable."""
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    return names if len(names) <= 200 else names[:200]
