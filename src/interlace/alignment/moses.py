"""Phrase table files in Moses' format, and the order of their lines.

Lines are sorted by bytes, as Moses' tools expect (`LC_ALL=C sort`). The order is computed from integers, without making
the lines: a word is compared as its spelling followed by a blank, the end of a phrase as the separator that follows it.
None of these is a prefix of another, so comparing them one by one compares the lines.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from interlace.alignment.phrase_table import PhraseTable
from interlace.alignment.trie import Trie
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text.lines import read_lines, write_lines

Sides = tuple[Ragged, Ragged]

SEPARATOR = "|||"
_LINES = 50_000  # processed at a time
_FORMAT = f"expected 'source {SEPARATOR} target {SEPARATOR} four scores {SEPARATOR} links {SEPARATOR} counts'"
_BLANK, _BETWEEN = (pa.scalar(text, pa.large_string()) for text in (" ", f" {SEPARATOR} "))
_SPECIAL = re.compile(r"[|\t\n\r ]|&(?=(?:amp;)*#(?:9|10|13|32|124);)")
_ESCAPE = re.compile(r"&(?:#(9|10|13|32|124)|amp(?=;(?:amp;)*#(?:9|10|13|32|124);));")


def read_table(path: Path | str) -> PhraseTable:
    """Read a phrase table, whose lines may be in any order, and sort it.

    Raises:
        DataError: the file is missing or empty, or a line is not a phrase pair or repeats one; names file and line.
    """
    sides = (_Side(), _Side())
    parts = [_parse(path, first, lines, sides) for first, lines in _chunks(path)]
    nodes = np.concatenate([part.phrases for part in parts])
    columns, phrases = [], []
    for number, side in enumerate(sides):
        distinct, places = np.unique(nodes[:, number], return_inverse=True)
        columns.append(places)
        phrases.append(side.trie.spell(distinct))
    types = (list(sides[0].types), list(sides[1].types))
    entries, sorted_phrases, order = sort_entries(np.stack(columns, axis=1), (phrases[0], phrases[1]), types)
    table = PhraseTable(
        *sorted_phrases,
        *types,
        entries,
        np.concatenate([part.scores for part in parts])[order],
        Ragged.concatenate([part.links for part in parts]).take(order),
        np.concatenate([part.counts for part in parts])[order],
    )
    _check(table, order, path)
    return table


def write_table(path: Path | str, table: PhraseTable) -> None:
    """Write a phrase table, whose rows are sorted; gzip by suffix."""
    sides = [
        _joined(Ragged(phrases.values, phrases.offsets), [escape(word) for word in types])
        for phrases, types in ((table.source, table.source_types), (table.target, table.target_types))
    ]
    starts = range(0, len(table.entries), _LINES)
    write_lines(path, (line for start in starts for line in _lines(table, sides, start)))


def sort_entries(
    entries: NDArray[np.integer], sides: Sides, types: tuple[list[str], list[str]]
) -> tuple[NDArray[np.int32], Sides, NDArray[np.int64]]:
    """Sort entries (source phrase, target phrase) and phrases as the lines of a table are, and renumber them.

    Returns:
        The sorted entries, the sorted phrases of each side, and the previous index of each entry.
    """
    columns, rows = [], []
    for side, (phrases, spellings) in enumerate(zip(sides, types, strict=True)):
        order = line_order(phrases, spellings)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(len(order))
        columns.append(numbers[entries[:, side]])
        rows.append(phrases.take(order))
    order = np.argsort(columns[0] * max(len(rows[1]), 1) + columns[1], kind="stable")
    return np.stack(columns, axis=1)[order].astype(np.int32), (rows[0], rows[1]), order


def line_order(phrases: Ragged, spellings: Sequence[str]) -> NDArray[np.int64]:
    """Return the indices that sort phrases (rows of indices of spellings) as the lines that begin with them."""
    keys = [escape(word) + " " for word in spellings]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = np.empty(len(keys), np.int32)
    ranks[order] = np.arange(1, 2 * len(keys), 2)
    end = 2 * bisect([keys[number] for number in order], f"{SEPARATOR} ")
    columns = Ragged(ranks[phrases.flat], phrases.offsets - phrases.offsets[0]).padded(end).T
    return np.lexsort(columns[::-1]) if len(columns) else np.arange(len(phrases))


def escape(word: str) -> str:
    """Escape `|` as Moses does, and white space likewise, so that `unescape` restores every word.

    >>> escape("a|b"), escape("&#124;"), escape("&amp;")
    ('a&#124;b', '&amp;#124;', '&amp;')
    """
    return _SPECIAL.sub(lambda found: "&amp;" if found[0] == "&" else f"&#{ord(found[0])};", word)


def unescape(word: str) -> str:
    """Undo `escape`.

    >>> unescape("a&#124;b"), unescape("&amp;#124;"), unescape("&amp;")
    ('a|b', '&#124;', '&amp;')
    """
    return _ESCAPE.sub(lambda found: chr(int(found[1])) if found[1] else "&", word) if "&" in word else word


# ---- parsing ----


class _Rows(NamedTuple):
    """The content of some lines."""

    phrases: NDArray[np.int32]  # (n, 2) nodes
    scores: NDArray[np.float32]
    links: Ragged
    counts: NDArray[np.float64]


class _Side:
    """Words and phrases of one side, numbered in the order of occurrence."""

    def __init__(self) -> None:
        self.types: dict[str, int] = {}
        self.trie = Trie()

    def number(self, phrases: Any) -> NDArray[np.int32]:
        """Return the node of each phrase of an Arrow column of strings."""
        cells = pc.split_pattern(phrases, " ")
        if pc.any(pc.equal(cells.flatten(), "")).as_py():
            raise ValueError
        found = cells.flatten().dictionary_encode()
        types = [self.types.setdefault(unescape(word), len(self.types)) for word in found.dictionary.to_pylist()]
        words = Ragged.from_lengths(np.array(types, np.int32)[found.indices.to_numpy()], _lengths(cells))
        spans = np.stack([np.zeros(len(words), np.int64), words.lengths], axis=1)
        return self.trie.number(words, Ragged.from_lengths(spans, np.ones(len(words), np.int64)))


def _chunks(path: Path | str) -> Iterator[tuple[int, list[str]]]:
    """Yield blocks of lines with the number of their first line."""
    lines, first = iter(read_lines(path)), 1
    while chunk := list(islice(lines, _LINES)):
        yield first, chunk
        first += len(chunk)


def _parse(path: Path | str, first: int, lines: list[str], sides: tuple[_Side, _Side]) -> _Rows:
    try:
        return _rows(lines, sides)
    except (pa.ArrowInvalid, ValueError):  # columns do not name the line
        for number, line in enumerate(lines, first):
            if fault := _fault(line):
                raise DataError(f"{path}, line {number}: {fault}; {_FORMAT}, found {line[:80]!r}") from None
        raise DataError(f"{path}, lines {first} to {first + len(lines) - 1}: not a phrase table; {_FORMAT}") from None


def _rows(lines: list[str], sides: tuple[_Side, _Side]) -> _Rows:
    """Return the columns of some lines; links and counts are optional. Raise a ValueError (or Arrow's) on others."""
    whole = pc.binary_join_element_wise(pa.array(lines, pa.string()), f" {SEPARATOR} {SEPARATOR}", "")
    cells = pc.split_pattern(whole, f" {SEPARATOR}")
    if _lengths(cells).min() < 5:
        raise ValueError
    fields = [pc.utf8_trim(pc.list_element(cells, field), " ") for field in range(5)]
    phrases = np.stack([side.number(fields[number]) for number, side in enumerate(sides)], axis=1)
    scores = _parse_numbers(fields[2], 4, pa.float32())
    counts = _parse_numbers(pc.binary_join_element_wise(fields[4], "0 0 0", " "), 3, pa.float64())
    return _Rows(phrases, scores, _parse_links(fields[3]), counts)


def _parse_numbers(texts: Any, width: int, kind: Any) -> NDArray[Any]:
    """(n, width) the first numbers of each cell; they must not be negative."""
    cells = pc.split_pattern(pc.utf8_trim(texts, " "), " ")
    if _lengths(cells).min() < width:
        raise ValueError
    numbers: NDArray[Any] = pc.cast(pc.list_slice(cells, 0, width).flatten(), kind).to_numpy().reshape(-1, width)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError
    return numbers


def _parse_links(texts: Any) -> Ragged:
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
    """Return what is wrong with a line, or an empty string."""
    fields = [field.strip(" ") for field in line.split(f" {SEPARATOR}")]
    if len(fields) < 3:
        return f"{len(fields)} fields"
    if not all(field and "  " not in field for field in fields[:2]):
        return "a phrase without words or with adjacent blanks"
    if len(fields[2].split(" ")) < 4:
        return f"{len(fields[2].split())} scores"
    for number in [*fields[2].split(" ")[:4], *(fields[4].split()[:3] if len(fields) > 4 else [])]:
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            return f"{number!r} is not a score or count"
    for link in fields[3].split(" ") if len(fields) > 3 and fields[3] else []:
        ends = link.split("-")
        if len(ends) != 2 or not all(end.isascii() and end.isdecimal() for end in ends):
            return f"{link!r} is not a link"
    return ""


def _check(table: PhraseTable, order: NDArray[np.int64], path: Path | str) -> None:
    """Raise a `DataError` for duplicate pairs and for links beyond the phrases; `order`: previous index of each row."""
    duplicates = np.flatnonzero((table.entries[1:] == table.entries[:-1]).all(axis=1))
    if len(duplicates):
        lines = sorted(order[duplicates[0] : duplicates[0] + 2] + 1)
        raise DataError(f"{path}, line {lines[1]}: the same phrase pair as in line {lines[0]}")
    rows = table.links.rows()
    for side, phrases in enumerate((table.source, table.target)):
        ends, lengths = table.links.values[:, side], phrases.lengths[table.entries[rows, side]]
        beyond = np.flatnonzero((ends >= lengths) | (ends < 0))
        if len(beyond):
            link = "-".join(map(str, table.links.values[beyond[0]]))
            raise DataError(f"{path}, line {order[rows[beyond[0]]] + 1}: the link {link} is beyond the phrases")


# ---- formatting ----


def _lines(table: PhraseTable, sides: list[Any], start: int) -> list[str]:
    rows = slice(start, start + _LINES)
    links = table.links.slice(start, min(start + _LINES, len(table.entries)))
    fields = [
        *(side.take(pa.array(table.entries[rows, number])) for number, side in enumerate(sides)),
        _format_numbers(table.scores[rows]),
        _format_links(links),
        _format_numbers(table.counts[rows]),
    ]
    lines: list[str] = pc.binary_join_element_wise(*fields, _BETWEEN).to_pylist()
    return lines


def _format_numbers(columns: NDArray[Any]) -> Any:
    """Return the numbers of each row joined by blanks, each with the fewest digits that restore it."""
    texts = [pc.cast(pa.array(column), pa.large_string()) for column in columns.T]
    return pc.binary_join_element_wise(*texts, _BLANK)


def _format_links(links: Ragged) -> Any:
    keys, numbers = np.unique(links.flat.astype(np.int64) @ (1 << 32, 1), return_inverse=True)
    texts = [f"{key >> 32}-{key & 0xFFFFFFFF}" for key in keys.tolist()]
    return _joined(Ragged(numbers, links.offsets - links.offsets[0]), texts)


def _joined(rows: Ragged, texts: list[str]) -> Any:
    """Return rows of indices of texts as these texts, joined by blanks."""
    cells = pa.array(texts, pa.large_string()).take(pa.array(rows.values))
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(rows.offsets), cells), _BLANK)
