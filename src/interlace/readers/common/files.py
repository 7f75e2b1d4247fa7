"""Files that patterns of paths name."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from glob import escape, glob
from pathlib import Path
from string import Formatter

from interlace.core.data_root import Root
from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import must_exist, walk
from interlace.readers import is_hub
from interlace.readers.common.hub import HubAddress


def find_files(root: Root, pattern: str) -> list[Path]:
    """Return the files below `root` that a pattern names, sorted, each once: links give a file several names.

    pattern: a path with `*`, `?` and `**`; a folder, for all files in it and its folders; or `hub:...`. A path that
        matches no file is returned as it is: readers say what is missing.
        What accompanies data is left out if a pattern matches other files, too: README, LICENSE and `.md` files, and
        `.json` files.

    Raises:
        DataError: a name `hub:...` is incomplete.
    """
    rows = _without_repeats([[file] for file in _matching_files(root, pattern)])
    return [row[0] for row in rows]


def find_sides(root: Root, patterns: tuple[str, str], languages: Sequence[str]) -> list[Path]:
    """Return the files of both sides of line-aligned text: all of the first, then all of the second.

    What the wildcards of counterparts match, or their names in two folders, must be equal except for the languages.
    Each pair of files is returned once, as in `find_files`.
    """
    sources = _matching_files(root, patterns[0])
    targets = _matching_files(root, patterns[1])
    if len(sources) <= 1 and len(targets) <= 1:
        return [*sources, *targets]
    source_by_key = _by_language_free_name(root / patterns[0], sources, languages)
    target_by_key = _by_language_free_name(root / patterns[1], targets, languages)
    unpaired = source_by_key.keys() ^ target_by_key.keys()
    if unpaired:
        key = min(unpaired)
        path = source_by_key.get(key) or target_by_key[key]
        raise DataError(f"{path}: no file of {' or '.join(patterns)} corresponds to it")
    pairs = [[source_by_key[key], target_by_key[key]] for key in sorted(source_by_key)]
    pairs = _without_repeats(pairs)
    return [*(source for source, _ in pairs), *(target for _, target in pairs)]


def _by_language_free_name(
    pattern: Path, paths: list[Path], languages: Sequence[str]
) -> dict[str, Path]:
    """Return files by what the wildcards of a pattern match in their paths, with `*` in place of a language."""
    names = "|".join(map(re.escape, languages))
    codes = re.compile(rf"(?<![^\W_])({names})(?![^\W_])")
    regex = ""
    for part in _WILDCARD.split(_with_wildcards(pattern)):
        regex += _MATCHES.get(part, re.escape(part))
    files: dict[str, Path] = {}
    for path in paths:
        match = re.fullmatch(regex, str(path))
        key = ""
        if match:
            key = codes.sub("*", "/".join(match.groups()))
        earlier = files.setdefault(key, path)
        if earlier != path:
            raise DataError(
                f"{earlier} and {path}: their names differ only in the languages {' and '.join(languages)}; expected "
                "a pattern for each language"
            )
    return files


def _matching_files(root: Root, pattern: str) -> list[Path]:
    """Return the files as `find_files`, but under all of their names."""
    if is_hub(pattern):
        try:
            return [Path(str(HubAddress.parse(pattern).under(root)))]
        except ValueError as error:
            raise DataError(str(error)) from None
    path = root / pattern
    pattern_of_files = _with_wildcards(path)
    files = [path]
    if _WILDCARD.search(pattern_of_files):
        names = sorted(set(_expanded(pattern_of_files.replace("[", "[[]"))))
        files = [must_exist(name) for name in names if not Path(name).is_dir()] or files
    for accompanying in _ACCOMPANYING:
        files = [file for file in files if not accompanying.fullmatch(file.name)] or files
    return files


def _expanded(pattern: str) -> Iterator[str]:
    """Yield the paths that a pattern of `glob` matches, without hidden ones; `**` does not enter a folder twice."""
    before, any_folder, after = pattern.partition("**")
    if not any_folder:
        yield from glob(pattern)  # noqa: PTH207 - `Path.glob` also matches hidden files
        return
    for top in glob(before):  # noqa: PTH207
        for folder in _folders(Path(top)):
            yield from _expanded(f"{escape(str(folder))}/{after.lstrip('/') or '*'}")


def _folders(top: Path) -> Iterator[Path]:
    """Yield a folder and all inside of it, without hidden ones; links to a folder that has another path come last."""
    entered: set[str] = set()
    folders = [top]
    links: list[Path] = []
    while folders or links:
        folder = (folders or links).pop()
        target = os.path.realpath(folder)
        if target in entered:
            continue
        entered.add(target)
        yield folder
        _, names, _ = next(walk(folder), ("", [], []))
        for name in sorted(names, reverse=True):
            path = folder / name
            if not name.startswith("."):
                (links if path.is_symlink() else folders).append(path)


def _without_repeats(rows: Iterable[list[Path]]) -> list[list[Path]]:
    """Return rows of files, without those that links make the same files as an earlier row."""
    distinct: dict[tuple[str, ...], list[Path]] = {}
    for row in rows:
        real_paths = tuple(map(os.path.realpath, row))
        distinct.setdefault(real_paths, row)
    return list(distinct.values())


def check_pattern(pattern: str, placeholders: Iterable[str]) -> str:
    """Return the pattern unchanged, or raise ValueError for a placeholder that is not in `placeholders`."""
    try:
        fields = list(Formatter().parse(pattern))
    except ValueError as error:
        raise ValueError(f"{pattern!r} is not a pattern of a path: {error}") from None
    for _, name, width, _ in fields:
        if name is not None and (width or name not in placeholders):
            raise ValueError(
                f"{pattern!r}: unknown placeholder {{{name}}}{did_you_mean(name, placeholders)}"
            )
    return pattern


_ACCOMPANYING = (
    re.compile(r"(README|LICEN[CS]E)([._-].*)?|.*\.md", re.IGNORECASE),
    re.compile(r".*\.json"),
)
_WILDCARD = re.compile(r"(\*\*/?|\*|\?)")
_MATCHES = {"**/": "(.*)", "**": "(.*)", "*": "([^/]*)", "?": "([^/])"}


def _with_wildcards(path: Path) -> str:
    return f"{path}/**" if path.is_dir() else str(path)
