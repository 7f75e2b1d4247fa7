"""A cache of prepared data: results in folders named by the hash of everything they depend on.

An entry is found again if the contents of its files, its settings and the format are the same, wherever the files are.
It appears whole or not at all, and of two processes that need the same entry only one builds it.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

from filelock import FileLock

from interlace.core.files import atomic, atomic_folder, must_exist, remove_partials
from interlace.readers import is_hub
from interlace.readers.dataset import stored_files

FORMAT = 2  # of cached data; raise it to rebuild everything
KEY = "key.json"


def cache_folder() -> Path:
    """Return `INTERLACE_CACHE`, or `interlace` in the platform's cache folder."""
    if named := os.environ.get("INTERLACE_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "interlace"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "interlace"


def cached(kind: str, key: Mapping[str, Any], build: Callable[[Path], object]) -> Path:
    """Return the folder that `build` fills, from the cache if it was built before.

    Args:
        kind: the kind of data (`"corpus"`); its entries share a folder.
        key: JSON data with everything that the result depends on; files by `content_key`.
        build: fills the empty folder it is given. If it raises, nothing is kept.
    """
    folder, text = _entry(kind, key)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f".{folder.name}.lock"):
            if not folder.is_dir():  # another process may have built it meanwhile
                remove_partials(folder)
                with atomic_folder(folder) as partial:
                    build(partial)
                    (partial / KEY).write_text(text + "\n", encoding="utf-8")
    return folder


def is_cached(kind: str, key: Mapping[str, Any]) -> bool:
    """Return whether the cache holds the folder of a key."""
    return _entry(kind, key)[0].is_dir()


def _entry(kind: str, key: Mapping[str, Any]) -> tuple[Path, str]:
    """Return the folder of a key in the cache, and the key as text."""
    text = json.dumps({"format": FORMAT, "kind": kind, **key}, sort_keys=True, ensure_ascii=False, indent=1)
    return cache_folder() / kind / blake2b(text.encode("utf-8"), digest_size=16).hexdigest(), text


def content_key(path: Path | str) -> str:
    """Return a hash of a file's contents; it is stored, and computed again if the file's size or time changes.

    Of a data set of the hub, those of its files in the cache of `datasets`.

    Raises:
        DataError: there is no such file; names the nearest.
    """
    if is_hub(path):
        keys = "".join(map(content_key, stored_files(Path(path))))
        return blake2b(keys.encode(), digest_size=16).hexdigest()
    path = must_exist(path).resolve()
    state = path.stat()
    seen = {"path": str(path), "size": state.st_size, "mtime": state.st_mtime_ns}
    name = blake2b(str(path).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    memo = cache_folder() / "digests" / f"{name}.json"
    try:
        known = json.loads(memo.read_text(encoding="utf-8"))
        if {field: known.get(field) for field in seen} == seen:
            return str(known["digest"])
    except (OSError, ValueError, KeyError, AttributeError):
        pass  # not stored yet, or damaged
    with path.open("rb") as file:
        digest = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    with atomic(memo) as partial:
        partial.write_text(json.dumps({**seen, "digest": digest}), encoding="utf-8")
    return digest
