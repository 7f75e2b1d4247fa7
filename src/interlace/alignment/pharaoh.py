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
        cls, rows: NDArray[np.int64], links: NDArray[np.int32], possible: NDArray[np.bool_], count: int
    ) -> LinkColumns:
        """Build `count` rows from links in any order, the row of each, and whether it is only possible."""
        every = sorted_links(rows, links, count)
        return cls(every, sorted_links(rows[~possible], links[~possible], count) if possible.any() else every)

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
    data = np.frombuffer(("\n" + "\n".join(lines) + "\n").encode(), np.uint8)
    digit = (data - ord("0")) < 10  # characters below "0" wrap around
    starts = np.flatnonzero(digit[1:] & ~digit[:-1]) + 1
    ends = np.flatnonzero(digit[:-1] & ~digit[1:])  # the last digit of each number
    if not _are_links(data, digit, starts, ends):
        raise _invalid_link(lines, where, first)
    numbers = _numbers(data, starts, ends).reshape(-1, 2)
    line_ends = np.flatnonzero(data == ord("\n"))[1:]
    offsets = np.searchsorted(starts[::2], line_ends)
    rows = np.repeat(np.arange(len(lines)), np.diff(offsets, prepend=0))
    columns = LinkColumns.of(rows, numbers, data[ends[::2] + 1] != ord("-"), len(lines))
    return columns, len(numbers) - len(columns.links.flat)


def pharaoh_lines(links: Ragged | Iterable[Ragged]) -> Iterator[str]:
    """Yield a line `0-0 1-2` per pair, from all links or from chunks; raise a DataError for an index over 999,999."""
    for chunk in [links] if isinstance(links, Ragged) else links:
        if chunk.flat.max(initial=0) >= MAX_WORDS or chunk.flat.min(initial=0) < 0:
            raise DataError(f"links of words {chunk.flat.min()} to {chunk.flat.max()}; expected 0 to {MAX_WORDS - 1}")
        for start in range(0, len(chunk), CHUNK):
            yield from link_texts(chunk.slice(start, min(start + CHUNK, len(chunk)))).to_pylist()


def link_texts(links: Ragged) -> Any:
    """Return the text of each row, `0-0 1-2`, as an Arrow array."""
    keys, numbers = np.unique(links.flat.reshape(-1, 2).astype(np.int64) @ (1 << 32, 1), return_inverse=True)
    texts = arrow_texts([f"{key >> 32}-{key & 0xFFFFFFFF}" for key in keys.tolist()])
    return joined_texts(Ragged(numbers, links.offsets - links.offsets[0]), texts)


# Arrow arrays are made by buffers: pyarrow's own conversions import pandas, and ignore Ctrl-C meanwhile.


def arrow_texts(texts: Sequence[str]) -> Any:
    """Return texts as an Arrow array."""
    data = [text.encode() for text in texts]
    buffers = [None, pa.py_buffer(np.cumsum([0, *map(len, data)])), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.large_string(), len(data), buffers)


def joined_texts(rows: Ragged, texts: Any) -> Any:
    """Return rows of indices of texts as these texts, joined by blanks."""
    offsets, words = arrow_numbers(rows.offsets), texts.take(arrow_numbers(rows.values))
    return pc.binary_join(pa.LargeListArray.from_arrays(offsets, words), arrow_texts([" "])[0])


def _are_links(
    data: NDArray[np.uint8], digit: NDArray[np.bool_], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> bool:
    """Return whether the text is pairs of numbers joined by one mark, separated by white space, and nothing else."""
    if len(starts) % 2 or (ends - starts >= _DIGITS).any():
        return False
    blank = (data == ord(" ")) | (data == ord("\n")) | (data == ord("\t"))
    marks = ends[::2] + 1
    between = (starts[1::2] == marks + 1) & np.isin(data[marks], np.frombuffer(_MARKS, np.uint8))
    around = blank[starts[::2] - 1] & blank[ends[1::2] + 1]
    return bool((between & around).all()) and int(digit.sum() + blank.sum()) + len(marks) == len(data)


def _numbers(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int32]:
    numbers = (data[ends] - ord("0")).astype(np.int32)
    for place in range(1, int((ends - starts).max(initial=0)) + 1):
        long = np.flatnonzero(ends - starts >= place)
        numbers[long] += (data[ends[long] - place] - ord("0")).astype(np.int32) * 10**place
    return numbers


def _invalid_link(lines: Sequence[str], where: str, first: int) -> DataError:
    for number, line in enumerate(lines, first):
        for token in re.finditer(r"[^ \t]+", line):
            if not _LINK.fullmatch(token[0]):
                return DataError(
                    f"{where}, line {number}, column {token.start() + 1}: {token[0][:40]!r} is not a link; expected "
                    f"two word indices such as 3-4, or 3p4 or 3?4 for a possible link"
                )
    return DataError(f"{where}: lines {first} to {first + len(lines) - 1} hold an invalid link")
