"""One sentence per line: a file of one language, or two line-aligned files."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers.common.text import chunks_of, plain_pairs, plain_text
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import Text, TextPairs


class PlainLines(Reader):
    """Plain text, one sentence per line. Two languages are two line-aligned files."""

    by_line: ClassVar[bool] = True

    word_tokenizer: str = Field("whitespace", description="Word tokenizer (an entry of that registry).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Read the files of one language one after another, or two files in parallel, one for each language."""
        if len(languages) == 1 and paths:
            for lines in chunks_of(line for path in paths for line in read_lines(path)):
                yield plain_text(lines, languages[0], self.word_tokenizer)
        elif len(languages) == 2 and len(paths) == 2:
            first, second = languages
            for rows in chunks_of(_pairs(paths[0], paths[1])):
                source, target = map(list, zip(*rows, strict=True))
                yield plain_pairs((source, target), (first, second), self.word_tokenizer)
        else:
            raise DataError(
                f"the reader 'lines' takes any number of files of one language, or one file for each of two; "
                f"found {len(paths)} files for {len(languages)} languages ({', '.join(languages)})"
            )


def _pairs(first: Path, second: Path) -> Iterator[tuple[str, str]]:
    """Yield corresponding lines of two files.

    Raises:
        DataError: one file has more lines than the other; the message has both counts.
    """
    sources, targets = read_lines(first), read_lines(second)
    for count, (source, target) in enumerate(zip_longest(sources, targets)):
        if source is None or target is None:
            more = count + 1 + sum(1 for _ in (targets if source is None else sources))
            counts = (count, more) if source is None else (more, count)
            raise DataError(f"{first} has {counts[0]} lines and {second} has {counts[1]}; the sides must correspond")
        yield source, target
