"""Write small files of text and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, name: str, *rows: str | tuple[str, ...]) -> Path:
    """Write lines, or rows of cells separated by tabs, to `root / name`; return the path."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else "\t".join(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
