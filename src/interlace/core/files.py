"""Atomic writing: files and folders appear whole or not at all, and errors name the path and what is expected."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.errors import DataError, InterlaceError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # flag of `os.open`: do not follow a symbolic link
_FULL = {errno.ENOSPC, errno.EDQUOT}


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


def _names(folder: Path) -> list[str]:
    """Names of what stands in a folder, at most so many that a message stays readable."""
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    return names if len(names) <= 200 else names[:200]


def must_take_a_file(path: Path) -> None:
    """Refuse to put a file where something else stands.

    A file that is moved into place removes what has its name. Of a device such as the terminal's, every other program
    would miss it.

    Raises:
        DataError: a folder, a pipe or a device stands at `path`.
    """
    if path.is_dir():
        raise DataError(f"{path}: a folder where a file is to be written")
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: a pipe or a device where a file is to be written, which would take its place")
