"""Both sides of a pair in one line, `source ||| target`, as in fast_align's input."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from interlace.alignment.gold_text import joined_lines
from interlace.readers import TokenizingReader
from interlace.readers.common.text import chunks_with_notes, columns_of, expect, plain
from interlace.text import TextPairs


class Joined(TokenizingReader):
    """Pairs `source ||| target`, one per line, with or without spaces around the separator.

    If one separator of a line has spaces around it, others may occur inside words. An empty line is a pair of two
    empty sides, because alignments are counted by line.
    """

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read one file after another; `languages` are source and target."""
        expect(self, paths, languages, 2)
        for chunk, notes in chunks_with_notes(paths, _pairs):
            yield plain(columns_of(chunk), languages, self.word_tokenizer, notes=notes)


def _pairs(path: Path, notes: Counter[str]) -> Iterator[tuple[str, str]]:
    for source, target in joined_lines(path):
        if not (source and target):
            notes["pairs with an empty side"] += 1
        yield source, target
