"""The folders in which the relative paths of a recipe or a task are looked up."""

from __future__ import annotations

from dataclasses import dataclass
from glob import iglob
from pathlib import Path


@dataclass(frozen=True)
class DataRoot:
    """The folder of the data, and the folders of derived languages, in which every path is looked up first."""

    folder: Path
    derived: tuple[Path, ...] = ()

    def __truediv__(self, path: Path | str) -> Path:
        """Return a path, or a pattern with wildcards, below the first folder that has it; else below the data."""
        for folder in self.derived:
            if (folder / path).exists() or any(iglob(str(path), root_dir=folder)):  # noqa: PTH207 - also absolute
                return folder / path
        return self.folder / path


Root = Path | DataRoot  # a plain folder has no derived languages
