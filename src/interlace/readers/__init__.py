"""Registry of readers: one file format per module. A reader yields `Text` or `TextPairs` in chunks of lines."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.json_files import JsonObject
from interlace.core.ragged import BoolArray, IntArray
from interlace.core.randomness import Purpose, generator
from interlace.core.registry import Registry
from interlace.core.settings import RegistryEntry
from interlace.text import Text, TextPairs
from interlace.text.lines import plain_name

# begins the name of a data set of the Hugging Face hub, which stands in place of a path
HUB = "hub:"
BY_SUFFIX = {  # readers of files that are not plain lines
    **dict.fromkeys((".jsonl", ".ndjson", ".parquet"), "dataset"),
    ".tmx": "tmx",
    ".xml": "tmx",
}
ROWS_PATTERN = r"^$|^\d*:\d*$"
_ALL = 1 << 62  # in place of the last row
# rows drawn together, so that a draw does not depend on how a reader cuts its chunks
_BLOCK = 4096
CHUNK = 10_000  # lines per chunk: enough to occupy all cores, few enough for the CPU caches


class Reader(RegistryEntry, ABC):
    """Reads one file format. Its fields name columns, label names and the like."""

    by_line: ClassVar[bool] = False  # whether line numbers of the file are row numbers
    language_counts: ClassVar[tuple[int, ...]] = (1, 2)  # numbers of languages that it takes

    @abstractmethod
    def read_chunks(
        self, paths: list[Path], languages: list[str]
    ) -> Iterator[Text | TextPairs]:
        """Yield chunks of at most `CHUNK` lines: `Text` for one language, `TextPairs` for two.

        paths: of the files.

        Raises:
            DataError: a file is missing, empty or not UTF-8, or the sides differ in length; names file and line.
        """


class TokenizingReader(Reader):
    """A reader of files that do not say where their words are."""

    word_tokenizer: str = Field(
        "whitespace", description="Word tokenizer (an entry of that registry)."
    )


READERS: Registry[Any] = Registry(__name__, "reader", Reader)


def read_pairs(reader: Reader, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
    """Yield the chunks of parallel text; raise a DataError if the reader returns single sentences."""
    for chunk in reader.read_chunks(paths, languages):
        if not isinstance(chunk, TextPairs):
            raise DataError(f"{paths[0]}: the reader returns single sentences; expected pairs")
        yield chunk


class RowSubset(Reader):
    """Selects rows, counted from 0 over all files.

    A row is kept if its own number, drawn uniformly from [0, 1), is below the share. So a smaller share is a subset of
    a larger one, and line-aligned files keep corresponding rows.
    """

    reader: JsonObject | str = Field("lines", description="Reader of the files.")
    rows: str = Field(
        "", pattern=ROWS_PATTERN, description="Range 'first:last'; 'last' is excluded."
    )
    share: float = Field(1.0, gt=0, le=1, description="Share of those rows to draw.")
    seed: int = Field(0, ge=0, description="Random seed of the draw.")

    def read_chunks(
        self, paths: list[Path], languages: list[str]
    ) -> Iterator[Text | TextPairs]:
        """Yield the reader's chunks with the selected rows; chunks without any are skipped."""
        start, _, stop = self.rows.partition(":")
        first = int(start or 0)
        last = int(stop or _ALL)
        reader = READERS.build(self.reader)
        read_rows = 0
        selected_rows = 0
        for chunk in reader.read_chunks(paths, languages):
            numbers = np.arange(read_rows, read_rows + len(chunk))
            read_rows += len(chunk)
            is_selected = (numbers >= first) & (numbers < last)
            if self.share < 1:
                is_selected &= self._drawn(numbers)
            if is_selected.any():
                selected_rows += int(is_selected.sum())
                yield chunk.where(is_selected)
            if read_rows >= last:
                break
        if not selected_rows:
            raise DataError(
                f"{paths[0]}: rows {self.rows!r}, share {self.share:g} select none of its {read_rows:,} rows"
            )

    def _drawn(self, numbers: IntArray) -> BoolArray:
        """(n,) which of consecutive rows are drawn."""
        is_drawn = np.zeros(len(numbers), np.bool_)
        blocks = numbers // _BLOCK
        for block in np.unique(blocks).tolist():
            rng = generator(Purpose.SAMPLE, self.seed, block, 2)
            draws = rng.random(_BLOCK)
            in_block = blocks == block
            positions = numbers[in_block] % _BLOCK
            is_drawn[in_block] = draws[positions] < self.share
        return is_drawn


def is_hub(path: Path | str) -> bool:
    """Whether a path names a data set of the hub."""
    return str(path).startswith(HUB)


def reader_for(path: Path, default: str = "lines") -> str:
    """Return the reader of a file by its suffix, without that of its compression."""
    return "dataset" if is_hub(path) else BY_SUFFIX.get(plain_name(path).suffix, default)
