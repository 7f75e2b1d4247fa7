"""The Pharaoh format, `0-0 1-2 3p3` per line: parse and format whole blocks of lines with array operations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from interlace.alignment import CHUNK
from interlace.alignment.links import sorted_links
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text.types import arrow_numbers

_MARKS = b"-p?"  # sure, and two ways to write possible
_DIGITS = 6  # maximum digits of a word index
MAX_WORDS = 10**_DIGITS  # word indices are below this
_LINK = re.compile(r"[0-9]{1,6}[-p?][0-9]{1,6}")


@dataclass(frozen=True)
class LinkColumns:
    """Links of some lines, a sorted row per line, without duplicates, word indices as in the file.

    links: sure and possible links. sure: the sure ones; the same object if all are.
    """

    links: Ragged
    sure: Ragged

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        links: NDArray[np.int32],
        possible: NDArray[np.bool_],
        count: int,
    ) -> LinkColumns:
        """Build `count` rows from links in any order, the row of each, and whether it is only possible."""
        every = sorted_links(rows, links, count)
        return cls(
            every,
            sorted_links(rows[~possible], links[~possible], count) if possible.any() else every,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[LinkColumns]) -> LinkColumns:
        """Return all rows of all parts, in order."""
        links = Ragged.concatenate([part.links for part in parts])
        if all(part.sure is part.links for part in parts):
            return cls(links, links)
        return cls(links, Ragged.concatenate([part.sure for part in parts]))


def parse_pharaoh(lines: Sequence[str], where: str, first: int) -> tuple[LinkColumns, int]:
    """Return the links of lines and the number of duplicates; a DataError names line and column of a bad token.

    where: the name of the file, for errors. first: the number of the first line.
    """
    text = _Characters(lines)
    if not text.are_links():
        raise _invalid_link(lines, where, first)
    links = text.numbers().reshape(-1, 2)
    columns = LinkColumns.of(text.rows(), links, text.marks != ord("-"), len(lines))
    return columns, len(links) - len(columns.links.flat)


class _Characters:
    r"""Lines of text as bytes, and the runs of digits in them. Example: the line `0-0 12p3`.

    text     \n 0 - 0   1 2 p 3 \n
    starts      1   3   5     8
    ends        1   3     6   8
    marks         2         7           the character after the first number of a link
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = len(lines)
        self._bytes = np.frombuffer(("\n" + "\n".join(lines) + "\n").encode(), np.uint8)
        self._digit = (self._bytes - ord("0")) < 10  # characters below "0" wrap around
        self._starts = np.flatnonzero(self._digit[1:] & ~self._digit[:-1]) + 1
        self._ends = np.flatnonzero(self._digit[:-1] & ~self._digit[1:])

    @property
    def marks(self) -> NDArray[np.uint8]:
        """(links,) the character between the numbers of each link."""
        return self._bytes[self._ends[::2] + 1]

    def are_links(self) -> bool:
        """Return whether the text is pairs of numbers joined by one mark, separated by white space."""
        starts, ends = self._starts, self._ends
        if len(starts) % 2 or (ends - starts >= _DIGITS).any():
            return False
        blank = np.isin(self._bytes, np.frombuffer(b" \n\t", np.uint8))
        joined = (starts[1::2] == ends[::2] + 2) & np.isin(
            self.marks, np.frombuffer(_MARKS, np.uint8)
        )
        separated = blank[starts[::2] - 1] & blank[ends[1::2] + 1]
        characters = int(self._digit.sum() + blank.sum()) + len(self.marks)
        return bool((joined & separated).all()) and characters == len(self._bytes)

    def numbers(self) -> NDArray[np.int32]:
        """(2 * links,) the value of each run of digits."""
        numbers = (self._bytes[self._ends] - ord("0")).astype(np.int32)
        further_digits = self._ends - self._starts
        for place in range(1, int(further_digits.max(initial=0)) + 1):
            long = np.flatnonzero(further_digits >= place)
            digits = (self._bytes[self._ends[long] - place] - ord("0")).astype(np.int32)
            numbers[long] += digits * 10**place
        return numbers

    def rows(self) -> NDArray[np.int64]:
        """(links,) the line of each link, from 0."""
        line_ends = np.flatnonzero(self._bytes == ord("\n"))[1:]
        links_before = np.searchsorted(self._starts[::2], line_ends)
        return np.repeat(np.arange(self._lines), np.diff(links_before, prepend=0))


def pharaoh_lines(links: Ragged | Iterable[Ragged]) -> Iterator[str]:
    """Yield a line `0-0 1-2` per pair, from all links or from chunks; raise a DataError for an index over 999,999."""
    chunks = [links] if isinstance(links, Ragged) else links
    for chunk in chunks:
        if chunk.flat.max(initial=0) >= MAX_WORDS or chunk.flat.min(initial=0) < 0:
            raise DataError(
                f"links of words {chunk.flat.min()} to {chunk.flat.max()}; expected 0 to {MAX_WORDS - 1}"
            )
        for start in range(0, len(chunk), CHUNK):
            yield from link_texts(chunk.slice(start, min(start + CHUNK, len(chunk)))).to_pylist()


def link_texts(links: Ragged) -> Any:
    """Return the text of each row, `0-0 1-2`, as an Arrow array."""
    keys = links.flat.reshape(-1, 2).astype(np.int64) @ (1 << 32, 1)  # source << 32 | target
    distinct, numbers = np.unique(keys, return_inverse=True)
    texts = arrow_texts([f"{key >> 32}-{key & 0xFFFFFFFF}" for key in distinct.tolist()])
    return joined_texts(Ragged(numbers, links.offsets - links.offsets[0]), texts)


# Arrow arrays are made by buffers: pyarrow's own conversions import pandas, and ignore Ctrl-C meanwhile.


def arrow_texts(texts: Sequence[str]) -> Any:
    """Return texts as an Arrow array."""
    data = [text.encode() for text in texts]
    buffers = [None, pa.py_buffer(np.cumsum([0, *map(len, data)])), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.large_string(), len(data), buffers)


def joined_texts(rows: Ragged, texts: Any) -> Any:
    """Return rows of indices of texts as these texts, joined by blanks."""
    words = texts.take(arrow_numbers(rows.values))
    lists = pa.LargeListArray.from_arrays(arrow_numbers(rows.offsets), words)
    return pc.binary_join(lists, arrow_texts([" "])[0])


def _invalid_link(lines: Sequence[str], where: str, first: int) -> DataError:
    for number, line in enumerate(lines, first):
        for token in re.finditer(r"[^ \t]+", line):
            if not _LINK.fullmatch(token[0]):
                return DataError(
                    f"{where}, line {number}, column {token.start() + 1}: {token[0][:40]!r} is not a link; expected "
                    f"two word indices such as 3-4, or 3p4 or 3?4 for a possible link"
                )
    return DataError(f"{where}: lines {first} to {first + len(lines) - 1} hold an invalid link")
