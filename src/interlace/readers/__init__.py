"""Registry of readers: one file format per module. A reader yields `Text` or `TextPairs` in chunks of lines."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from glob import escape, glob
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from interlace.core.data_root import Root
from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import must_exist, walk
from interlace.core.json_files import json_record, read_json
from interlace.core.names import file_in
from interlace.core.randomness import Purpose, generator
from interlace.core.registry import Registry
from interlace.core.settings import RegistryEntry
from interlace.text import Text, TextPairs
from interlace.text.lines import plain_name

HUB = "hub:"  # begins the name of a data set of the Hugging Face hub, which stands in place of a path
BY_SUFFIX = {  # readers of files that are not plain lines
    **dict.fromkeys((".jsonl", ".ndjson", ".parquet", ".arrow"), "dataset"),
    ".tmx": "tmx",
    ".xml": "wikipedia",
}
ROWS_PATTERN = r"^$|^\d*:\d*$"
_BLOCK = 4096  # rows drawn together, so that a draw does not depend on how a reader cuts its chunks
CHUNK = 10_000  # lines per chunk: enough to occupy all cores, few enough for the CPU caches


class Reader(RegistryEntry, ABC):
    """Reads one file format. Its fields name columns, label names and the like."""

    by_line: ClassVar[bool] = False  # whether line numbers of the file are row numbers

    @abstractmethod
    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Yield chunks of at most `CHUNK` lines: `Text` for one language, `TextPairs` for two.

        paths: of the files.

        Raises:
            DataError: a file is missing, empty or not UTF-8, or the sides differ in length; names file and line.
        """


READERS: Registry[Any] = Registry(__name__, "reader", Reader)


def read_pairs(reader: Reader, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
    """Yield the chunks of parallel text; raise a DataError if the reader returns single sentences."""
    for chunk in reader.read_chunks(paths, languages):
        if not isinstance(chunk, TextPairs):
            raise DataError(f"{paths[0]}: the reader returns single sentences; expected pairs")
        yield chunk


class RowSubset(Reader):
    """Selects rows, counted from 0 over all files.

    A row is kept if its own number, drawn uniformly from [0, 1), is below the share. So a smaller share is a subset of
    a larger one, and line-aligned files keep corresponding rows.
    """

    reader: dict[str, Any] | str = Field("lines", description="Reader of the files.")
    rows: str = Field("", pattern=ROWS_PATTERN, description="Range 'first:last'; 'last' is excluded.")
    share: float = Field(1.0, gt=0, le=1, description="Share of those rows to draw.")
    seed: int = Field(0, ge=0, description="Random seed of the draw.")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Yield the reader's chunks with the selected rows; chunks without any are skipped."""
        start, _, stop = self.rows.partition(":")
        first, last = int(start or 0), int(stop) if stop else 1 << 62
        row = kept_rows = 0
        for chunk in READERS.build(self.reader).read_chunks(paths, languages):
            numbers = np.arange(row, row + len(chunk))
            row += len(chunk)
            kept = (numbers >= first) & (numbers < last)
            if self.share < 1:
                kept &= self._drawn(numbers)
            if kept.any():
                kept_rows += int(kept.sum())
                yield chunk.where(kept)
            if row >= last:
                break
        if not kept_rows:
            share = f", share {self.share:g}" if self.share < 1 else ""
            raise DataError(f"{paths[0]}: rows {self.rows or ':'!r}{share} select none of its {row:,} rows")

    def _drawn(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(n,) which of consecutive rows are drawn."""
        if not len(numbers):
            return np.zeros(0, np.bool_)
        first = int(numbers[0]) // _BLOCK
        blocks = range(first, int(numbers[-1]) // _BLOCK + 1)
        draws = np.concatenate([generator(Purpose.SAMPLE, self.seed, block, 2).random(_BLOCK) for block in blocks])
        return np.asarray(draws[numbers - first * _BLOCK] < self.share)


def is_hub(path: Path | str) -> bool:
    """Whether a path names a data set of the hub."""
    return str(path).startswith(HUB)


def reader_for(path: Path, default: str = "lines") -> str:
    """Return the reader of a file by its suffix, without that of its compression."""
    return "dataset" if is_hub(path) else BY_SUFFIX.get(plain_name(path).suffix, default)


@json_record
class _DataFile(TypedDict):
    filename: str


@json_record
class _SavedDataset(TypedDict):
    """What is read of the `state.json` of `datasets`."""

    _data_files: list[_DataFile]


def find_files(root: Root, pattern: str) -> list[Path]:
    """Return the files below `root` that a pattern names, sorted, each once: links give a file several names.

    pattern: a path with `*`, `?` and `**`; a folder, for all files in it and its folders; one of `save_to_disk`, for
        its Arrow files; or `hub:...`. A path that matches no file is returned as it is: readers say what is missing.
        What accompanies data is left out if a pattern matches other files, too: README, LICENSE and `.md` files, and
        `.json` files.

    Raises:
        DataError: a folder of `save_to_disk` has an index mapping, or a name `hub:...` is incomplete.
    """
    return [file for (file,) in _without_repeats((file,) for file in _matching_files(root, pattern))]


def find_sides(root: Root, patterns: tuple[str, str], languages: Sequence[str]) -> list[Path]:
    """Return the files of both sides of line-aligned text: all of the first, then all of the second.

    What the wildcards of counterparts match, or their names in two folders, must be equal except for the languages.
    Each pair of files is returned once, as in `find_files`.
    """
    found = [_matching_files(root, pattern) for pattern in patterns]
    if max(map(len, found)) > 1:
        codes = re.compile(rf"(?<![^\W_])({'|'.join(map(re.escape, languages))})(?![^\W_])")
        sides: list[dict[str, Path]] = [{}, {}]
        for side, pattern, paths in zip(sides, patterns, found, strict=True):
            parts = _WILDCARD.split(_with_wildcards(root / pattern))
            regex = re.compile("".join(_MATCHES.get(part, re.escape(part)) for part in parts))
            matches = ((regex.fullmatch(str(path)), path) for path in paths)
            for match, path in matches:
                if (first := side.setdefault(codes.sub("*", "/".join(match.groups() if match else ())), path)) != path:
                    names = f"their names differ only in the languages {' and '.join(languages)}"
                    raise DataError(f"{first} and {path}: {names}; expected a pattern for each language")
        for key in sorted(sides[0].keys() ^ sides[1].keys()):
            path, other = (sides[0][key], patterns[1]) if key in sides[0] else (sides[1][key], patterns[0])
            raise DataError(f"{path}: no file of {root / other} corresponds to it on the other side")
        pairs = _without_repeats((sides[0][key], sides[1][key]) for key in sorted(sides[0]))
        found = [list(side) for side in zip(*pairs, strict=True)]
    return [path for paths in found for path in paths]


def _matching_files(root: Root, pattern: str) -> list[Path]:
    """Return the files as `find_files`, but under all of their names."""
    if is_hub(pattern):
        from interlace.readers.dataset import HubAddress

        try:
            return [Path(str(HubAddress.parse(pattern).under(root)))]
        except ValueError as error:
            raise DataError(str(error)) from None
    path = root / pattern
    if (path / "state.json").is_file():
        state = read_json(path / "state.json", _SavedDataset)
        if state.get("_indices_data_files") or state.get("_indices_files"):
            raise DataError(f"{path}: has an index mapping; save it again after `flatten_indices()`")
        return [file_in(path, file["filename"]) for file in state["_data_files"]]
    wanted = _with_wildcards(path)
    names = sorted(set(_expanded(wanted.replace("[", "[[]")))) if _WILDCARD.search(wanted) else []
    files = [must_exist(name) for name in names if not Path(name).is_dir()] or [path]
    for beside in _BESIDE:
        files = [file for file in files if not beside.fullmatch(file.name)] or files
    return files


def _expanded(pattern: str) -> Iterator[str]:
    """Yield the paths that a pattern of `glob` matches, without hidden ones; `**` does not enter a folder twice."""
    parts = Path(pattern).parts
    if "**" not in parts:
        yield from glob(pattern)  # noqa: PTH207 - `Path.glob` also matches hidden files
        return
    position = parts.index("**")
    rest = parts[position + 1 :] or ["*"]
    for start in glob(str(Path(*parts[:position]))):  # noqa: PTH207
        for folder in _folders(Path(start)):
            yield from _expanded(str(Path(escape(str(folder)), *rest)))


def _folders(top: Path) -> Iterator[Path]:
    """Yield a folder and all inside of it, without hidden ones; links to a folder that has another path come last."""
    entered: set[str] = set()
    waiting, links = [top], list[Path]()
    while waiting or links:
        folder = (waiting or links).pop()
        if os.path.realpath(folder) in entered:
            continue
        entered.add(os.path.realpath(folder))
        yield folder
        _, names, _ = next(walk(folder), ("", [], []))
        for name in sorted(names, reverse=True):
            if name.startswith("."):
                continue
            kind = links if (folder / name).is_symlink() else waiting
            kind.append(folder / name)


def _without_repeats(rows: Iterable[tuple[Path, ...]]) -> Iterator[tuple[Path, ...]]:
    """Yield rows of files, without those that links make the same files as an earlier row."""
    earlier: set[tuple[str, ...]] = set()
    for row in rows:
        targets = tuple(os.path.realpath(file) for file in row)
        if targets not in earlier:
            earlier.add(targets)
            yield row


def check_pattern(pattern: str, placeholders: Iterable[str]) -> str:
    """Return the pattern unchanged, or raise ValueError for a placeholder that is not in `placeholders`."""
    try:
        fields = [(name, width) for _, name, width, _ in Formatter().parse(pattern) if name is not None]
        names = [f"{name}:{width}" if width else name for name, width in fields]
    except ValueError as error:
        raise ValueError(f"{pattern!r} is not a pattern of a path: {error}") from None
    for name in names:
        if name not in placeholders:
            raise ValueError(f"{pattern!r}: unknown placeholder {{{name}}}{did_you_mean(name, placeholders)}")
    return pattern


_BESIDE = (re.compile(r"(README|LICEN[CS]E)([._-].*)?|.*\.md", re.IGNORECASE), re.compile(r".*\.json"))
_WILDCARD = re.compile(r"(\*\*/?|\*|\?)")
_MATCHES = {"**/": "(.*)", "**": "(.*)", "*": "([^/]*)", "?": "([^/])"}


def _with_wildcards(path: Path) -> str:
    return f"{path}/**" if path.is_dir() else str(path)
