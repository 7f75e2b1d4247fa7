"""One sentence per line: files of one language, or line-aligned files of two."""

from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader, reader_for
from interlace.readers.common.text import chunks_of, expect, plain
from interlace.text import Text, TextPairs
from interlace.text.lines import read_lines


class PlainLines(Reader):
    """Plain text, one sentence per line. Two languages are line-aligned files: all of the first, then of the second."""

    by_line: ClassVar[bool] = True

    word_tokenizer: str = Field("whitespace", description="Word tokenizer (an entry of that registry).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Read the files of one language one after another, or the files of two languages in parallel."""
        self._check(paths, languages)
        if len(languages) == 1:
            for lines in chunks_of(line for path in paths for line in read_lines(path)):
                yield plain([lines], languages, self.word_tokenizer)
        else:
            half = len(paths) // 2
            sides = zip(paths[:half], paths[half:], strict=True)
            for rows in chunks_of(chain.from_iterable(_pairs(first, second) for first, second in sides)):
                yield plain(list(map(list, zip(*rows, strict=True))), languages, self.word_tokenizer)

    def _check(self, paths: list[Path], languages: list[str]) -> None:
        takes = "any number of files of one language, or as many files of each of two"
        fits = bool(paths) and len(languages) in {1, 2} and len(paths) % len(languages) == 0
        expect("lines", takes, paths, languages, fits=fits)
        for path in paths:
            if (better := reader_for(path)) != "lines":
                raise DataError(f"{path}: is not plain text; set the reader: {better!r}")


def _pairs(first: Path, second: Path) -> Iterator[tuple[str, str]]:
    """Yield corresponding lines of two files."""
    sources, targets = read_lines(first), read_lines(second)
    for count, (source, target) in enumerate(zip_longest(sources, targets)):
        if source is None or target is None:
            more = count + 1 + sum(1 for _ in (targets if source is None else sources))
            counts = (count, more) if source is None else (more, count)
            raise DataError(f"{first} has {counts[0]} lines and {second} has {counts[1]}; the sides must correspond")
        yield source, target
