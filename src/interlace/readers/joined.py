"""Both sides of a pair in one line, `source ||| target`, as in fast_align's input."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from interlace.alignment.gold_text import joined_lines
from interlace.readers import Reader
from interlace.readers.common.text import chunks_with_notes, columns_of, expect, plain
from interlace.text import TextPairs


class Joined(Reader):
    """Pairs `source ||| target`, one per line, with or without spaces around the separator.

    If one separator of a line has spaces around it, others may occur inside words. An empty line is a pair of two
    empty sides, because alignments are counted by line.
    """

    word_tokenizer: str = Field(
        "whitespace", description="Word tokenizer (an entry of that registry)."
    )

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read one file after another; `languages` are source and target."""
        fits = bool(paths) and len(languages) == 2
        expect("joined", "files of pairs in two languages", paths, languages, fits=fits)
        for chunk, notes in chunks_with_notes(paths, _pairs):
            yield plain(columns_of(chunk), languages, self.word_tokenizer, notes=notes)


def _pairs(path: Path, notes: Counter[str]) -> Iterator[tuple[str, str]]:
    for source, target in joined_lines(path):
        if not (source and target):
            notes["pairs with an empty side"] += 1
        yield source, target
