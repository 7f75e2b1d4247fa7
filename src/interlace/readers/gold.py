"""The text of gold links, as it comes with them: numbered sentences, JSON lines, GIZA++ files, or plain lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import interlace.readers as room
from interlace.alignment.formats import read_gold_text
from interlace.core.errors import DataError
from interlace.readers import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import TextPairs


class Gold(Reader):
    """Pairs whose words are those that gold links count, in one file or in one a side; numbers are taken off."""

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Two languages, that of the source first. Such texts are small, so the whole is read at once."""
        if not 1 <= len(paths) <= 2 or len(languages) != 2:
            raise DataError(
                f"the reader 'gold' takes one file or two, in two languages; found {len(paths)} files for "
                f"{len(languages)} languages ({', '.join(languages)})"
            )
        pairs = read_gold_text(*paths, languages=(languages[0], languages[1])).pairs
        rows = np.arange(len(pairs))
        for start in range(0, len(pairs), room.CHUNK):
            chunk = pairs.where((rows >= start) & (rows < start + room.CHUNK))
            yield _without_notes(chunk) if start else chunk  # they speak of the whole text


def _without_notes(pairs: TextPairs) -> TextPairs:
    return replace(pairs, source=replace(pairs.source, notes={}), target=replace(pairs.target, notes={}))
