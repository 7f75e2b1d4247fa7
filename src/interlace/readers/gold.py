"""The text of gold word alignments: numbered sentences, JSON lines, or plain lines."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from interlace import readers
from interlace.alignment.gold_text import read_gold_text
from interlace.readers import Reader
from interlace.readers.common.text import check_files
from interlace.text import TextPairs


class Gold(Reader):
    """Pairs with the words that gold alignments index, in one file or one per side; sentence numbers are removed."""

    language_counts = (2,)

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read all text at once, because gold sets are small; `languages` are source and target."""
        check_files(self, paths, languages)
        sides = (languages[0], languages[1])
        pairs = read_gold_text(*paths, languages=sides).pairs
        for start in range(0, len(pairs), readers.CHUNK):
            stop = min(start + readers.CHUNK, len(pairs))
            yield pairs.take(np.arange(start, stop))
            # the notes of the first chunk count the whole text
            source = replace(pairs.source, notes={})
            target = replace(pairs.target, notes={})
            pairs = replace(pairs, source=source, target=target)
