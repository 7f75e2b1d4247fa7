"""Registry of readers: one file format per module. A reader yields `Text` or `TextPairs` in chunks of lines."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import Any, ClassVar

from interlace.core.errors import DataError
from interlace.core.registry import Registry
from interlace.core.settings import Settings
from interlace.text import Text, TextPairs
from interlace.text.lines import plain_name

HUB = "hub:"  # begins the name of a data set of the Hugging Face hub, which stands in place of a path
BY_SUFFIX = {  # readers of files that are not plain lines
    **dict.fromkeys((".jsonl", ".ndjson", ".parquet", ".arrow"), "dataset"),
    ".tmx": "tmx",
    ".xml": "wikipedia",
}
CHUNK = 10_000  # lines per chunk: enough to occupy all cores, few enough for the CPU caches


class Reader(Settings, ABC):
    """Reads one file format. Its fields name columns, label names and the like."""

    by_line: ClassVar[bool] = False  # whether line numbers of the file are row numbers

    @abstractmethod
    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Yield chunks of at most `CHUNK` lines: `Text` for one language, `TextPairs` for two.

        Raises:
            DataError: a file is missing, empty or not UTF-8, or the sides differ in length; names file and line.
        """


READERS: Registry[Any] = Registry(__name__, "reader", Reader)


def is_hub(path: Path | str) -> bool:
    """Whether a path names a data set of the hub."""
    return str(path).startswith(HUB)


def reader_for(path: Path, default: str = "lines") -> str:
    """Return the reader of a file by its suffix, without that of its compression."""
    return "dataset" if is_hub(path) else BY_SUFFIX.get(plain_name(path).suffix, default)


def find_files(root: Path, pattern: str) -> list[Path]:
    """Return the files below `root` that a pattern names, sorted.

    pattern: a path with `*`, `?` and `**`; a folder, for all files in it and its folders; one of `save_to_disk`, for
        its Arrow files; or `hub:...`. A path that matches no file is returned as it is: readers say what is missing.

    Raises:
        DataError: a folder of `save_to_disk` has an index mapping.
    """
    if is_hub(pattern):
        from interlace.readers.dataset import HubAddress

        return [Path(str(HubAddress.parse(pattern).under(root)))]
    path = root / pattern
    if (path / "state.json").is_file():
        state = json.loads((path / "state.json").read_text(encoding="utf-8"))
        if state.get("_indices_data_files") or state.get("_indices_files"):
            raise DataError(f"{path}: has an index mapping; save it again after `flatten_indices()`")
        return [path / file["filename"] for file in state["_data_files"]]
    wanted = _with_wildcards(path)
    # not `Path.glob`, which also matches hidden files
    found = sorted(glob(wanted.replace("[", "[[]"), recursive=True)) if _WILDCARD.search(wanted) else []  # noqa: PTH207
    return [Path(name) for name in found if Path(name).is_file()] or [path]


def find_sides(root: Path, patterns: tuple[str, str], languages: Sequence[str]) -> list[Path]:
    """Return the files of both sides of line-aligned text: all of the first, then all of the second.

    Raises:
        DataError: a file has no counterpart. What the wildcards of counterparts match, or their names in two folders,
            must be equal except for the languages.
    """
    found = [find_files(root, pattern) for pattern in patterns]
    if max(map(len, found)) > 1:
        codes = re.compile(rf"(?<![^\W_])({'|'.join(map(re.escape, languages))})(?![^\W_])")
        sides = []
        for pattern, paths in zip(patterns, found, strict=True):
            parts = _WILDCARD.split(_with_wildcards(root / pattern))
            regex = re.compile("".join(_MATCHES.get(part, re.escape(part)) for part in parts))
            matches = ((regex.fullmatch(str(path)), path) for path in paths)
            sides.append({codes.sub("*", "/".join(match.groups() if match else ())): path for match, path in matches})
        for one, other in ((0, 1), (1, 0)):
            for key in sorted(sides[one].keys() - sides[other].keys()):
                other_pattern = root / patterns[other]
                raise DataError(f"{sides[one][key]}: no file of {other_pattern} corresponds to it on the other side")
    return [path for paths in found for path in paths]


_WILDCARD = re.compile(r"(\*\*/?|\*|\?)")
_MATCHES = {"**/": "(.*)", "**": "(.*)", "*": "([^/]*)", "?": "([^/])"}


def _with_wildcards(path: Path) -> str:
    return f"{path}/**" if path.is_dir() else str(path)
