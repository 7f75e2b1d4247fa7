"""A cache of prepared data: results in folders named by the hash of everything they depend on.

An entry is found again if the contents of its files, its settings and the format are the same, wherever the files are.
It appears whole or not at all, and of two processes that need the same entry only one builds it.
"""

import inspect
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b, file_digest
from importlib.resources import files
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import (
    atomic,
    atomic_folder,
    cache_folder,
    file_lock,
    must_exist,
    write_fault,
)
from interlace.core.json_files import JsonMapping, JsonObject, read_json
from interlace.readers import is_hub
from interlace.readers.common.hub import stored_files

FORMAT = 6  # of cached data; raise it to rebuild everything
KEY = "key.json"
DIGEST = "BLAKE2b, 128 bit"  # of files
DIGESTS = "digests"  # the folder of the hashes of files
_LATEST = "latest"  # the folder of the keys that were built last, by kind and name


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


def cached(kind: str, key: JsonMapping, build: Callable[[Path], object]) -> Path:
    """Return the folder that `build` fills, from the cache if it was built before; if `build` raises, nothing is kept.

    kind: the kind of data (`"corpus"`); its entries share a folder.
    key: JSON data with everything that the result depends on; files by `content_key`.

    Raises:
        DataError: a file that the key names was changed or deleted meanwhile.
    """
    folder = folder_of(kind, key)
    if folder.is_dir():
        return folder
    writable_cache_folder()
    try:
        with file_lock(folder.parent / f".{folder.name}.lock"):
            if not folder.is_dir():  # another process may have built it meanwhile
                with atomic_folder(folder) as partial:
                    build(partial)
                    _check_sources(key)
                    (partial / KEY).write_text(_text_of(kind, key) + "\n", encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError(
            f"{error.filename}: deleted while the command used it; rerun the command"
        ) from error
    return folder


class FileHash(str):
    """A hash of the contents of a file, or of those of a data set's files."""

    __slots__ = ("path",)

    path: Path | str


def _check_sources(key: Any) -> None:
    """Raise a DataError if a file in the key is not as it was when it was hashed: what was read of it may be both."""
    if isinstance(key, FileHash):
        if content_key(key.path) != key:
            raise DataError(
                f"{key.path}: changed while the command read it; rerun the command when it is complete"
            )
    elif isinstance(key, Mapping):
        _check_sources(list(key.values()))
    elif isinstance(key, list | tuple):
        for value in key:
            _check_sources(value)


def folder_of(kind: str, key: JsonMapping) -> Path:
    """Return the folder of a key in the cache; it exists if it was built."""
    return cache_folder() / kind / _hash(_text_of(kind, key))


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _text_of(kind: str, key: JsonMapping) -> str:
    return json.dumps(
        {"format": FORMAT, "kind": kind, **key},
        sort_keys=True,
        ensure_ascii=False,
        indent=1,
    )


def changes_since(kind: str, name: str, key: JsonMapping) -> list[str]:
    """Return the entries of a key that differ from those of the last entry that was built under this name.

    The key is remembered for the next call. Empty if there was no entry of this name.
    """
    path = cache_folder() / _LATEST / kind / f"{_hash(name)}.json"
    current = json.loads(_text_of(kind, key))
    latest: JsonObject = {}
    with suppress(OSError, DataError):  # damaged
        latest = read_json(path, JsonObject, {})
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
        hashes = "".join(map(content_key, stored_files(Path(path))))
        digest = FileHash(_hash(hashes))
    else:
        path = must_exist(path).absolute()
        digest = FileHash(_digest(path.resolve()))
    digest.path = path
    return digest


def _digest(path: Path) -> str:
    """Return the hash of a file, from the cache if the file has not changed since it was computed."""
    memo = cache_folder() / DIGESTS / f"{_hash(str(path))}.json"
    state = path.stat()
    # an edit can restore size and modification time
    times = [state.st_mtime_ns, state.st_ctime_ns]
    seen = {"path": str(path), "state": [state.st_size, *times, state.st_ino]}
    with suppress(OSError, DataError):  # damaged
        stored = read_json(memo, JsonObject, {})
        digest = stored.pop("digest", "")
        if stored == seen and isinstance(digest, str):
            return digest
    with path.open("rb") as file:
        digest = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    with suppress(OSError, DataError), atomic(memo) as partial:  # a cache may be read-only
        partial.write_text(json.dumps({**seen, "digest": digest}), encoding="utf-8")
    return digest
