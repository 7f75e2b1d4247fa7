"""The text of gold word alignments: numbered sentences, JSON lines, GIZA++ files, or plain lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace import readers
from interlace.alignment.gold_text import read_gold_text
from interlace.core.errors import DataError
from interlace.readers import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import TextPairs


class Gold(Reader):
    """Pairs with the words that gold alignments index, in one file or one per side; sentence numbers are removed."""

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read all text at once, because gold sets are small; `languages` are source and target."""
        if not 1 <= len(paths) <= 2 or len(languages) != 2:
            raise DataError(
                f"the reader 'gold' takes one file or two, in two languages; found {len(paths)} files for "
                f"{len(languages)} languages ({', '.join(languages)})"
            )
        pairs = read_gold_text(*paths, languages=(languages[0], languages[1])).pairs
        rows = np.arange(len(pairs))
        for start in range(0, len(pairs), readers.CHUNK):
            chunk = pairs.where((rows >= start) & (rows < start + readers.CHUNK))
            yield _without_notes(chunk) if start else chunk  # the notes count the whole text


def _without_notes(pairs: TextPairs) -> TextPairs:
    return replace(pairs, source=replace(pairs.source, notes={}), target=replace(pairs.target, notes={}))
