"""A range or random share of the rows of another reader."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.randomness import Purpose, generator
from interlace.readers import READERS, Reader
from interlace.text import Text, TextPairs

ROWS_PATTERN = r"^$|^\d*:\d*$"
_BLOCK = 4096  # rows drawn together, so that a draw does not depend on how a reader cuts its chunks


class RowSubset(Reader):
    """Selects rows, counted from 0 over all files.

    A row is kept if its own number, drawn uniformly from [0, 1), is below the share. So a smaller share is a subset of
    a larger one, and line-aligned files keep corresponding rows.
    """

    reader: dict[str, Any] | str = Field("lines", description="Reader of the files.")
    rows: str = Field("", pattern=ROWS_PATTERN, description="Range 'first:last'; 'last' is excluded.")
    share: float = Field(1.0, gt=0, le=1, description="Share of those rows to draw.")
    seed: int = Field(0, ge=0, description="Random seed of the draw.")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Yield the reader's chunks with the selected rows; chunks without any are skipped."""
        start, _, stop = self.rows.partition(":")
        first, last = int(start or 0), int(stop) if stop else 1 << 62
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
            share = f", share {self.share:g}" if self.share < 1 else ""
            raise DataError(f"{paths[0]}: rows {self.rows or ':'!r}{share} select none of its {row:,} rows")

    def _drawn(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(n,) which of consecutive rows are drawn."""
        if not len(numbers):
            return np.zeros(0, np.bool_)
        first = int(numbers[0]) // _BLOCK
        blocks = range(first, int(numbers[-1]) // _BLOCK + 1)
        draws = np.concatenate([generator(Purpose.SAMPLE, self.seed, block, 2).random(_BLOCK) for block in blocks])
        return np.asarray(draws[numbers - first * _BLOCK] < self.share)
