"""One sentence per line: files of one language, or line-aligned files of two."""

from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader, reader_for
from interlace.readers.common.text import chunks_of, columns_of, expect, plain
from interlace.text import Text, TextPairs
from interlace.text.lines import read_lines


class PlainLines(Reader):
    """Plain text, one sentence per line. Two languages are line-aligned files: all of the first, then of the second."""

    by_line: ClassVar[bool] = True

    word_tokenizer: str = Field(
        "whitespace", description="Word tokenizer (an entry of that registry)."
    )

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Read the files of one language one after another, or the files of two languages in parallel."""
        self._check(paths, languages)
        if len(languages) == 1:
            for lines in chunks_of(chain.from_iterable(map(read_lines, paths))):
                yield plain([lines], languages, self.word_tokenizer)
        else:
            half = len(paths) // 2
            pairs = chain.from_iterable(map(_pairs, paths[:half], paths[half:]))
            for rows in chunks_of(pairs):
                yield plain(columns_of(rows), languages, self.word_tokenizer)

    def _check(self, paths: list[Path], languages: list[str]) -> None:
        takes = "any number of files of one language, or as many files of each of two"
        fits = bool(paths) and len(languages) in {1, 2} and len(paths) % len(languages) == 0
        expect("lines", takes, paths, languages, fits=fits)
        for path in paths:
            suitable = reader_for(path)
            if suitable != "lines":
                raise DataError(f"{path}: is not plain text; set the reader: {suitable!r}")


def _pairs(source_path: Path, target_path: Path) -> Iterator[tuple[str, str]]:
    """Yield corresponding lines of two files."""
    sources = read_lines(source_path)
    targets = read_lines(target_path)
    for row, (source, target) in enumerate(zip_longest(sources, targets)):
        if source is None:
            target_lines = row + 1 + sum(1 for _ in targets)
            raise _unequal(source_path, row, target_path, target_lines)
        if target is None:
            source_lines = row + 1 + sum(1 for _ in sources)
            raise _unequal(source_path, source_lines, target_path, row)
        yield source, target


def _unequal(
    source_path: Path, source_lines: int, target_path: Path, target_lines: int
) -> DataError:
    return DataError(
        f"{source_path} has {source_lines} lines and {target_path} has {target_lines}; the sides must correspond"
    )
