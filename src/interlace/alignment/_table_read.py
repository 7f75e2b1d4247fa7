"""Moses' format of phrase tables, in: lines that Arrow takes apart as columns."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from interlace.alignment._table_build import in_line_order
from interlace.alignment._table_order import SEPARATOR, unescaped
from interlace.alignment._table_trie import Trie
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.alignment.phrase_table import PhraseTable

_LINES = 50_000  # worked on at a time
_FORMAT = f"expected 'source {SEPARATOR} target {SEPARATOR} four scores {SEPARATOR} links {SEPARATOR} counts'"


class _Rows(NamedTuple):
    """What some lines hold."""

    phrases: NDArray[np.int32]  # (n, 2) nodes
    scores: NDArray[np.float32]
    links: Ragged
    counts: NDArray[np.float64]


class _Side:
    """Words and phrases of one side, numbered as they come."""

    def __init__(self) -> None:
        self.types: dict[str, int] = {}
        self.trie = Trie()

    def number(self, phrases: Any) -> NDArray[np.int32]:
        """The node of each phrase of an Arrow column of strings."""
        cells = pc.split_pattern(phrases, " ")
        if pc.any(pc.equal(cells.flatten(), "")).as_py():
            raise ValueError
        found = cells.flatten().dictionary_encode()
        types = [self.types.setdefault(unescaped(word), len(self.types)) for word in found.dictionary.to_pylist()]
        words = Ragged.from_lengths(np.array(types, np.int32)[found.indices.to_numpy()], _lengths(cells))
        spans = np.stack([np.zeros(len(words), np.int64), words.lengths], axis=1)
        return self.trie.number(words, Ragged.from_lengths(spans, np.ones(len(words), np.int64)))


def read(kind: type[PhraseTable], path: Path | str) -> PhraseTable:
    """The table of a file, sorted."""
    sides = (_Side(), _Side())
    parts = [_parsed(path, first, lines, sides) for first, lines in _chunks(path)]
    nodes = np.concatenate([part.phrases for part in parts])
    columns, phrases = [], []
    for number, side in enumerate(sides):
        held, places = np.unique(nodes[:, number], return_inverse=True)
        columns.append(places)
        phrases.append(side.trie.spell(held))
    types = (list(sides[0].types), list(sides[1].types))
    entries, sorted_phrases, order = in_line_order(np.stack(columns, axis=1), (phrases[0], phrases[1]), types)
    table = kind(
        *sorted_phrases,
        *types,
        entries,
        np.concatenate([part.scores for part in parts])[order],
        Ragged.concatenate([part.links for part in parts]).take(order),
        np.concatenate([part.counts for part in parts])[order],
    )
    _must_be_sound(table, order, path)
    return table


def _chunks(path: Path | str) -> Iterator[tuple[int, list[str]]]:
    """Lines, and the number of the first of them."""
    lines, first = iter(read_lines(path)), 1
    while chunk := list(islice(lines, _LINES)):
        yield first, chunk
        first += len(chunk)


def _parsed(path: Path | str, first: int, lines: list[str], sides: tuple[_Side, _Side]) -> _Rows:
    try:
        return _rows(lines, sides)
    except (pa.ArrowInvalid, ValueError):  # columns do not say which line it was
        for number, line in enumerate(lines, first):
            if fault := _fault(line):
                raise DataError(f"{path}, line {number}: {fault}; {_FORMAT}, found {line[:80]!r}") from None
        raise DataError(f"{path}, lines {first} to {first + len(lines) - 1}: not a phrase table; {_FORMAT}") from None


def _rows(lines: list[str], sides: tuple[_Side, _Side]) -> _Rows:
    """The columns of some lines; links and counts may be missing.

    Raises:
        ValueError: a line is at fault (Arrow's own errors are among these).
    """
    whole = pc.binary_join_element_wise(pa.array(lines, pa.string()), f" {SEPARATOR} {SEPARATOR}", "")
    cells = pc.split_pattern(whole, f" {SEPARATOR}")
    if _lengths(cells).min() < 5:
        raise ValueError
    fields = [pc.utf8_trim(pc.list_element(cells, field), " ") for field in range(5)]
    phrases = np.stack([side.number(fields[number]) for number, side in enumerate(sides)], axis=1)
    scores = _numbers(fields[2], 4, pa.float32())
    counts = _numbers(pc.binary_join_element_wise(fields[4], "0 0 0", " "), 3, pa.float64())
    return _Rows(phrases, scores, _links(fields[3]), counts)


def _numbers(texts: Any, width: int, kind: Any) -> NDArray[Any]:
    """(n, width) the first numbers of each cell, none of them negative."""
    cells = pc.split_pattern(pc.utf8_trim(texts, " "), " ")
    if _lengths(cells).min() < width:
        raise ValueError
    numbers: NDArray[Any] = pc.cast(pc.list_slice(cells, 0, width).flatten(), kind).to_numpy().reshape(-1, width)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError
    return numbers


def _links(texts: Any) -> Ragged:
    cells = pc.split_pattern(texts, " ")
    lengths = np.where(pc.equal(texts, "").to_numpy(zero_copy_only=False), 0, _lengths(cells))
    links = cells.flatten()
    ends = pc.split_pattern(links.filter(pc.not_equal(links, "")), "-")
    if (_lengths(ends) != 2).any() or len(ends) != lengths.sum():
        raise ValueError
    return Ragged.from_lengths(pc.cast(ends.flatten(), pa.int16()).to_numpy().reshape(-1, 2), lengths)


def _lengths(cells: Any) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = pc.list_value_length(cells).to_numpy().astype(np.int64)
    return lengths


def _fault(line: str) -> str:
    """What is wrong with a line; empty if nothing is."""
    fields = [field.strip(" ") for field in line.split(f" {SEPARATOR}")]
    if len(fields) < 3:
        return f"{len(fields)} fields"
    if not all(field and "  " not in field for field in fields[:2]):
        return "a phrase without words or with two blanks together"
    if len(fields[2].split(" ")) < 4:
        return f"{len(fields[2].split())} scores"
    for number in [*fields[2].split(" ")[:4], *(fields[4].split()[:3] if len(fields) > 4 else [])]:
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            return f"{number!r} is no score or count"
    for link in fields[3].split(" ") if len(fields) > 3 and fields[3] else []:
        ends = link.split("-")
        if len(ends) != 2 or not all(end.isascii() and end.isdecimal() for end in ends):
            return f"{link!r} is no link"
    return ""


def _must_be_sound(table: PhraseTable, order: NDArray[np.int64], path: Path | str) -> None:
    """No pair stands twice, and links lead from words to words; `order` is where the rows stood in the file."""
    twice = np.flatnonzero((table.entries[1:] == table.entries[:-1]).all(axis=1))
    if len(twice):
        lines = sorted(order[twice[0] : twice[0] + 2] + 1)
        raise DataError(f"{path}, line {lines[1]}: the same phrase pair as in line {lines[0]}")
    rows = table.links.rows()
    for side, phrases in enumerate((table.source, table.target)):
        ends, lengths = table.links.values[:, side], phrases.lengths[table.entries[rows, side]]
        beyond = np.flatnonzero((ends >= lengths) | (ends < 0))
        if len(beyond):
            link = "-".join(map(str, table.links.values[beyond[0]]))
            raise DataError(f"{path}, line {order[rows[beyond[0]]] + 1}: the link {link} leads beyond the phrases")
