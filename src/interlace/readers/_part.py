"""Some rows of what another reader reads: a stretch of them, and a share of that, drawn row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.randomness import Purpose, generator
from interlace.readers import READERS, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs

ROWS = r"^$|^\d*:\d*$"
_BLOCK = 4096  # rows whose fates are drawn together, so that no row's hangs on how a reader cuts its chunks


class Part(Reader):
    """Rows are counted from 0 over all files, as the reader hands them over.

    A row is kept where its own number, drawn uniformly from [0, 1), is below the share. So a smaller share is part of a
    larger one, nothing has to be counted first, and files that correspond line by line keep corresponding rows.
    """

    reader: dict[str, Any] | str = Field("lines", description="What reads the files.")
    rows: str = Field("", pattern=ROWS, description="'first:last', the last one left out.")
    share: float = Field(1.0, gt=0, le=1, description="Share of those rows.")
    seed: int = Field(0, ge=0, description="Of the draw.")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """The chunks of the reader with the rows that are kept; chunks without any are left out."""
        first, last = self._bounds()
        row = kept_rows = 0
        for chunk in READERS.build(self.reader).read_chunks(paths, languages):
            numbers = np.arange(row, row + len(chunk))
            row += len(chunk)
            kept = (numbers >= first) & (numbers < last)
            if self.share < 1:
                kept &= self._drawn(numbers)
            if kept.any():
                kept_rows += int(kept.sum())
                yield chunk.where(kept)
            if row >= last:
                break
        if not kept_rows:
            of = f", share {self.share:g}" if self.share < 1 else ""
            raise DataError(f"{paths[0]}: none of its {row:,} rows is asked for by rows {self.rows or ':'!r}{of}")

    def _bounds(self) -> tuple[int, int]:
        first, _, last = self.rows.partition(":")
        return int(first or 0), int(last) if last else 1 << 62

    def _drawn(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(n,) which of consecutive rows are drawn."""
        if not len(numbers):
            return np.zeros(0, np.bool_)
        first = int(numbers[0]) // _BLOCK
        blocks = range(first, int(numbers[-1]) // _BLOCK + 1)
        fates = np.concatenate([generator(Purpose.SAMPLE, self.seed, block, 2).random(_BLOCK) for block in blocks])
        kept: NDArray[np.bool_] = fates[numbers - first * _BLOCK] < self.share
        return kept
