"""Atomic writing: files and folders appear whole or not at all, and errors name the path and what is expected."""

import contextlib
import errno
import logging
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import Any

from filelock import FileLock, Timeout

from interlace.core.errors import (
    DataError,
    InterlaceError,
    LockedError,
    SettingsError,
    did_you_mean,
    nearest,
)
from interlace.core.system import NO_LINK, host_key, sync

log = logging.getLogger(__name__)

# bytes of a line, a row of a table, an XML element; their subwords take some 300 times as many
MAX_LINE = 8 << 20
LONGEST_NAME = 255  # bytes of the name of a file
_LONGEST_SUFFIX = 20
SILENT_WAIT = 5.0  # seconds before a process says which other one it waits for
_DISK_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EEXIST,
}
_WRAPPED_ERROR = re.compile(r"os error (\d+)\)")  # in messages of libraries in Rust


def user_path(name: Path | str) -> Path:
    """Return the path of a name that may begin with `~`, a home folder; raise a DataError if nobody has such a name."""
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        message = (
            f"{name}: no home folder is known for {Path(name).parts[0]!r}; write the whole path"
        )
        raise DataError(message) from error


def cache_folder() -> Path:
    """Return `INTERLACE_CACHE`, or `interlace` in the platform's cache folder."""
    named = os.environ.get("INTERLACE_CACHE")
    if named:
        try:
            return user_path(named)
        except DataError as error:
            raise SettingsError(f"INTERLACE_CACHE={named!r}: {error}") from error
    try:
        home = Path.home()
    except RuntimeError:  # an unknown user without HOME
        raise SettingsError(
            "no home folder; name a folder for prepared data: INTERLACE_CACHE=/path"
        ) from None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "interlace"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "interlace"


def must_exist(path: Path | str, what: str = "file") -> Path:
    """Return the path if it is a file; otherwise a DataError suggests the nearest file name."""
    path = Path(path)
    if path.is_file():
        return path
    if path.is_dir():
        names = _names(path)
        hint = did_you_mean("", names) if names else "; it has no files"
        raise DataError(f"{path}: a folder where a {what} is expected{hint}")
    must_not_be_special(path, what)
    missing = path
    while not missing.parent.exists():
        missing = missing.parent
    must_not_be_special(missing.parent, "folder")
    if not missing.parent.is_dir():
        raise DataError(f"{path}: no such {what}; {missing.parent} is not a folder")
    raise DataError(
        f"{path}: no such {what}{did_you_mean(missing.name, _names(missing.parent))}"
    )


def must_not_be_special(path: Path, what: str = "file") -> None:
    """Raise a DataError for a pipe or a device, and for a symbolic link to nothing, where others name the nearest file.

    what: is expected at the path.
    """
    if _is_stream(path):
        raise DataError(
            f"{path}: a pipe or a device where a {what} is expected; input may be read twice"
        )
    if path.is_symlink() and not path.exists():
        raise DataError(
            f"{path}: a symbolic link to {path.readlink()}, where there is no {what}"
        )


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def nearest_folder(folder: Path) -> str:
    """Return a hint at a folder beside a missing one that has a similar name; empty if none has."""
    return nearest(folder.name, [path.name for path in folder.parent.glob("*/")])


def must_hold_files(folder: Path, pattern: str = "*") -> Path:
    """Return a folder whose entries are files and folders; a DataError names a pipe or device, which never ends."""
    for path in sorted(folder.glob(pattern)):
        if _is_stream(path):
            raise DataError(f"{path}: a pipe or a device where a file is expected; remove it")
    return folder


def write_fault(folder: Path) -> str:
    """Return why no file can be created in a folder, which may have to be made first; empty if one can.

    A file is created and removed: only this shows what permissions and file systems allow.
    """
    try:
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            return f"{folder} is not a folder"
        with TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"no file can be created in {folder}: {error.strerror}"


@contextmanager
def atomic(path: Path | str, suffix: str | None = None) -> Iterator[Path]:
    """Yield a temporary path next to `path`, which its file replaces on success; after an error nothing remains.

    A link at `path` is replaced, not followed: see `core.outputs` for paths that users name.

    suffix: of the temporary name, by which a format may be chosen; default: that of `path`.
    """
    path = Path(path)
    with disk_errors(path):
        must_take_a_file(path)
        partial = _beside(path, path.suffix if suffix is None else suffix)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, 0o666))
            mode = partial.stat().st_mode & 0o666  # without what the umask forbids
            yield partial
            _finish(partial, mode)
            os.replace(partial, path)
            sync(path.parent)
        finally:
            partial.unlink(missing_ok=True)


def must_be_replaceable(
    path: Path | str, mark: str, what: str, contents: Iterable[str]
) -> None:
    """Reject an output path, which writing would replace, unless it is an older `what`: a folder with a `mark`.

    contents: patterns of its other files, as in `check_contents`; anything else, which would be deleted, is an error.
    """
    path = Path(path)
    is_earlier = path.is_dir() and ((path / mark).is_file() or not any(path.iterdir()))
    if path.exists() and not is_earlier:
        raise DataError(
            f"{path}: holds something that is no {what} (no {mark}); choose a new folder"
        )
    check_contents(path, [mark, *contents], what)


def check_contents(folder: Path, patterns: Iterable[str], what: str) -> None:
    """Reject a folder, which is to be deleted, if anything in it is not of a `what`: files, links, and other folders.

    patterns: of the files of a `what`, as paths from the folder; `*` stands for a part of one name.
    """
    files = [PurePosixPath("/", pattern) for pattern in patterns]
    folders = [parent for file in files for parent in file.parents]
    for parent, folder_names, file_names in walk(folder):
        for name in (*folder_names, *file_names):
            entry = Path(parent, name)
            expected = files
            if name in folder_names and not entry.is_symlink():
                expected = folders
            inner = PurePosixPath("/", entry.relative_to(folder).as_posix())
            if not any(inner.match(str(path)) for path in expected):
                raise DataError(
                    f"{entry}: is not of the {what}, and would be deleted; choose a new folder"
                )


def walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk through a folder, if there is one, as `os.walk`; raise a DataError that names one that cannot be read."""

    def fail(error: OSError) -> None:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise DataError(f"{error.filename}: cannot be read: {error.strerror}") from error

    return os.walk(folder, onerror=fail)


@contextmanager
def atomic_folder(path: Path | str) -> Iterator[Path]:
    """Yield an empty temporary folder next to `path`; on success it replaces `path`, after an error nothing remains.

    A folder cannot replace a non-empty one in a single system call: for an instant the old one has a hidden name. A
    process killed at that moment leaves `path` missing, never incomplete.
    """
    path = Path(path)
    with disk_errors(path):
        partial = _beside(path, path.suffix)
        try:
            partial.mkdir(parents=True)
            mode = partial.stat().st_mode & 0o666
            yield partial
            for folder, _, files in os.walk(partial):
                for name in files:
                    _finish(Path(folder, name), mode)
                sync(Path(folder))
            old = _beside(path, path.suffix)
            with contextlib.suppress(FileNotFoundError):
                path.rename(old)
            partial.rename(path)
            _remove(old)
            sync(path.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def open_no_link(path: Path, mode: str, encoding: str | None = None) -> Any:
    """Open a file that is extended while it is written; raise a DataError if it is a symbolic link, to another file."""
    try:
        return open(
            path,
            mode,
            encoding=encoding,
            opener=lambda name, flags: os.open(name, flags | NO_LINK, 0o666),
        )
    except OSError as error:
        if not path.is_symlink():
            raise
        raise DataError(
            f"{path}: a symbolic link where a file is to be written; remove it"
        ) from error


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Wait for a lock file and hold it.

    wait: False raises a LockedError instead. On a file system without locks (some NFS), warn and go on without.
    """
    lock = FileLock(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        try:
            lock.acquire(timeout=SILENT_WAIT if wait else 0)
        except Timeout:
            if not wait:
                raise LockedError(f"{path}: held by another process") from None
            log.warning("%s: waiting for another process, which holds this lock", path)
            lock.acquire()
    except OSError as error:
        if error.errno not in {errno.ENOLCK, errno.EOPNOTSUPP}:
            raise DataError(f"{path}: cannot be locked: {error.strerror}") from error
        log.warning("%s: %s; let no other process write there", path, error.strerror)
    try:
        yield
    finally:
        lock.release()


_HOST = host_key()
_LEFT = re.compile(rf"\..+\.(\d+)-{_HOST}-[0-9a-f]+\.partial.*")
_cleaned: set[Path] = set()  # folders whose leftovers this process removed


def _beside(path: Path, suffix: str) -> Path:
    """Return a temporary name in the same folder, after removing (once) what killed processes of this host left."""
    # the temporary name would fit, so that only renaming failed
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(path))
    folder = path.parent.absolute()
    if folder not in _cleaned and folder.is_dir():
        _cleaned.add(folder)
        for entry in path.parent.iterdir():
            leftover = _LEFT.fullmatch(entry.name)
            if leftover and not _is_alive(int(leftover[1])):
                _remove(entry)
    if len(suffix) > _LONGEST_SUFFIX:
        suffix = ""
    end = f".{os.getpid()}-{_HOST}-{secrets.token_hex(4)}.partial{suffix}"
    room = LONGEST_NAME - len(os.fsencode(f".{end}"))
    begin = os.fsencode(path.name)[:room].decode("utf-8", "ignore")
    return path.parent / f".{begin}{end}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    """Return whether a process of this machine runs."""
    import psutil  # `os.kill(process, 0)` sends Ctrl-C on Windows

    return bool(psutil.pid_exists(process))


def _finish(path: Path, mode: int) -> None:
    """Flush a file to disk, with the permissions `mode`: libraries write files for their owner only."""
    if path.stat().st_mode & 0o777 != mode:
        path.chmod(mode)
    sync(path)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Convert operating system errors while writing `path` to DataError; libraries wrap them in their own types."""
    try:
        yield
    except InterlaceError:
        raise
    except Exception as error:
        number = getattr(error, "errno", None)
        wrapped = _WRAPPED_ERROR.search(str(error))
        if wrapped:
            number = int(wrapped[1])
        if number not in _DISK_ERRORS:
            raise
        raise DataError(f"{path}: cannot be written: {os.strerror(number)}") from error


def _names(folder: Path) -> list[str]:
    """Return the file names of a folder, at most 200."""
    names = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
    return sorted(names)[:200]


def must_take_a_file(path: Path) -> None:
    """Reject a folder, pipe or device as output path: renaming would replace a device such as the terminal."""
    if path.is_dir():
        raise DataError(f"{path}: a folder where a file is to be written")
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: a pipe or a device where a file is to be written")
