"""Dependency trees of files: heads as places in the line, checked to be trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from interlace.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_ROOT = -1


class Row(NamedTuple):
    """A word with its head and relation as they are written, and the line of the file."""

    word: int
    head: str
    relation: str
    line: int


class Tree(NamedTuple):
    """For each word of a line, the place of the word it depends on (-1: none), and how."""

    heads: list[int]
    relations: list[str]


def tree_of(path: Path, rows: Sequence[Row], left_out: Sequence[tuple[Row, int]]) -> Tree:
    """The tree over the words of a sentence.

    Words that were left out are one with the word that stands for them: what depends on one of them depends on that
    word, which depends on whatever the uppermost of them does.

    left_out: words, each with the number of the word that stands for it.

    Raises:
        DataError: a head is no word of the sentence, or words depend on each other in a ring; names the line.
    """
    places = {row.word: place for place, row in enumerate(rows)}
    lost = {row.word: row for row, stands in left_out if stands in places}
    places |= {row.word: places[stands] for row, stands in left_out if stands in places}
    whole = [_uppermost(path, row, places, lost) for row in rows]
    heads = [_ROOT if row.head == "0" else places[int(row.head)] for row in whole]
    for place, row in enumerate(rows):
        if _in_ring(place, heads):
            raise DataError(f"{path}, line {row.line}: the word depends on itself, by way of others; expected a tree")
    return Tree(heads, [row.relation for row in whole])


def _uppermost(path: Path, row: Row, places: dict[int, int], lost: dict[int, Row]) -> Row:
    """The word, or the one among those it stands for that depends on none of them."""
    own = places[row.word]
    for _ in range(len(lost) + 1):
        if row.head != "0" and not (row.head.isascii() and row.head.isdigit() and int(row.head) in places):
            raise DataError(
                f"{path}, line {row.line}: head {row.head!r} is no word of the sentence; expected its number, or 0"
            )
        above = lost.get(int(row.head))
        if above is None or places[above.word] != own:
            return row
        row = above
    return row


def _in_ring(place: int, heads: Sequence[int]) -> bool:
    """Whether the way up comes back."""
    at, steps = heads[place], 0
    while at not in {_ROOT, place} and steps <= len(heads):
        at, steps = heads[at], steps + 1
    return at == place
