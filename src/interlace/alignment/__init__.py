"""Word alignments: symmetrization, agreement with gold alignments, phrases and lexicons.

The alignments of n pairs are a `Ragged` with a row of links (source word, target word) per pair: shape (total, 2)
int32, counted from 0, sorted by source then target, without duplicates. Phrase pairs are rows of half-open word spans
(a, b, c, d): source[a:b] translates target[c:d].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from interlace.alignment.spill import SpilledRows
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text import TextPairs
from interlace.text.types import WordTypes

CHUNK = 20_000  # pairs processed at a time
_NO_ROWS = Ragged(np.zeros(0, np.int32), np.zeros(1, np.int64))


@dataclass(frozen=True)
class WordPairs:
    """n sentence pairs as integer word types, the input of statistical aligners, lexicons and phrase tables.

    source, target: n rows of int32 word types, in memory or mapped from a file.
    source_types, target_types: the spelling of each type, case kept.
    languages: of source and target. word_tokenizer: its name.
    first: the index of the first row in the corpus that this is a slice of.
    """

    source: Ragged
    target: Ragged
    source_types: list[str]
    target_types: list[str]
    languages: tuple[str, str] = ("source", "target")
    word_tokenizer: str = "whitespace"
    first: int = 0

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def of(cls, chunks: Iterable[TextPairs], spool: Path | None = None) -> WordPairs:
        """Convert all words of a text, given in chunks, to word types.

        spool: a folder for temporary files of the types, which are then memory-mapped; memory grows with the
            vocabulary only.

        Raises:
            DataError: a chunk has other languages or another word tokenizer than the previous ones.
        """
        types = (WordTypes(), WordTypes())
        origin: tuple[tuple[str, str], str] | None = None
        kept: list[Any] = [
            SpilledRows(np.int32, folder=spool) if spool else [_NO_ROWS] for _ in types
        ]
        for chunk in chunks:
            origin = _check_origin(chunk, origin)
            for side, numbering, rows in zip(
                (chunk.source, chunk.target), types, kept, strict=True
            ):
                rows.append(numbering.number(side))
        source, target = (
            Ragged.concatenate(rows) if isinstance(rows, list) else rows.mapped() for rows in kept
        )
        return cls(source, target, types[0].spellings, types[1].spellings, *(origin or ()))

    def slice(self, start: int, stop: int) -> WordPairs:
        """Return rows start to stop as a view."""
        sides = (self.source.slice(start, stop), self.target.slice(start, stop))
        return replace(self, source=sides[0], target=sides[1], first=self.first + start)

    def chunks(self, rows: int = CHUNK) -> Iterator[WordPairs]:
        """Yield the pairs in slices of at most `rows`."""
        return (
            self.slice(start, min(start + rows, len(self))) for start in range(0, len(self), rows)
        )

    def reversed(self) -> WordPairs:
        """Return the pairs with their sides exchanged."""
        return WordPairs(
            self.target, self.source, self.target_types, self.source_types, self.languages[::-1], self.word_tokenizer,
            self.first,
        )  # fmt: skip


def _check_origin(
    chunk: TextPairs, before: tuple[tuple[str, str], str] | None
) -> tuple[tuple[str, str], str]:
    """Return the languages and word tokenizer of a chunk; they must equal those of the previous chunks."""
    found = (chunk.source.language, chunk.target.language), chunk.source.word_tokenizer
    if chunk.target.word_tokenizer != found[1]:
        raise DataError(
            f"source words by the word tokenizer {found[1]!r}, but target words by {chunk.target.word_tokenizer!r}; "
            f"use one for both sides"
        )
    if before is not None and before != found:
        raise DataError(
            f"text in {'-'.join(found[0])} with the word tokenizer {found[1]!r} follows text in "
            f"{'-'.join(before[0])} with {before[1]!r}; their words cannot be counted together"
        )
    return found
