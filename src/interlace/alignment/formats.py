"""Read files of word alignments: Pharaoh, TALP, WPT, JSON lines and GIZA++, gold or predicted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.alignment.links import reverse_links, select_links
from interlace.alignment.pharaoh import MAX_WORDS, LinkColumns, parse_pharaoh
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.json_files import parse_json
from interlace.core.ragged import Ragged
from interlace.text.lines import read_lines

Lengths = tuple[
    NDArray[np.integer], NDArray[np.integer]
]  # words of each source and target sentence

_CHUNK = 50_000  # lines parsed at a time
_MIN_EVIDENCE = 20  # aligned pairs without a word 0 from which words must be counted from 1
_DUPLICATES = "duplicate links"
_KEYS = ("src_words", "tgt_words", "alignment")
_TALP = re.compile(r"\s*(\d{1,18})(?:\s+(.*))?")
_WPT = re.compile(r"\s*(\d{1,18})\s+(\d{1,6})\s+(\d{1,6})(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?\s*")
_GIZA_HEAD = re.compile(r"#\s*Sentence pair \((\d{1,18})\)")
_GIZA_WORD = re.compile(r"\s*(\S+) \(\{([\d ]*)\}\)\s*")
_FIRST_LINES = (  # what the first non-empty line of each format looks like
    ("giza", re.compile(r"#\s*Sentence pair \(")),
    ("jsonl", re.compile(r"\s*\{")),
    ("wpt", re.compile(r"\s*\d+\s+\d+\s+\d+(\s|$)")),
    ("talp", re.compile(r"\s*\d+(\t|\s+\d+[-p?]\d+(\s|$))")),
    ("pharaoh", re.compile(r"\s*\d+[-p?]\d+(\s|$)")),
)


@dataclass(frozen=True)
class GoldAlignments:
    """Alignments of n pairs read from a file; words count from 0.

    sure: links that must be found. possible: sure links and those that may be found; the same object as `sure` if the
        file does not distinguish them.
    base: the index of the first word in the file, 0 or 1. format: one of `FORMATS`.
    numbers: (n,) the number of each pair in the file; from 0 if the file has none.
    notes: assumptions, corrections and dropped links, with counts.
    beyond: the number of links dropped because they are beyond the end of a sentence.
    """

    sure: Ragged
    possible: Ragged
    base: int
    format: str
    numbers: NDArray[np.int64]
    notes: dict[str, int] = field(default_factory=dict)
    beyond: int = 0

    def __len__(self) -> int:
        return len(self.sure)


def read_alignments(
    path: Path | str,
    lengths: Lengths | None = None,
    numbers: Sequence[int] | NDArray[np.int64] | None = None,
    base: int | None = None,
    kind: str | None = None,
) -> GoldAlignments:
    """Read alignments, annotated or predicted; plain or gzip.

    Formats, detected from the first line:

    - `pharaoh`: `0-0 1-2 3p3`, a line per pair; `p` or `?` marks a possible link.
    - `talp`: the number of the pair, a tab, and links as in `pharaoh`.
    - `wpt`: sentence, source word, target word, optional S or P, optional confidence; a line per link.
    - `jsonl`: objects with `src_words`, `tgt_words` and `alignment`.
    - `giza`: `A3.final` of GIZA++. The line with NULL is the source; if the lengths of the text show that it is the
      target, links are reversed.

    The index of the first word is detected: a word 0 means 0, a word index equal to the length of its sentence means
    1. In `wpt`, word 0 is the null word if half of the sentences have a link to their last word. Without evidence,
    `wpt` counts from 1 and other formats from 0, with a note; without lengths, 20 aligned pairs without a word 0 mean
    1, with a note.

    lengths: (n,) words of each source and target sentence. They help to detect the index of the first word; links
        beyond the end of a sentence are dropped, with a note.
    numbers: the numbers of the text's pairs, unless they count from 0 or 1.
    base: the index of the first word, if known.
    kind: the format, if known.

    Raises:
        DataError: the file cannot be parsed (names the line), or its pairs are not those of the text.
        SettingsError: the format does not exist, or the base is not 0 or 1.
    """
    if base not in {None, 0, 1}:
        raise SettingsError(f"words are counted from 0 or 1, not from {base}")
    parsed = _PARSERS[_format_of(Path(path), kind)](Path(path))
    wanted = None if numbers is None else np.asarray(numbers, np.int64)
    parsed = _match_pairs(parsed, wanted, None if lengths is None else len(lengths[0]))
    parsed, lengths = _match_lengths(parsed, lengths)
    notes = +Counter(parsed.notes)  # without zeros
    base = _detect_base(parsed, lengths, notes) if base is None else base
    inside = _inside(parsed.columns.links, base, lengths)
    beyond = _note_dropped(parsed, inside, base, notes)
    possible = _from_zero(parsed.columns.links, inside, base)
    sure = possible
    if parsed.columns.sure is not parsed.columns.links:
        sure = _from_zero(parsed.columns.sure, _inside(parsed.columns.sure, base, lengths), base)
    rows = np.arange(len(parsed)) if parsed.numbers is None else parsed.numbers
    return GoldAlignments(sure, possible, base, parsed.format, rows, dict(notes), beyond)


class AlignedWords(NamedTuple):
    """A pair of a file that holds both words and links. number: of the pair, from 0 if the file has none."""

    number: int
    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]


def json_rows(path: Path) -> Iterator[AlignedWords]:
    """Yield each line of JSON; a DataError names line and key."""
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            row = parse_json(line)
        except ValueError as error:
            raise DataError(f"{where}: invalid JSON: {error}") from None
        source, target, links = (_list_of(row, key, where) for key in _KEYS)
        if not all(isinstance(word, str) for word in [*source, *target]):
            raise DataError(f"{where}: 'src_words' and 'tgt_words' must be lists of words")
        for link in links:
            if not _is_link(link):
                raise DataError(f"{where}: 'alignment' holds {link!r}; expected two word indices")
        yield AlignedWords(0, source, target, links)


def _is_link(link: object) -> bool:
    if not isinstance(link, list) or len(link) != 2:
        return False
    return all(type(word) is int and 0 <= word < MAX_WORDS for word in link)


def giza_rows(path: Path) -> Iterator[AlignedWords]:
    """Yield each pair of GIZA++'s `A3.final`, with links from 1; a DataError names a bad line.

    A pair has three lines: its number, the target words, and the source words with the positions of their target words.
    """
    lines = enumerate(read_lines(path), 1)
    for line, head in lines:
        match = _GIZA_HEAD.match(head)
        if match is None:
            if not head.strip():
                continue
            raise DataError(
                f"{path}, line {line}: {head[:40]!r}; expected '# Sentence pair (N) ...' of GIZA++"
            )
        _, target_line = next(lines, (0, ""))
        _, source_line = next(lines, (0, ""))
        target = target_line.split()
        source, links = _parse_giza_source(source_line)
        if source is None or max((j for _, j in links), default=0) > len(target):
            raise DataError(
                f"{path}, line {line + 2}: expected 'NULL ({{ }}) word ({{ 1 2 }}) ...' of GIZA++"
            )
        aligned = [link for link in links if link[0] > 0]  # not to NULL
        yield AlignedWords(int(match[1]), source[1:], target, aligned)


def _parse_giza_source(line: str) -> tuple[list[str] | None, list[tuple[int, int]]]:
    """Return the words of `NULL ({ }) word ({ 1 2 }) ...`, None if the line differs, and all links."""
    words: list[str] = []
    links = []
    position = 0
    while match := _GIZA_WORD.match(line, position):
        for target in match[2].split():
            links.append((len(words), int(target)))
        words.append(match[1])
        position = match.end()
    if not words or position < len(line):
        return None, links
    return words, links


# ---- one parser per format ----


@dataclass(frozen=True)
class _Parsed:
    """Alignments as a file has them.

    numbers: (n,) the number of each row, rising; None if the format has none.
    lengths: words of both sides, if the file holds the text too.
    base: the index of the first word, if the format defines it.
    """

    where: str
    format: str
    columns: LinkColumns
    numbers: NDArray[np.int64] | None = None
    lengths: Lengths | None = None
    base: int | None = None
    notes: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns.links)

    def name_of(self, row: int) -> str:
        """Return how errors refer to a row."""
        if self.format in {"talp", "wpt", "giza"} and self.numbers is not None:
            return f"sentence {self.numbers[row]}"
        return f"line {row + 1}" if self.format == "pharaoh" else f"pair {row + 1}"

    def take(self, rows: NDArray[np.int64]) -> _Parsed:
        """Return these rows, an empty one for -1."""
        lengths = self.lengths
        if lengths is not None:
            lengths = (np.append(lengths[0], 0)[rows], np.append(lengths[1], 0)[rows])
        sure = _take_links(self.columns.sure, rows)
        links = (
            sure
            if self.columns.sure is self.columns.links
            else _take_links(self.columns.links, rows)
        )
        return replace(self, columns=LinkColumns(links, sure), lengths=lengths)

    def sorted(self, numbers: list[int]) -> _Parsed:
        """Return the rows in the order of their numbers; raise a DataError if two have the same."""
        array = np.array(numbers, np.int64)
        order = np.argsort(array, kind="stable")
        array = array[order]
        repeated = np.flatnonzero(array[1:] == array[:-1])
        if len(repeated):
            raise DataError(f"{self.where}: several pairs have the number {array[repeated[0]]}")
        return replace(self.take(order), numbers=array)


def _parse_pharaoh(path: Path) -> _Parsed:
    lines = read_lines(path)
    parts = []
    first = 1
    duplicates = 0
    for chunk in iter(lambda: list(islice(lines, _CHUNK)), []):
        columns, repeated = parse_pharaoh(chunk, str(path), first)
        parts.append(columns)
        first += len(chunk)
        duplicates += repeated
    return _Parsed(
        str(path), "pharaoh", LinkColumns.concatenate(parts), notes={_DUPLICATES: duplicates}
    )


def _parse_talp(path: Path) -> _Parsed:
    """Parse `N<TAB>0-0 1p2`."""
    numbers = []
    lines = []  # the links, where they are in their line; the line number is that of the file
    filled = []
    for row, line in enumerate(read_lines(path)):
        match = _TALP.fullmatch(line)
        if match is not None:
            numbers.append(int(match[1]))
            filled.append(row)
        elif line.strip():
            raise DataError(
                f"{path}, line {row + 1}: {line[:40]!r}; expected the number of a pair, a tab and its links"
            )
        has_links = match is not None and match[2]
        lines.append(" " * match.start(2) + match[2] if match is not None and has_links else "")
    columns, duplicates = parse_pharaoh(lines, str(path), 1)
    parsed = _Parsed(str(path), "talp", columns, notes={_DUPLICATES: duplicates})
    return parsed.take(np.array(filled, np.int64)).sorted(numbers)


def _parse_wpt(path: Path) -> _Parsed:
    """Parse `sentence source target [S|P] [confidence]` per link (Mihalcea and Pedersen 2003)."""
    sentences = []
    links = []
    possible = []
    for number, line in enumerate(read_lines(path), 1):
        match = _WPT.fullmatch(line)
        if match is not None:
            sentences.append(int(match[1]))
            links.append((int(match[2]), int(match[3])))
            possible.append(match[4] == "P")
        elif line.strip():
            raise DataError(
                f"{path}, line {number}: {line[:40]!r}; expected a sentence number, a source and a target word index, "
                f"and optionally S or P"
            )
    numbers, rows = np.unique(np.array(sentences, np.int64), return_inverse=True)
    flat = np.array(links, np.int32).reshape(-1, 2)
    columns = LinkColumns.of(rows, flat, np.array(possible, bool), len(numbers))
    return _Parsed(
        str(path), "wpt", columns, numbers, notes={_DUPLICATES: len(flat) - len(columns.links.flat)}
    )


def _parse_giza(path: Path) -> _Parsed:
    pairs = list(giza_rows(path))
    parsed = _parse_with_text(path, "giza", pairs)
    return replace(parsed, base=1, notes={}).sorted([pair.number for pair in pairs])


def _parse_json(path: Path) -> _Parsed:
    return _parse_with_text(path, "jsonl", json_rows(path))


def _parse_with_text(path: Path, kind: str, pairs: Iterable[AlignedWords]) -> _Parsed:
    """Return the links of pairs with their words."""
    links = []
    source_lengths = []
    target_lengths = []
    for pair in pairs:
        links.append(pair.links)
        source_lengths.append(len(pair.source))
        target_lengths.append(len(pair.target))
    rows = Ragged.of(links, width=2)
    columns = LinkColumns.of(rows.rows(), rows.flat, np.zeros(len(rows.flat), bool), len(rows))
    notes = {_DUPLICATES: len(rows.flat) - len(columns.links.flat)}
    lengths = (np.array(source_lengths, np.int64), np.array(target_lengths, np.int64))
    return _Parsed(str(path), kind, columns, lengths=lengths, notes=notes)


_PARSERS = {
    "pharaoh": _parse_pharaoh,
    "talp": _parse_talp,
    "wpt": _parse_wpt,
    "jsonl": _parse_json,
    "giza": _parse_giza,
}
FORMATS: tuple[str, ...] = tuple(_PARSERS)


def _format_of(path: Path, kind: str | None) -> str:
    """Return the name of the format, detected from the first line if it is not given."""
    if kind is not None:
        if kind not in _PARSERS:
            raise SettingsError(
                f"there is no alignment format {kind!r}{did_you_mean(kind, FORMATS)}"
            )
        return kind
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            for name, look in _FIRST_LINES:
                if look.match(line):
                    return name
            raise DataError(
                f"{path}, line {number}: {line[:40]!r} is in no known alignment format; there are: {', '.join(FORMATS)}"
            )
    return "pharaoh"


def _list_of(row: Any, key: str, where: str) -> list[Any]:
    if not isinstance(row, dict) or key not in row:
        keys = list(row) if isinstance(row, dict) else []
        raise DataError(f"{where}: no key {key!r}{did_you_mean(key, keys)}")
    if not isinstance(row[key], list):
        raise DataError(f"{where}: {key!r} must be a list, found {row[key]!r}"[:300])
    return list(row[key])


def _take_links(links: Ragged, rows: NDArray[np.int64]) -> Ragged:
    with_empty_row = Ragged(links.values, np.append(links.offsets, links.offsets[-1]))
    return with_empty_row.take(np.where(rows < 0, len(links), rows))


# ---- from the rows and words of a file to those of a text ----


def _match_pairs(parsed: _Parsed, numbers: NDArray[np.int64] | None, count: int | None) -> _Parsed:
    """Return a row per pair of a text, given the numbers or the count of its pairs."""
    count = len(numbers) if numbers is not None else count
    if parsed.numbers is None:
        if count is not None and len(parsed) != count:
            raise DataError(
                f"{parsed.where}: alignments of {len(parsed)} pairs, but the text has {count}"
            )
        return parsed if numbers is None else replace(parsed, numbers=numbers)
    expected = _expected_numbers(parsed, parsed.numbers, count) if numbers is None else numbers
    unknown = np.flatnonzero(~np.isin(parsed.numbers, expected))
    if len(unknown):
        raise DataError(
            f"{parsed.where}: alignment of sentence {parsed.numbers[unknown[0]]}, but the text has {len(expected)} "
            f"sentences, numbered {min(expected, default=0)} to {max(expected, default=0)}"
        )
    row_of = {number: row for row, number in enumerate(parsed.numbers.tolist())}
    rows = np.array([row_of.get(number, -1) for number in expected.tolist()], np.int64)
    return replace(parsed.take(rows), numbers=expected)


def _expected_numbers(
    parsed: _Parsed, numbers: NDArray[np.int64], count: int | None
) -> NDArray[np.int64]:
    """Return the numbers of a text without numbers: from 0 or 1, or those of the file if it has as many pairs."""
    if count is None or len(numbers) == count:
        return numbers
    first = 0 if numbers.min(initial=1) == 0 else 1
    if numbers.max(initial=0) < first + count:
        return np.arange(first, first + count)
    raise DataError(
        f"{parsed.where}: alignments of {len(numbers)} sentences, numbered {numbers[0]} to {numbers[-1]}, but the text "
        f"has {count} pairs; give the numbers of its pairs"
    )


def _match_lengths(parsed: _Parsed, lengths: Lengths | None) -> tuple[_Parsed, Lengths | None]:
    """Return the words of both sides, from the text or the file; reverse the links if the file has them exchanged."""
    file_lengths = parsed.lengths
    if lengths is None or file_lengths is None:
        return parsed, file_lengths if lengths is None else lengths
    if np.array_equal(file_lengths, lengths):
        return parsed, lengths
    if np.array_equal(file_lengths, lengths[::-1]):
        sure = reverse_links(parsed.columns.sure)
        links = (
            sure
            if parsed.columns.links is parsed.columns.sure
            else reverse_links(parsed.columns.links)
        )
        notes = {**parsed.notes, "rows with source and target exchanged": len(parsed)}
        return replace(parsed, columns=LinkColumns(links, sure), notes=notes), lengths
    row = int(np.argmax((file_lengths[0] != lengths[0]) | (file_lengths[1] != lengths[1])))
    raise DataError(
        f"{parsed.where}, {parsed.name_of(row)}: {file_lengths[0][row]} and {file_lengths[1][row]} words, but the text "
        f"has {lengths[0][row]} and {lengths[1][row]}"
    )


def _detect_base(parsed: _Parsed, lengths: Lengths | None, notes: Counter[str]) -> int:
    """Return the index of the first word: 0 or 1."""
    links = parsed.columns.links
    aligned = int((links.lengths > 0).sum())
    if parsed.base is not None or not aligned:
        return parsed.base or 0
    smallest = int(links.flat.min())
    at_end = 0  # pairs with a link whose index is the length of the sentence
    if lengths is not None:
        last = np.stack([np.repeat(side, links.lengths) for side in lengths], axis=1)
        at_end = len(np.unique(links.rows()[(links.flat == last).any(axis=1)]))
    if (
        smallest == 0
    ):  # in `wpt` maybe the null word: then most sentences have a link equal to their length
        return int(parsed.format == "wpt" and 2 * at_end >= aligned)
    if (
        at_end or parsed.format == "wpt"
    ):  # `wpt` counts from 1 by definition (Mihalcea and Pedersen 2003)
        return 1
    if lengths is None and smallest == 1 and aligned >= _MIN_EVIDENCE:
        notes["aligned pairs, none with a word 0: words assumed to count from 1"] = aligned
        return 1
    notes["aligned pairs without evidence whether words count from 0 or 1: 0 assumed"] = aligned
    return 0


def _inside(links: Ragged, base: int, lengths: Lengths | None) -> NDArray[np.bool_]:
    """(total,) whether each link is between existing words."""
    flat = links.flat
    inside: NDArray[np.bool_] = np.all(flat >= base, axis=1)
    for column, side in enumerate(lengths or ()):
        inside &= flat[:, column] - base < np.repeat(side, links.lengths)
    return inside


def _note_dropped(parsed: _Parsed, kept: NDArray[np.bool_], base: int, notes: Counter[str]) -> int:
    """Note what is dropped; return the number of links beyond their sentences."""
    links = parsed.columns.links
    null = (links.flat < base).any(axis=1)
    beyond = ~kept & ~null
    for dropped, reason in (
        (null, "links to a word 0 dropped"),
        (beyond, "links beyond the end of a sentence dropped"),
    ):
        if dropped.any():
            row = int(links.rows()[np.argmax(dropped)])
            notes[f"{reason}, first in {parsed.name_of(row)}"] = int(dropped.sum())
    return int(beyond.sum())


def _from_zero(links: Ragged, kept: NDArray[np.bool_], base: int) -> Ragged:
    """Return the links that are kept, with words counted from 0."""
    links = select_links(links, kept)
    return Ragged((links.values - base).astype(np.int32), links.offsets)
