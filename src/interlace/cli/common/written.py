"""The files that commands have written, recorded in the cache, so that a command replaces no other file.

Text has no place for a mark, and a file beside it would be read as text by patterns such as `train.*`.
"""

from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from interlace.core.errors import InterlaceError
from interlace.core.json_files import JsonObject, read_json, write_json
from interlace.data.cache import cache_folder


def record_written(path: Path) -> None:
    """Record a file that a command has written; a cache that cannot be written has no record."""
    with suppress(OSError, InterlaceError):
        write_json(_record_path(path), _state(path))


def is_unchanged(path: Path) -> bool:
    """Return whether a command has written the file, and nothing has changed it since."""
    try:
        return bool(read_json(_record_path(path), JsonObject, {}) == _state(path))
    except (OSError, InterlaceError):
        return False


def _record_path(path: Path) -> Path:
    name = blake2b(str(path.resolve()).encode(), digest_size=16).hexdigest()
    return cache_folder() / "outputs" / f"{name}.json"


def _state(path: Path) -> JsonObject:
    status = path.stat()
    return {"path": str(path.resolve()), "size": status.st_size, "time": status.st_mtime_ns}
