"""Ragged arrays, rows of different length in one flat array; and names for the types of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# types of arrays, by the kind of their numbers; shapes stand in docstrings and comments
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float32]
DoubleArray = NDArray[np.float64]
ByteArray = NDArray[np.uint8]
AnyArray = NDArray[Any]
Arrays = dict[str, AnyArray]  # by name
IntegerArray = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Ragged:
    """`values[offsets[i]:offsets[i + 1]]` is row i.

    values: (total, ...), any dtype; further axes are allowed, such as (total, 2) for spans.
    offsets: (rows + 1,) int64, first 0, last `len(values)`.
    """

    values: AnyArray
    offsets: IntArray

    @classmethod
    def of(
        cls,
        rows: Sequence[Sequence[Any]],
        dtype: DTypeLike = np.int32,
        width: int | None = None,
    ) -> Ragged:
        """Build from lists; `width` is the second axis of rows of tuples (required if all may be empty)."""
        entries = list(chain.from_iterable(rows))
        values = np.asarray(entries, dtype=dtype)
        if width is not None:
            values = values.reshape(-1, width)
        return cls.from_lengths(values, map(len, rows))

    @classmethod
    def from_lengths(cls, values: AnyArray, lengths: Iterable[int] | AnyArray) -> Ragged:
        """Build from flat values and the length of each row."""
        if not isinstance(lengths, np.ndarray):
            lengths = list(lengths)
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(values, offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[Ragged]) -> Ragged:
        """Concatenate the rows of all parts."""
        values = np.concatenate([part.flat for part in parts])
        lengths = np.concatenate([part.lengths for part in parts])
        return cls.from_lengths(values, lengths)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> AnyArray:
        if not -len(self) <= row < len(self):  # also ends iteration by index
            raise IndexError(row)
        row %= len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[AnyArray]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return False
        has_equal_lengths = np.array_equal(self.lengths, other.lengths)
        return has_equal_lengths and np.array_equal(self.flat, other.flat)

    __hash__ = None  # type: ignore[assignment]

    @property
    def lengths(self) -> IntArray:
        """(rows,) length of each row."""
        return np.diff(self.offsets)

    @property
    def flat(self) -> AnyArray:
        """Values of all rows; a slice of a larger array excludes the values around it."""
        return self.values[self.offsets[0] : self.offsets[-1]]

    def rows(self) -> IntArray:
        """(total,) row of each value of `flat`."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def columns(self) -> IntArray:
        """(total,) position of each value of `flat` in its row."""
        row_starts = self.offsets[:-1] - self.offsets[0]
        columns: IntArray = np.arange(len(self.flat))
        columns -= np.repeat(row_starts, self.lengths)
        return columns

    def take(self, rows: AnyArray | Sequence[int]) -> Ragged:
        """Copy the given rows, by index or boolean mask."""
        rows = row_numbers(rows)
        # only of these rows: taking a few of millions must be fast
        all_starts = self.offsets[:-1]
        all_ends = self.offsets[1:]
        starts = all_starts[rows]
        lengths = all_ends[rows] - starts
        index = ranges(starts, lengths)
        return Ragged.from_lengths(self.values[index], lengths)

    def slice(self, start: int, stop: int) -> Ragged:
        """Return rows `start` to `stop` as a view."""
        return Ragged(self.values, self.offsets[start : stop + 1])

    def padded(self, fill: Any) -> AnyArray:
        """(rows, maximum length) dense array, padded with `fill`."""
        lengths = self.lengths
        length = int(lengths.max(initial=0))
        shape = (len(self), length, *self.values.shape[1:])
        dense = np.full(shape, fill, dtype=self.values.dtype)
        is_filled = np.arange(length) < lengths[:, None]
        dense[is_filled] = self.flat
        return dense

    def to_lists(self) -> list[list[Any]]:
        """Return nested Python lists."""
        return [row.tolist() for row in self]


def row_numbers(rows: AnyArray | Sequence[int]) -> IntArray:
    """Return rows, given by number or boolean mask, as numbers."""
    rows = np.asarray(rows)
    if rows.dtype == np.bool_:
        return np.flatnonzero(rows)
    return rows.astype(np.int64, copy=False)


def ranges(starts: AnyArray, counts: AnyArray) -> IntArray:
    """Return `counts[i]` consecutive numbers from each `starts[i]`, one range after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    range_ends = np.cumsum(counts, dtype=np.int64)
    range_starts = range_ends - counts
    numbers: IntArray = np.repeat(starts - range_starts, counts)
    numbers += np.arange(len(numbers))
    return numbers


def begins_run(*columns: AnyArray) -> BoolArray:
    """(n,) whether any of the (n,) columns differs from its value before; the first value begins a run."""
    begins = np.zeros(len(columns[0]), np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def distinct_rows(rows: Ragged) -> tuple[IntArray, IntArray]:
    """Return the number of each row among the distinct ones, by first occurrence, and each one's first occurrence.

    The rows `a b`, `c`, `a b` have the numbers 0, 1, 0; the distinct ones occur first in the rows 0 and 1.
    """
    number_of: dict[bytes, int] = {}
    numbers = np.zeros(len(rows), np.int64)
    first_rows: list[int] = []
    for index, row in enumerate(rows):
        number = number_of.setdefault(row.tobytes(), len(number_of))
        if number == len(first_rows):
            first_rows.append(index)
        numbers[index] = number
    return numbers, np.array(first_rows, np.int64)
