"""Where files may be put."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.core.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


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
