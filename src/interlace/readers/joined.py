"""Both sides of a pair in one line, `source ||| target`, as in fast_align's input."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from interlace.alignment.gold_text import joined_lines
from interlace.readers.common.text import RowReader


class Joined(RowReader):
    """Pairs `source ||| target`, one per line, with or without spaces around the separator.

    If one separator of a line has spaces around it, others may occur inside words. An empty line is a pair of two
    empty sides, because alignments are counted by line.
    """

    language_counts = (2,)

    def rows(
        self, languages: list[str], path: Path, notes: Counter[str]
    ) -> Iterator[tuple[str, str]]:
        """Yield both sides of each line."""
        del languages
        for source, target in joined_lines(path):
            if not (source and target):
                notes["pairs with an empty side"] += 1
            yield source, target
