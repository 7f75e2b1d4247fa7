"""Files of links by format; each function reads one into `Found`."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.alignment._formats_pharaoh import WORDS, Columns, parsed
from interlace.alignment._formats_rows import Found
from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK = 50_000  # lines parsed at a time
_TALP = re.compile(r"\s*(\d{1,18})(?:\s+(.*))?")
_WPT = re.compile(r"\s*(\d{1,18})\s+(\d{1,6})\s+(\d{1,6})(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?\s*")
_GIZA_HEAD = re.compile(r"#\s*Sentence pair \((\d{1,18})\)")
_GIZA_WORD = re.compile(r"\s*(\S+) \(\{([\d ]*)\}\)\s*")
_KEYS = ("src_words", "tgt_words", "alignment")
_TWICE = "links that stand twice in their line"


def pharaoh(path: Path) -> Found:
    """`0-0 1-2 3p3`, one line a pair."""
    lines, parts, first, twice = read_lines(path), [], 1, 0
    while chunk := list(islice(lines, _CHUNK)):
        columns, more = parsed(chunk, str(path), first)
        parts.append(columns)
        first, twice = first + len(chunk), twice + more
    return Found(str(path), "pharaoh", Columns.concatenate(parts), notes={_TWICE: twice} if twice else {})


def talp(path: Path) -> Found:
    """`N<TAB>0-0 1p2`: Pharaoh lines behind the number of the pair."""
    numbers, links = [], []
    for line, text in enumerate(read_lines(path), 1):
        match = _TALP.fullmatch(text)
        if match is None and text.strip():
            raise DataError(f"{path}, line {line}: {text[:40]!r}; expected the number of a pair, a tab and its links")
        numbers.append(int(match[1]) if match else None)
        links.append(" " * match.start(2) + match[2] if match and match[2] else "")
    columns, twice = parsed(links, str(path), 1)
    filled = [row for row, number in enumerate(numbers) if number is not None]
    found = Found(str(path), "talp", columns, notes={_TWICE: twice} if twice else {})
    return _sorted(found.taken(np.array(filled, np.int64)), [number for number in numbers if number is not None])


def wpt(path: Path) -> Found:
    """`sentence source target [S|P] [confidence]`, one line a link (Mihalcea and Pedersen 2003)."""
    cells, possible = [], []
    for line, text in enumerate(read_lines(path), 1):
        match = _WPT.fullmatch(text)
        if match is None:
            if not text.strip():
                continue
            raise DataError(
                f"{path}, line {line}: {text[:40]!r}; expected the numbers of a sentence, a source and a target word, "
                f"and perhaps S or P"
            )
        cells.append((int(match[1]), int(match[2]), int(match[3])))
        possible.append(match[4] == "P")
    table = np.array(cells, np.int64).reshape(-1, 3)
    numbers, rows = np.unique(table[:, 0], return_inverse=True)
    columns = Columns.of(rows, table[:, 1:].astype(np.int32), np.array(possible, bool), len(numbers))
    twice = len(table) - len(columns.links.flat)
    return Found(str(path), "wpt", columns, numbers, notes={_TWICE: twice} if twice else {})


def jsonl(path: Path) -> Found:
    """A JSON object a line: `src_words`, `tgt_words` and `alignment`, a list of [source, target]."""
    rows, lengths = [], []
    for source, target, links in json_rows(path):
        rows.append(links)
        lengths.append((len(source), len(target)))
    flat, sizes = Ragged.of(rows, width=2), np.array(lengths, np.int64).reshape(-1, 2)
    columns = Columns.of(flat.rows(), flat.flat, np.zeros(len(flat.flat), bool), len(rows))
    twice = len(flat.flat) - len(columns.links.flat)
    sides = (sizes[:, 0], sizes[:, 1])
    return Found(str(path), "jsonl", columns, lengths=sides, notes={_TWICE: twice} if twice else {})


def giza(path: Path) -> Found:
    """GIZA++ and MGIZA `A3.final`: the words of the line with NULL are the source; words count from 1."""
    numbers, rows, lengths = [], [], []
    for number, source, target, links in giza_rows(path):
        numbers.append(number)
        rows.append(links)
        lengths.append((len(source), len(target)))
    flat, sizes = Ragged.of(rows, width=2), np.array(lengths, np.int64).reshape(-1, 2)
    columns = Columns.of(flat.rows(), flat.flat, np.zeros(len(flat.flat), bool), len(rows))
    return _sorted(Found(str(path), "giza", columns, lengths=(sizes[:, 0], sizes[:, 1]), base=1), numbers)


def json_rows(path: Path) -> Iterator[tuple[list[str], list[str], list[list[int]]]]:
    """Source words, target words and links of each line.

    Raises:
        DataError: a line is no such object; names line and key.
    """
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {number}: no JSON: {error}") from None
        source, target, links = (_value(row, key, f"{path}, line {number}") for key in _KEYS)
        if not all(isinstance(word, str) for word in [*source, *target]):
            raise DataError(f"{path}, line {number}: 'src_words' and 'tgt_words' must be lists of words")
        try:
            "".join([*source, *target]).encode()
        except UnicodeEncodeError as error:  # JSON can spell what UTF-8 cannot
            found = error.object[error.start]
            raise DataError(f"{path}, line {number}: a word holds {found!r}, half a character") from None
        for link in links:
            if not (isinstance(link, list) and len(link) == 2 and all(_is_word(word) for word in link)):
                raise DataError(f"{path}, line {number}: 'alignment' holds {link!r}; expected two word numbers each")
        yield source, target, links


def _is_word(value: Any) -> bool:
    return type(value) is int and 0 <= value < WORDS


def _value(row: Any, key: str, where: str) -> list[Any]:
    if not isinstance(row, dict) or key not in row:
        keys = list(row) if isinstance(row, dict) else []
        raise DataError(f"{where}: no key {key!r}{did_you_mean(key, keys)}")
    if not isinstance(row[key], list):
        raise DataError(f"{where}: {key!r} must be a list, found {row[key]!r}"[:300])
    return list(row[key])


def giza_rows(path: Path) -> Iterator[tuple[int, list[str], list[str], list[tuple[int, int]]]]:
    """Number, source words, target words and links (from 1) of each pair.

    Raises:
        DataError: a pair is damaged; names the line.
    """
    lines = enumerate(read_lines(path), 1)
    for line, head in lines:
        match = _GIZA_HEAD.match(head)
        if match is None:
            if not head.strip():
                continue
            raise DataError(f"{path}, line {line}: {head[:40]!r}; expected '# Sentence pair (N) ...' of GIZA++")
        target, linked = next(lines, (0, ""))[1].split(), next(lines, (0, ""))[1]
        words, at = [], 0
        while found := _GIZA_WORD.match(linked, at):
            words.append((found[1], [int(place) for place in found[2].split()]))
            at = found.end()
        places = [place for _, linked_to in words for place in linked_to]
        if at < len(linked) or not words or max(places, default=0) > len(target):
            raise DataError(f"{path}, line {line + 2}: expected 'NULL ({{ }}) word ({{ 1 2 }}) ...' of GIZA++")
        links = [(number, place) for number, (_, linked_to) in enumerate(words) if number for place in linked_to]
        yield int(match[1]), [word for word, _ in words[1:]], target, links


def _sorted(found: Found, numbers: list[int]) -> Found:
    """The rows by number.

    Raises:
        DataError: a number stands twice.
    """
    array = np.array(numbers, np.int64)
    order = np.argsort(array, kind="stable")
    array = array[order]
    again = np.flatnonzero(array[1:] == array[:-1])
    if len(again):
        raise DataError(f"{found.where}: the number {array[again[0]]} stands before several pairs")
    rows = found.taken(order)
    return Found(found.where, found.format, rows.columns, array, rows.lengths, found.base, found.notes)


READERS = {"pharaoh": pharaoh, "talp": talp, "wpt": wpt, "jsonl": jsonl, "giza": giza}
