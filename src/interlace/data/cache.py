"""A cache of prepared data: results in folders named by the hash of everything they depend on.

An entry is found again if the contents of its files, its settings and the format are the same, wherever the files are.
It appears whole or not at all, and of two processes that need the same entry only one builds it.
"""

import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b, file_digest
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import (
    atomic,
    atomic_folder,
    file_lock,
    must_exist,
    user_path,
    write_fault,
)
from interlace.core.json_files import read_json
from interlace.readers import is_hub
from interlace.readers.common.hub import stored_files

FORMAT = 5  # of cached data; raise it to rebuild everything
KEY = "key.json"
DIGESTS = "digests"
_LATEST = "latest"  # the folder of the keys that were built last, by kind and name
_REMEDY = "remove its folder to build it again"


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


def writable_cache_folder() -> Path:
    """Return the folder of the cache; raise a SettingsError, which names its variable, if it cannot be written."""
    folder = cache_folder()
    fault = write_fault(folder)
    if fault:
        named = os.environ.get("INTERLACE_CACHE") or str(folder)
        raise SettingsError(
            f"INTERLACE_CACHE={named!r}: cannot be written: {fault}; set it to a folder for prepared data"
        )
    return folder


def cached(kind: str, key: Mapping[str, Any], build: Callable[[Path], object]) -> Path:
    """Return the folder that `build` fills, from the cache if it was built before; if `build` raises, nothing is kept.

    kind: the kind of data (`"corpus"`); its entries share a folder.
    key: JSON data with everything that the result depends on; files by `content_key`.

    Raises:
        DataError: a file is damaged, or was changed or deleted meanwhile.
    """
    folder = folder_of(kind, key)
    try:
        if not folder.is_dir():
            writable_cache_folder()
            with file_lock(folder.parent / f".{folder.name}.lock"):
                if not folder.is_dir():  # another process may have built it meanwhile
                    with atomic_folder(folder) as partial:
                        build(partial)
                        _check_sources(key)
                        (partial / KEY).write_text(_text_of(kind, key) + "\n", encoding="utf-8")
                        digests = {name: _digest(partial / name) for name in _states(partial)}
                        (partial / DIGESTS).write_text(json.dumps(digests), encoding="utf-8")
                    _remember(folder, _seen(folder), "checked")
        _check_entry(folder)
    except FileNotFoundError as error:
        raise DataError(
            f"{error.filename}: deleted while the command used it; rerun the command"
        ) from error
    return folder


class FileHash(str):
    """A hash of a file's contents, or of those of a data set's files, with their states at that time."""

    __slots__ = ("states",)

    states: dict[Path, list[int]]

    @classmethod
    def of(cls, digest: str, states: dict[Path, list[int]]) -> Self:
        """Return the hash of files in these states."""
        found = cls(digest)
        found.states = states
        return found


def _check_sources(key: Any) -> None:
    """Raise a DataError if a file in the key is not as it was when it was hashed: what was read of it may be both."""
    if isinstance(key, FileHash):
        for path, (size, modified, _, inode) in key.states.items():
            state = path.stat()
            if (state.st_size, state.st_mtime_ns, state.st_ino) != (size, modified, inode):
                raise DataError(
                    f"{path}: changed while the command read it; rerun the command when it is complete"
                )
    elif isinstance(key, Mapping):
        _check_sources(list(key.values()))
    elif isinstance(key, list | tuple):
        for value in key:
            _check_sources(value)


def _check_entry(folder: Path) -> None:
    """Raise a DataError if files of an entry do not have their hashes; done once after each change of a file."""
    expected = read_json(folder / DIGESTS, dict[str, str], {}, remedy=_REMEDY)
    seen = _seen(folder)
    if _known(folder, seen):
        return
    for name, digest in expected.items():
        if _digest(must_exist(folder / name, "file of the cache")) != digest:
            raise DataError(f"{folder / name}: not as it was built: damaged or changed; {_REMEDY}")
    _remember(folder, seen, "checked")


def _seen(folder: Path) -> dict[str, Any]:
    return {"path": str(folder), "files": _states(folder)}


def _states(folder: Path) -> dict[str, list[int]]:
    """Return what changes with the content of each file: size, times and inode; without links."""
    states: dict[str, list[int]] = {}
    for path in sorted(folder.rglob("*")):
        if path.name != DIGESTS and path.is_file() and not path.is_symlink():
            states[str(path.relative_to(folder))] = _state(path)
    return states


def _state(path: Path) -> list[int]:
    state = path.stat()
    # an edit can restore the first two
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]


def folder_of(kind: str, key: Mapping[str, Any]) -> Path:
    """Return the folder of a key in the cache; it exists if it was built."""
    digest = blake2b(_text_of(kind, key).encode("utf-8"), digest_size=16).hexdigest()
    return cache_folder() / kind / digest


def _text_of(kind: str, key: Mapping[str, Any]) -> str:
    return json.dumps(
        {"format": FORMAT, "kind": kind, **key}, sort_keys=True, ensure_ascii=False, indent=1
    )


def changes_since(kind: str, name: str, key: Mapping[str, Any]) -> list[str]:
    """Return the entries of a key that differ from those of the last entry that was built under this name.

    The key is remembered for the next call. Empty if there was no entry of this name.
    """
    digest = blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    path = cache_folder() / _LATEST / kind / f"{digest}.json"
    current = json.loads(_text_of(kind, key))
    latest: dict[str, Any] = {}
    with suppress(OSError, DataError):  # damaged
        latest = read_json(path, dict[str, Any], {})
    with suppress(OSError), atomic(path) as partial:  # a cache may be read-only
        partial.write_text(json.dumps(current), encoding="utf-8")
    if not latest:
        return []
    return [entry for entry in {**latest, **current} if latest.get(entry) != current.get(entry)]


@cache
def code_hash(*packages: str) -> str:
    """Return a hash of the source code of subpackages such as `alignment`, on which cached data depends."""
    home = Path(str(files("interlace")))
    digest = blake2b(digest_size=8)
    for package in packages:
        for path in sorted((home / package).rglob("*.py")):
            digest.update(
                path.relative_to(home).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
            )
    return digest.hexdigest()


def plugin_hash(kind: type) -> str:
    """Return a hash of the file of a plugin's class; an empty string for classes of this package."""
    if kind.__module__.startswith("interlace."):
        return ""
    return content_key(Path(inspect.getfile(kind)))


def content_key(path: Path | str) -> FileHash:
    """Return a hash of a file's contents; it is stored, and computed again if the file's size, times or inode change.

    Of a data set of the hub, those of its files in the cache of `datasets`. Raise a DataError if there is no such file.
    """
    if is_hub(path):
        files = stored_files(Path(path))
        digest = blake2b("".join(map(content_key, files)).encode(), digest_size=16).hexdigest()
        return FileHash.of(digest, {file: _state(file) for file in files})
    named_path = must_exist(path).absolute()
    path = named_path.resolve()
    state = _state(named_path)
    seen = {"path": str(path), "state": state}
    digest = _known(path, seen) or _remember(path, seen, _digest(path))
    return FileHash.of(digest, {named_path: state})


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()


def _memo(path: Path) -> Path:
    name = blake2b(str(path).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return cache_folder() / DIGESTS / f"{name}.json"


def _known(path: Path, seen: dict[str, Any]) -> str:
    """Return the hash that was stored for this state of a file; an empty string if there is none."""
    with suppress(OSError, DataError):  # damaged
        memo = read_json(_memo(path), dict[str, Any], {})
        digest = memo.pop("digest", "")
        if memo == seen and isinstance(digest, str):
            return digest
    return ""


def _remember(path: Path, seen: dict[str, Any], digest: str) -> str:
    with suppress(OSError, DataError), atomic(_memo(path)) as partial:  # a cache may be read-only
        partial.write_text(json.dumps({**seen, "digest": digest}), encoding="utf-8")
    return digest
