"""Paraphrases in seven languages (Yang et al. 2019, PAWS-X): do two sentences of like words say the same?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.tasks._files import FileQuery, Files
from interlace.tasks._pair_classes import PairTask, read_pairs
from interlace.tasks._read import log_notes

if TYPE_CHECKING:
    from interlace.tasks._pair_classes import Chunks

LABELS = ("0", "1")  # 1: paraphrases
_UNTRANSLATED = "NS"  # stands in dev and test files where a sentence has no translation


class Pawsx(PairTask):
    """Accuracy over pairs, in percent; both sentences stand in one row, the longer one is cut first.

    Pairs with a sentence that was never translated (`NS`) are left out and counted, as in the paper's table 2.
    """

    called: ClassVar[str] = "pawsx"
    labels: ClassVar[tuple[str, ...]] = LABELS

    files: Files = Field(
        "pawsx/{split}-{language}.tsv",
        description="Tables under the data root: a pattern, or patterns by split or 'test.de'.",
    )
    reader: dict[str, Any] | str = Field(
        {"name": "tsv", "columns": [0, 1], "label": 2, "header": False},
        description="What reads the files: two columns of text and one of labels, by number from 0 (XTREME's files) or "
        "by name where there is a header (the authors' files: sentence1, sentence2, label).",
    )

    def pairs(self, asked: FileQuery) -> Chunks:
        """Both sentences."""
        return _translated(read_pairs(self.files, asked, self.reader, [asked.of, asked.of]))


def _translated(chunks: Chunks) -> Chunks:
    """The pairs of which both sentences are there."""
    found = []
    for path, chunk in chunks:
        sides = zip(chunk.source.lines, chunk.target.lines, strict=True)
        there = np.array([_UNTRANSLATED not in {first.strip(), second.strip()} for first, second in sides])
        log_notes("pawsx", path, [{f"pairs without a translation ({_UNTRANSLATED}) left out": int((~there).sum())}])
        if there.any():
            found.append((path, chunk.where(there)))
    if not found:
        raise DataError(f"pawsx: {chunks[0][0]}: no pair is translated, all hold {_UNTRANSLATED!r}")
    return found
