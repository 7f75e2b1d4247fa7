"""Word alignments: symmetrization, agreement with gold alignments, phrases and lexicons.

The alignments of n pairs are a `Ragged` with a row of links (source word, target word) per pair: shape (total, 2)
int32, counted from 0, sorted by source then target, without duplicates. Phrase pairs are rows of half-open word spans
(a, b, c, d): source[a:b] translates target[c:d].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from interlace.alignment.spill import SpilledRows
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text import LanguagePair, TextPairs
from interlace.text.types import WordTypes

CHUNK = 20_000  # pairs processed at a time
Heuristic = Literal["intersection", "union", "grow", "grow-diag-final", "grow-diag-final-and"]
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
    languages: LanguagePair = ("source", "target")
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
        source_types = WordTypes()
        target_types = WordTypes()
        source_rows = _Rows(spool)
        target_rows = _Rows(spool)
        origin: tuple[LanguagePair, str] | None = None
        for chunk in chunks:
            origin = _check_origin(chunk, origin)
            source_rows.append(source_types.number(chunk.source))
            target_rows.append(target_types.number(chunk.target))
        return cls(
            source_rows.joined(),
            target_rows.joined(),
            source_types.spellings,
            target_types.spellings,
            *(origin or ()),
        )

    def slice(self, start: int, stop: int) -> WordPairs:
        """Return rows start to stop as a view."""
        source = self.source.slice(start, stop)
        target = self.target.slice(start, stop)
        return replace(self, source=source, target=target, first=self.first + start)

    def chunks(self, rows: int = CHUNK) -> Iterator[WordPairs]:
        """Yield the pairs in slices of at most `rows`."""
        for start in range(0, len(self), rows):
            yield self.slice(start, min(start + rows, len(self)))

    def reversed(self) -> WordPairs:
        """Return the pairs with their sides exchanged."""
        return replace(
            self,
            source=self.target,
            target=self.source,
            source_types=self.target_types,
            target_types=self.source_types,
            languages=self.languages[::-1],
        )


class _Rows:
    """Rows of word types that are collected in memory or, with a folder, in temporary files."""

    def __init__(self, folder: Path | None) -> None:
        self._spilled = None if folder is None else SpilledRows(np.int32, folder=folder)
        self._parts = [_NO_ROWS]

    def append(self, rows: Ragged) -> None:
        if self._spilled is None:
            self._parts.append(rows)
        else:
            self._spilled.append(rows)

    def joined(self) -> Ragged:
        """Return all rows, mapped if they are in files."""
        if self._spilled is None:
            return Ragged.concatenate(self._parts)
        return self._spilled.mapped()


def _check_origin(
    chunk: TextPairs, before: tuple[tuple[str, str], str] | None
) -> tuple[tuple[str, str], str]:
    """Return the languages and word tokenizer of a chunk; they must equal those of the previous chunks."""
    languages = (chunk.source.language, chunk.target.language)
    word_tokenizer = chunk.source.word_tokenizer
    if chunk.target.word_tokenizer != word_tokenizer:
        raise DataError(
            f"source words by the word tokenizer {word_tokenizer!r}, but target words by "
            f"{chunk.target.word_tokenizer!r}; use one for both sides"
        )
    if before is not None and before != (languages, word_tokenizer):
        raise DataError(
            f"text in {'-'.join(languages)} with the word tokenizer {word_tokenizer!r} follows text in "
            f"{'-'.join(before[0])} with {before[1]!r}; their words cannot be counted together"
        )
    return languages, word_tokenizer
