"""Preparation done once: what is built from files and settings stands in a cache under the hash of all it depends on.

A thing is found again when the content of its files, its settings and the format are the same, wherever the files lie.
It appears in the cache whole or not at all, and two processes that want the same one build it once.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.text.lines import atomic, atomic_folder, must_exist, remove_partials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

FORMAT = 1  # of what is cached; a higher one makes everything be built again
KEY = "key.json"
_BLOCK = 1 << 20


def cache_folder() -> Path:
    """`INTERLACE_CACHE`, else `interlace` in the platform's cache folder."""
    if named := os.environ.get("INTERLACE_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "interlace"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "interlace"


def cached(kind: str, key: Mapping[str, Any], build: Callable[[Path], object]) -> Path:
    """The folder that `build` fills, from the cache where it was filled before.

    Args:
        kind: a word for what it is (`"corpus"`), the folder it goes under.
        key: plain data that says all that the result depends on; files by `content_key`.
        build: fills the empty folder it is given. When it raises, nothing is kept.
    """
    text = json.dumps({"format": FORMAT, "kind": kind, **key}, sort_keys=True, ensure_ascii=False, indent=1)
    folder = cache_folder() / kind / blake2b(text.encode("utf-8"), digest_size=16).hexdigest()
    if not folder.is_dir():
        with _only_one(folder):
            if not folder.is_dir():  # another process may have built it while this one waited
                remove_partials(folder)
                with atomic_folder(folder) as partial:
                    build(partial)
                    (partial / KEY).write_text(text + "\n", encoding="utf-8")
    return folder


def content_key(path: Path | str) -> str:
    """A hash of a file's bytes; kept beside the cache, and taken again when size or time of the file change.

    Raises:
        DataError: there is no such file; names the nearest.
    """
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
        pass  # not taken yet, or damaged: take it again
    digest = _digest(path)
    with atomic(memo) as partial:
        partial.write_text(json.dumps({**seen, "digest": digest}), encoding="utf-8")
    return digest


def _digest(path: Path) -> str:
    hasher = blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            hasher.update(block)
    return hasher.hexdigest()


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Hold the lock of a cache entry; the kernel drops it when its holder dies."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
