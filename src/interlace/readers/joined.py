"""Both sides of a pair in one line, `source ||| target`, as in fast_align's input."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydantic import Field

from interlace.alignment.gold_text import joined_lines
from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers.common.text import chunks_of, plain_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import TextPairs


class Joined(Reader):
    """Pairs `source ||| target`, one per line, with or without spaces around the separator.

    If one separator of a line has spaces around it, others may occur inside words. An empty line is a pair of two
    empty sides, because alignments are counted by line.
    """

    word_tokenizer: str = Field("whitespace", description="Word tokenizer (an entry of that registry).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read one file after another; `languages` are source and target."""
        if not paths or len(languages) != 2:
            raise DataError(
                f"the reader 'joined' takes files of pairs in two languages, found {len(paths)} files for "
                f"{len(languages)} languages ({', '.join(languages)})"
            )
        notes: Counter[str] = Counter()
        for chunk in chunks_of(pair for path in paths for pair in _pairs(path, notes)):
            source, target = map(list, zip(*chunk, strict=True))
            yield plain_pairs((source, target), (languages[0], languages[1]), self.word_tokenizer, notes=notes)
            notes.clear()


def _pairs(path: Path, notes: Counter[str]) -> Iterator[tuple[str, str]]:
    for source, target in joined_lines(path):
        if not (source and target):
            notes["pairs with an empty side"] += 1
        yield source, target
