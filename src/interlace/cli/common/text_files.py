"""Text files of several languages, as arguments of commands that read their lines."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

CODE_OF_FILE = "CODE:FILE names the language of a file, unless a file has this whole name"


def lines_by_language(files: list[str]) -> dict[str, Iterator[str]]:
    """Return the lines of each language, read by the suffixes of the files."""
    lines: dict[str, Iterator[str]] = {}
    for language, paths in _paths_by_language(files).items():
        lines[language] = chain.from_iterable(_lines_of(language, path) for path in paths)
    return lines


def _paths_by_language(files: list[str]) -> dict[str, list[Path]]:
    """Return the files of each language; a file without one is a language of its own, named by its path."""
    paths: dict[str, list[Path]] = {}
    for entry in files:
        language, colon, name = entry.partition(":")
        if not colon or Path(entry).exists():  # a name with a colon
            language = ""
            name = entry
        path = Path(name)
        paths.setdefault(language or str(path), []).append(path)
    return paths


def _lines_of(language: str, path: Path) -> Iterator[str]:
    from interlace.core.errors import DataError
    from interlace.readers import READERS, reader_for

    reader = reader_for(path)
    try:
        for chunk in READERS.build(reader).read_chunks([path], [language]):
            yield from chunk.lines
    except DataError as error:
        if reader == "lines" or language != str(path):
            raise
        raise DataError(
            f"{error}; of a file in several languages name one, such as en:{path}"
        ) from None
