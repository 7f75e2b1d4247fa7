"""What a file of links held, and how it is brought to the rows and words of a text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment._formats_pharaoh import Columns
from interlace.alignment.links import ordered
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections import Counter

    from numpy.typing import NDArray

    Lengths = tuple[NDArray[np.integer], NDArray[np.integer]]  # words of each source and target sentence

EVIDENCE = 20  # linked pairs without a word 0, from which on words must be counted from 1


@dataclass(frozen=True)
class Found:
    """Links as a file has them.

    numbers: (n,) the number the file gives each row, rising; None where rows have none but their order.
    lengths: words of both sides, where the file has the text too.
    base: where the format itself says from what words are counted.
    """

    where: str
    format: str
    columns: Columns
    numbers: NDArray[np.int64] | None = None
    lengths: Lengths | None = None
    base: int | None = None
    notes: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns.links)

    def named(self, row: int) -> str:
        """What a person finds the row by."""
        if self.format in {"talp", "wpt", "giza"} and self.numbers is not None:
            return f"sentence {self.numbers[row]}"
        return f"line {row + 1}" if self.format == "pharaoh" else f"pair {row + 1}"

    def taken(self, rows: NDArray[np.int64]) -> Found:
        """Other rows: those named, empty ones for -1."""
        lengths = self.lengths and (_or_zero(self.lengths[0], rows), _or_zero(self.lengths[1], rows))
        links, sure = _or_empty(self.columns.links, rows), _or_empty(self.columns.sure, rows)
        links = sure if self.columns.sure is self.columns.links else links
        return replace(self, columns=Columns(links, sure), lengths=lengths)


def placed(found: Found, numbers: NDArray[np.int64] | None, count: int | None) -> Found:
    """The rows in the order of a text's numbers, or of a text of so many pairs; a row a pair.

    Raises:
        DataError: the file has other rows than the text.
    """
    count = len(numbers) if numbers is not None else count
    if found.numbers is None:
        if count is not None and len(found) != count:
            raise DataError(f"{found.where}: links of {len(found)} pairs, but the text has {count}")
        return found if numbers is None else replace(found, numbers=numbers)
    wanted = _numbers(found, count) if numbers is None else numbers
    unknown = np.flatnonzero(~np.isin(found.numbers, wanted))
    if len(unknown):
        raise DataError(
            f"{found.where}: links of sentence {found.numbers[unknown[0]]}, but the text has {len(wanted)} sentences, "
            f"numbered {min(wanted, default=0)} to {max(wanted, default=0)}"
        )
    places = {number: row for row, number in enumerate(found.numbers.tolist())}
    rows = np.array([places.get(number, -1) for number in wanted.tolist()], np.int64)
    return replace(found.taken(rows), numbers=wanted)


def _numbers(found: Found, count: int | None) -> NDArray[np.int64]:
    """The numbers of a text that has none: counted from 0 or 1, or those of the file where it has as many."""
    numbers = np.zeros(0, np.int64) if found.numbers is None else found.numbers
    if count is None or len(numbers) == count:
        return numbers
    first = 0 if numbers.min(initial=1) == 0 else 1
    if numbers.max(initial=0) < first + count:
        return np.arange(first, first + count)
    raise DataError(
        f"{found.where}: links of {len(numbers)} sentences, numbered {numbers[0]} to {numbers[-1]}, but the text has "
        f"{count} pairs; give the numbers of its pairs"
    )


def measured(found: Found, lengths: Lengths | None) -> tuple[Found, Lengths | None]:
    """The words of both sides as known from the text or the file; sides exchanged where the file has them so.

    Raises:
        DataError: the file's own text has other lengths than the text.
    """
    own = found.lengths
    if lengths is None or own is None:
        return found, own if lengths is None else lengths
    if all(np.array_equal(mine, given) for mine, given in zip(own, lengths, strict=True)):
        return found, lengths
    if all(np.array_equal(mine, given) for mine, given in zip(own, lengths[::-1], strict=True)):
        sides = (found.columns.links, found.columns.sure)
        links, sure = (ordered(side.rows(), side.flat[:, ::-1], len(side)) for side in sides)
        links = sure if sides[0] is sides[1] else links
        note = {"rows with source and target exchanged": len(found)}
        return replace(found, columns=Columns(links, sure), notes={**found.notes, **note}), lengths
    row = int(np.argmax((own[0] != lengths[0]) | (own[1] != lengths[1])))
    raise DataError(
        f"{found.where}, {found.named(row)}: {own[0][row]} and {own[1][row]} words, but the text has "
        f"{lengths[0][row]} and {lengths[1][row]}"
    )


def detected(found: Found, lengths: Lengths | None, notes: Counter[str]) -> int:
    """From what the file counts words: 0 or 1."""
    links = found.columns.links
    linked = int((links.lengths > 0).sum())
    if found.base is not None or not linked:
        return found.base or 0
    least, ends = int(links.flat.min()), 0
    if lengths is not None:
        last = np.stack([np.repeat(side, links.lengths) for side in lengths], axis=1)
        ends = int((links.flat == last).any(axis=1).sum())
    if least == 0:  # in `wpt`, also the null word (the same): then most sentences have a link as great as their length
        return int(found.format == "wpt" and 2 * ends >= linked)
    if ends:
        return 1
    if found.format == "wpt":
        return 1  # as the format's description has it (Mihalcea and Pedersen 2003)
    if lengths is None and least == 1 and linked >= EVIDENCE:
        notes["linked pairs, none with a word 0: words taken as counted from 1"] = linked
        return 1
    notes["linked pairs that do not tell whether words count from 0 or 1: taken as from 0"] = linked
    return 0


def inside(links: Ragged, base: int, lengths: Lengths | None) -> NDArray[np.bool_]:
    """(total,) which links stand between words that are there."""
    flat = links.flat
    kept: NDArray[np.bool_] = np.all(flat >= base, axis=1)
    for column, side in enumerate(lengths or ()):
        kept &= flat[:, column] - base < np.repeat(side, links.lengths)
    return kept


def chosen(links: Ragged, kept: NDArray[np.bool_], base: int) -> Ragged:
    """The links that are kept, words counted from 0."""
    lengths = np.bincount(links.rows()[kept], minlength=len(links))
    return Ragged.from_lengths((links.flat[kept] - base).astype(np.int32), lengths)


def _or_zero(lengths: NDArray[np.integer], rows: NDArray[np.int64]) -> NDArray[np.integer]:
    return np.append(lengths, 0)[rows]


def _or_empty(links: Ragged, rows: NDArray[np.int64]) -> Ragged:
    return Ragged(links.values, np.append(links.offsets, links.offsets[-1])).take(np.where(rows < 0, len(links), rows))
