"""The Pharaoh format, `0-0 1-2 3p3` per line: parse and format whole blocks of lines with array operations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from interlace.alignment import CHUNK
from interlace.core.errors import DataError
from interlace.core.ragged import BoolArray, Int32Array, IntArray, Ragged

_MARKS = b"-p?"  # sure, and two ways to write possible
_DIGITS = 6  # maximum digits of a word index
MAX_WORDS = 10**_DIGITS  # word indices are below this
_LINK = re.compile(r"[0-9]{1,6}[-p?][0-9]{1,6}")
_LINE = re.compile(r"[ \t]*+(?:[0-9]{1,6}+[-p?][0-9]{1,6}+(?:[ \t]++|$))*+")
_BLANKS = str.maketrans("-p?\n\t", "     ")


class LinkColumns(NamedTuple):
    """Links in any order, as in a file: word indices are those of the file, and links may repeat.

    rows: (total,) the row of each link. links: (total, 2) source and target word.
    is_possible: (total,) whether a link is only possible.
    """

    rows: IntArray
    links: Int32Array
    is_possible: BoolArray


def parse_pharaoh(lines: Sequence[str], where: str, first_row: int = 0) -> LinkColumns:
    """Return the links of lines; a DataError names line and column of a bad token.

    where: the name of the file, for errors. first_row: the row of the first line.

    Example: the lines `0-0 12p3` and `1-1` have the marks `-p-`, in rows 0 0 1, and the numbers 0 0 12 3 1 1.
    """
    if not all(map(_LINE.fullmatch, lines)):
        raise _invalid_link(lines, where, first_row + 1)
    text = "\n".join(lines)
    characters = np.frombuffer(text.encode(), np.uint8)
    is_mark = np.isin(characters, np.frombuffer(_MARKS, np.uint8))
    marks_at = np.flatnonzero(is_mark)  # (links,)
    line_ends = np.flatnonzero(characters == ord("\n"))
    rows = first_row + np.searchsorted(line_ends, marks_at)
    links = np.zeros((0, 2), np.int32)
    if len(rows):
        links = np.fromstring(text.translate(_BLANKS), np.int32, sep=" ").reshape(-1, 2)
    is_possible = characters[marks_at] != ord("-")
    return LinkColumns(rows, links, is_possible)


def pharaoh_lines(links: Ragged | Iterable[Ragged]) -> Iterator[str]:
    """Yield a line `0-0 1-2` per pair, from all links or from chunks; raise a DataError for an index over 999,999."""
    chunks = [links] if isinstance(links, Ragged) else links
    for chunk in chunks:
        lowest = chunk.flat.min(initial=0)
        highest = chunk.flat.max(initial=0)
        if lowest < 0 or highest >= MAX_WORDS:
            raise DataError(
                f"links of words {lowest} to {highest}; expected 0 to {MAX_WORDS - 1}"
            )
        for start in range(0, len(chunk), CHUNK):
            part = chunk.slice(start, min(start + CHUNK, len(chunk)))
            yield from link_texts(part)


def link_texts(links: Ragged) -> list[str]:
    """Return the text of each row, `0-0 1-2`."""
    keys = links.flat.reshape(-1, 2).astype(np.int64) @ (1 << 32, 1)  # source << 32 | target
    distinct, numbers = np.unique(keys, return_inverse=True)
    texts = [f"{key >> 32}-{key & 0xFFFFFFFF}" for key in distinct.tolist()]
    return joined_texts(Ragged(numbers, links.offsets - links.offsets[0]), texts)


def joined_texts(rows: Ragged, texts: Sequence[str]) -> list[str]:
    """Return rows of indices of texts as these texts, joined by blanks."""
    words = np.array(texts, object)[rows.flat].tolist()
    offsets = (rows.offsets - rows.offsets[0]).tolist()
    return [" ".join(words[start:end]) for start, end in pairwise(offsets)]


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
