"""Write small files of text and tables, and make pipes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, name: str, *rows: str | tuple[str, ...]) -> Path:
    """Write lines, or rows of cells separated by tabs, to `root / name`; return the path."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else "\t".join(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def named_pipe(path: Path) -> None:
    """Make a pipe with a name, or skip the test on a system without them."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(path)
