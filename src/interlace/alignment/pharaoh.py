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
from interlace.alignment.links import contained_in, select_links, sorted_links
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text.types import arrow_numbers

_MARKS = b"-p?"  # sure, and two ways to write possible
_DIGITS = 6  # maximum digits of a word index
MAX_WORDS = 10**_DIGITS  # word indices are below this
_LINK = re.compile(r"[0-9]{1,6}[-p?][0-9]{1,6}")
_LINE = (
    r"^[ \t]*(?:[0-9]{1,6}[-p?][0-9]{1,6}(?:[ \t]+|$))*$"  # for RE2: Arrow's regular expressions
)
_BLANKS = str.maketrans("-p?\n\t", "     ")


@dataclass(frozen=True)
class FileLinks:
    """Links of the lines of a file: a sorted row per line, without duplicates, word indices as in the file.

    links: sure and possible links. is_sure: (total,) whether a link is sure. duplicates: number of links left out.
    """

    links: Ragged
    is_sure: NDArray[np.bool_]
    duplicates: int

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        links: NDArray[np.int32],
        is_possible: NDArray[np.bool_],
        count: int,
    ) -> FileLinks:
        """Build `count` rows from links in any order, the row of each, and whether it is only possible."""
        distinct = sorted_links(rows, links, count)
        is_sure = np.ones(len(distinct.flat), np.bool_)
        if is_possible.any():
            sure = sorted_links(rows[~is_possible], links[~is_possible], count)
            is_sure = contained_in(distinct, sure)
        return cls(distinct, is_sure, len(links) - len(distinct.flat))

    @classmethod
    def concatenate(cls, parts: Sequence[FileLinks]) -> FileLinks:
        """Return all rows of all parts, in order."""
        return cls(
            Ragged.concatenate([part.links for part in parts]),
            np.concatenate([part.is_sure for part in parts]),
            sum(part.duplicates for part in parts),
        )

    @property
    def sure(self) -> Ragged:
        """The sure links of each row."""
        return select_links(self.links, self.is_sure)

    def take(self, rows: NDArray[np.int64]) -> FileLinks:
        """Return these rows, an empty one for -1."""
        columns = np.column_stack([self.links.flat, self.is_sure])  # (total, 3)
        with_empty_row = Ragged(columns, np.append(self.links.offsets, len(columns)))
        taken = with_empty_row.take(rows)
        links = Ragged(np.ascontiguousarray(taken.values[:, :2]), taken.offsets)
        return FileLinks(links, taken.values[:, 2] > 0, self.duplicates)


def parse_pharaoh(lines: Sequence[str], where: str, first: int) -> FileLinks:
    """Return the links of lines; a DataError names line and column of a bad token.

    where: the name of the file, for errors. first: the number of the first line.

    Example: the lines `0-0 12p3` and `1-1` have the marks `-p-`, in rows 0 0 1, and the numbers 0 0 12 3 1 1.
    """
    is_valid = pc.match_substring_regex(arrow_texts(lines), _LINE)
    if not pc.all(is_valid, min_count=0).as_py():
        raise _invalid_link(lines, where, first)
    text = "\n".join(lines)
    characters = np.frombuffer(text.encode(), np.uint8)
    is_mark = np.isin(characters, np.frombuffer(_MARKS, np.uint8))
    rows = np.cumsum(characters == ord("\n"))[is_mark]  # (links,)
    links = np.zeros((0, 2), np.int32)
    if len(rows):
        links = np.fromstring(text.translate(_BLANKS), np.int32, sep=" ").reshape(-1, 2)
    return FileLinks.of(rows, links, characters[is_mark] != ord("-"), len(lines))


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
    """Return the error of the first token that is no link."""
    for number, line in enumerate(lines, first):
        for token in re.finditer(r"[^ \t]+", line):
            if not _LINK.fullmatch(token[0]):
                return DataError(
                    f"{where}, line {number}, column {token.start() + 1}: {token[0][:40]!r} is not a link; expected "
                    f"two word indices such as 3-4, or 3p4 or 3?4 for a possible link"
                )
    raise AssertionError("all tokens are links")
