"""One sentence per line: files of one language, or line-aligned files of two."""

from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader, reader_for
from interlace.readers.common.text import chunks_of, expect, plain
from interlace.text import Text, TextPairs
from interlace.text.lines import COMPRESSED, FileLines, cut_file, read_lines


class PlainLines(Reader):
    """Plain text, one sentence per line. Two languages are line-aligned files: all of the first, then of the second."""

    by_line: ClassVar[bool] = True

    word_tokenizer: str = Field("whitespace", description="Word tokenizer (an entry of that registry).")

    def read_chunks(self, paths: list[Any], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Read the files of one language one after another, or the files of two languages in parallel."""
        files = [path if isinstance(path, FileLines) else FileLines(path) for path in paths]
        self._check([file.path for file in files], languages)
        if len(languages) == 1:
            for lines in chunks_of(line for file in files for line in read_lines(file)):
                yield plain([lines], languages, self.word_tokenizer)
        else:
            half = len(files) // 2
            sides = zip(files[:half], files[half:], strict=True)
            for rows in chunks_of(chain.from_iterable(_pairs(first, second) for first, second in sides)):
                yield plain(list(map(list, zip(*rows, strict=True))), languages, self.word_tokenizer)

    def cut(self, paths: list[Path], languages: list[str], rows: int) -> list[list[FileLines]]:
        """Cut files that are not compressed at every `rows` lines."""
        self._check(paths, languages)
        if any(path.suffix in COMPRESSED for path in paths):
            return []
        parts = [cut_file(path, rows) for path in paths]
        if len(languages) == 1:
            return [[part] for each in parts for part in each]
        half = len(paths) // 2
        sides = zip(parts[:half], parts[half:], strict=True)
        found = [[*pair] for source, target in sides for pair in zip_longest(source, target)]
        return [] if any(None in pair for pair in found) else found  # sides of different length are reported where read

    def _check(self, paths: list[Path], languages: list[str]) -> None:
        takes = "any number of files of one language, or as many files of each of two"
        fits = bool(paths) and len(languages) in {1, 2} and len(paths) % len(languages) == 0
        expect("lines", takes, paths, languages, fits=fits)
        for path in paths:
            if (better := reader_for(path)) != "lines":
                raise DataError(f"{path}: is not plain text; set the reader: {better!r}")


def _pairs(first: FileLines, second: FileLines) -> Iterator[tuple[str, str]]:
    """Yield corresponding lines of two files."""
    sources, targets = read_lines(first), read_lines(second)
    for count, (source, target) in enumerate(zip_longest(sources, targets), first.line - 1):
        if source is None or target is None:
            more = count + 1 + sum(1 for _ in (targets if source is None else sources))
            counts = (count, more) if source is None else (more, count)
            raise DataError(
                f"{first.path} has {counts[0]} lines and {second.path} has {counts[1]}; the sides must correspond"
            )
        yield source, target
