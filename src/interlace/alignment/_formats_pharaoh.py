"""Pharaoh lines, `0-0 1-2 3p3`, to columns and back, without a loop over links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment.links import found_in, ordered
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MARKS = b"-p?"  # sure, and two ways to say possible
_DIGITS = 6  # of a word number at most
WORDS = 10**_DIGITS  # a sentence has fewer
_TOKEN = re.compile(r"[0-9]{1,6}[-p?][0-9]{1,6}")


@dataclass(frozen=True)
class Columns:
    """Links of some lines, a row a line, sorted, each once, words counted as the file counts them.

    links: sure and possible ones. sure: the sure ones; the same object where all are.
    """

    links: Ragged
    sure: Ragged

    @classmethod
    def of(cls, rows: NDArray[np.int64], links: NDArray[np.int32], possible: NDArray[np.bool_], count: int) -> Columns:
        """From links in any order with the row of each and whether it is only possible; `count` rows."""
        every = ordered(rows, links, count)
        return cls(every, ordered(rows[~possible], links[~possible], count) if possible.any() else every)

    @classmethod
    def concatenate(cls, parts: Sequence[Columns]) -> Columns:
        """All rows of all parts, in order."""
        links = Ragged.concatenate([part.links for part in parts])
        if all(part.sure is part.links for part in parts):
            return cls(links, links)
        return cls(links, Ragged.concatenate([part.sure for part in parts]))


def parsed(lines: Sequence[str], where: str, first: int) -> tuple[Columns, int]:
    """Links of lines, of which the first is number `first` of the file called `where`; and how many stand twice.

    Raises:
        DataError: something is no link; names line and column.
    """
    data = np.frombuffer(("\n" + "\n".join(lines) + "\n").encode(), np.uint8)
    digit = (data - ord("0")) < 10  # below it wraps around
    starts = np.flatnonzero(digit[1:] & ~digit[:-1]) + 1
    ends = np.flatnonzero(digit[:-1] & ~digit[1:])  # the last digit of each number
    if not _are_links(data, digit, starts, ends):
        raise _no_link(lines, where, first)
    numbers = _values(data, starts, ends).reshape(-1, 2)
    line_ends = np.flatnonzero(data == ord("\n"))[1:]
    offsets = np.searchsorted(starts[::2], line_ends)
    rows = np.repeat(np.arange(len(lines)), np.diff(offsets, prepend=0))
    columns = Columns.of(rows, numbers, data[ends[::2] + 1] != ord("-"), len(lines))
    return columns, len(numbers) - len(columns.links.flat)


def _are_links(
    data: NDArray[np.uint8], digit: NDArray[np.bool_], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> bool:
    """Whether numbers come in twos with one mark between them, with blanks around them, and nothing else is there."""
    if len(starts) % 2 or (ends - starts >= _DIGITS).any():
        return False
    blank = (data == ord(" ")) | (data == ord("\n")) | (data == ord("\t"))
    marks = ends[::2] + 1
    between = (starts[1::2] == marks + 1) & np.isin(data[marks], np.frombuffer(MARKS, np.uint8))
    around = blank[starts[::2] - 1] & blank[ends[1::2] + 1]
    return bool((between & around).all()) and int(digit.sum() + blank.sum()) + len(marks) == len(data)


def _values(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int32]:
    values = (data[ends] - ord("0")).astype(np.int32)
    for place in range(1, int((ends - starts).max(initial=0)) + 1):
        long = np.flatnonzero(ends - starts >= place)
        values[long] += (data[ends[long] - place] - ord("0")).astype(np.int32) * 10**place
    return values


def _no_link(lines: Sequence[str], where: str, first: int) -> DataError:
    for number, line in enumerate(lines, first):
        for token in re.finditer(r"[^ \t]+", line):
            if not _TOKEN.fullmatch(token[0]):
                return DataError(
                    f"{where}, line {number}, column {token.start() + 1}: {token[0][:40]!r} is no link; expected the "
                    f"numbers of two words such as 3-4, or 3p4 or 3?4 where it is only possible"
                )
    return DataError(f"{where}: lines {first} to {first + len(lines) - 1} hold something that is no link")


def must_be_small(links: Ragged) -> None:
    """Refuse words beyond the first million, which no sentence has and no reader takes."""
    if links.flat.max(initial=0) >= WORDS or links.flat.min(initial=0) < 0:
        raise DataError(f"words {links.flat.min()} to {links.flat.max()} are linked; expected 0 to {WORDS - 1}")


def formatted(links: Ragged, sure: Ragged | None = None) -> list[str]:
    """A line a row: `i-j` each link, `ipj` one that is not in `sure` (None: all are)."""
    must_be_small(links)
    flat = links.flat.reshape(-1)  # numbers, two a link
    digits = np.ones(len(flat), np.int64)
    for place in range(1, _DIGITS):
        digits += flat >= 10**place
    ends = links.offsets[1:] - links.offsets[0]  # in links
    before = np.searchsorted(ends, np.arange(len(links.flat)), side="right")  # line feeds before each link
    empty = links.lengths == 0
    feeds = np.cumsum(empty)[np.minimum(before, len(links) - 1)] if len(links) else before
    # Every number is followed by one character; an empty line adds a line feed of its own.
    starts = np.cumsum(digits + 1) - (digits + 1) + np.repeat(feeds, 2)
    text = np.full(int((digits + 1).sum() + empty.sum()), ord("\n"), np.uint8)
    after = np.full((len(links.flat), 2), ord(" "), np.uint8)
    after[:, 0] = ord("-") if sure is None else np.where(found_in(links, sure), ord("-"), ord("p"))
    after[ends[~empty] - 1, 1] = ord("\n")
    text[starts + digits] = after.reshape(-1)
    for place in range(int(digits.max(initial=0))):
        long = np.flatnonzero(digits > place)
        text[starts[long] + digits[long] - 1 - place] = ord("0") + flat[long] // 10**place % 10
    return text.tobytes().decode("ascii").split("\n")[:-1]
