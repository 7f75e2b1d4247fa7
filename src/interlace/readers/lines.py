"""One sentence per line: files of one language, or line-aligned files of two."""

from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path

from interlace.core.errors import DataError
from interlace.readers import TokenizingReader, reader_for
from interlace.readers.common.text import check_files, chunks_of, columns_of, plain
from interlace.text import Text, TextPairs
from interlace.text.lines import count_lines, read_lines


class PlainLines(TokenizingReader):
    """Plain text, one sentence per line. Two languages are line-aligned files: all of the first, then of the second."""

    by_line = True

    def read_chunks(
        self, paths: list[Path], languages: list[str]
    ) -> Iterator[Text | TextPairs]:
        """Read the files of one language one after another, or the files of two languages in parallel."""
        check_files(self, paths, languages)
        if len(paths) % len(languages):
            raise DataError(
                f"{paths[-1]}: {len(paths)} files; expected as many of each language"
            )
        for path in paths:
            suitable = reader_for(path)
            if suitable != "lines":
                raise DataError(f"{path}: is not plain text; set the reader: {suitable!r}")
        if len(languages) == 1:
            all_lines = chain.from_iterable(map(read_lines, paths))
            for lines in chunks_of(all_lines):
                yield plain([lines], languages, self.word_tokenizer)
            return
        half = len(paths) // 2
        pairs = chain.from_iterable(map(_pairs, paths[:half], paths[half:]))
        for rows in chunks_of(pairs):
            yield plain(columns_of(rows), languages, self.word_tokenizer)


def _pairs(source_path: Path, target_path: Path) -> Iterator[tuple[str, str]]:
    """Yield corresponding lines of two files."""
    for source, target in zip_longest(read_lines(source_path), read_lines(target_path)):
        if source is None or target is None:
            raise DataError(
                f"{source_path} has {count_lines(source_path)} lines and {target_path} has "
                f"{count_lines(target_path)}; the sides must correspond"
            )
        yield source, target
