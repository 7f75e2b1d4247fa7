"""Read files of word alignments: Pharaoh, TALP, WPT and JSON lines, gold or predicted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import TypedDict

from interlace.alignment.links import contained_in, select_links, sorted_links
from interlace.alignment.pharaoh import MAX_WORDS, LinkColumns, parse_pharaoh
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.json_files import checked, json_record, parse_json
from interlace.core.ragged import BoolArray, IntArray, IntegerArray, Ragged
from interlace.text.lines import read_lines

# words of each source and target sentence
Lengths = tuple[IntegerArray, IntegerArray]

_CHUNK = 50_000  # lines parsed at a time
_MIN_EVIDENCE = 20  # aligned pairs without a word 0 from which words must be counted from 1
_TALP = re.compile(r"\s*(\d{1,18})(?:\s+(.*))?")
_WPT = re.compile(r"\s*(\d{1,18})\s+(\d{1,6})\s+(\d{1,6})(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?\s*")
_FIRST_LINES = {  # what the first non-empty line of each format looks like
    "jsonl": re.compile(r"\s*\{"),
    "wpt": re.compile(r"\s*\d+\s+\d+\s+\d+(\s|$)"),
    "talp": re.compile(r"\s*\d+(\t|\s+\d+[-p?]\d+(\s|$))"),
    "pharaoh": re.compile(r"\s*\d+[-p?]\d+(\s|$)"),
}


@dataclass(frozen=True)
class GoldAlignments:
    """Alignments of n pairs read from a file; words count from 0.

    sure: links that must be found. possible: sure links and those that may be found.
    base: the index of the first word in the file, 0 or 1. format: one of `FORMATS`.
    numbers: (n,) the number of each pair in the file; from 0 if the file has none.
    notes: assumptions, corrections and dropped links, with counts.
    beyond: the number of links dropped because they are beyond the end of a sentence.
    """

    sure: Ragged
    possible: Ragged
    base: int
    format: str
    numbers: IntArray
    notes: dict[str, int] = field(default_factory=dict)
    beyond: int = 0

    def __len__(self) -> int:
        return len(self.sure)


def read_alignments(
    path: Path | str,
    lengths: Lengths | None = None,
    numbers: Sequence[int] | IntArray | None = None,
    base: int | None = None,
    kind: str | None = None,
) -> GoldAlignments:
    """Read alignments, annotated or predicted; plain or gzip.

    Formats, detected from the first line:

    - `pharaoh`: `0-0 1-2 3p3`, a line per pair; `p` or `?` marks a possible link.
    - `talp`: the number of the pair, a tab, and links as in `pharaoh`.
    - `wpt`: sentence, source word, target word, optional S or P, optional confidence; a line per link.
    - `jsonl`: objects with `src_words`, `tgt_words` and `alignment`.

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
    path = Path(path)
    parse = _PARSERS[_format_of(path, kind)]
    parsed = parse(path)
    count = None if lengths is None else len(lengths[0])
    if numbers is not None:
        numbers = np.asarray(numbers, np.int64)
        count = len(numbers)
    text_numbers = _numbers_of_text(parsed, numbers, count)
    lengths = _match_lengths(parsed, lengths)
    rows = _rows_of_text(parsed, text_numbers)
    links = sorted_links(rows, parsed.columns.links, len(text_numbers))
    is_sure = _are_sure(links, rows, parsed.columns)
    notes: dict[str, int] = {}
    duplicates = len(rows) - len(links.flat)
    if duplicates:
        notes["duplicate links"] = duplicates
    sentence_lengths = _sentence_lengths(links, lengths)
    if base is None:
        base = _detect_base(parsed, links, sentence_lengths, notes)
    is_null = np.any(links.flat < base, axis=1)
    is_beyond = np.any(links.flat - base >= sentence_lengths, axis=1) & ~is_null
    dropped = {
        "to a word 0 dropped": is_null,
        "beyond the end of a sentence dropped": is_beyond,
    }
    for reason, is_dropped in dropped.items():
        if is_dropped.any():
            row = int(links.rows()[is_dropped.argmax()])
            name = parsed.name_of(row, text_numbers)
            count = int(is_dropped.sum())
            links_text = "link" if count == 1 else "links"
            notes[f"{links_text} {reason}, first in {name}"] = count
    is_kept = ~(is_null | is_beyond)
    return GoldAlignments(
        sure=_from_zero(links, is_kept & is_sure, base),
        possible=_from_zero(links, is_kept, base),
        base=base,
        format=parsed.format,
        numbers=text_numbers,
        notes=notes,
        beyond=int(is_beyond.sum()),
    )


# ---- one parser per format ----


@dataclass(frozen=True)
class _Parsed:
    """Alignments as a file has them.

    columns: the links, whose rows are the numbers of their pairs.
    numbers: (n,) the number of each pair, rising; from 0 if the format has none.
    lengths: words of both sides, if the file holds the text too.
    """

    where: str
    format: str
    columns: LinkColumns
    numbers: IntArray
    lengths: Lengths | None = None

    @property
    def is_numbered(self) -> bool:
        """Whether pairs are matched by the numbers in the file instead of by position."""
        return self.format in {"talp", "wpt"}

    def name_of(self, row: int, text_numbers: IntArray) -> str:
        """Return how notes refer to a row of the text."""
        if self.is_numbered:
            return f"sentence {text_numbers[row]}"
        return f"pair {row + 1}"


def _parse_pharaoh(path: Path) -> _Parsed:
    lines = read_lines(path)
    parts = []
    count = 0
    while chunk := list(islice(lines, _CHUNK)):
        parts.append(parse_pharaoh(chunk, str(path), count))
        count += len(chunk)
    columns = LinkColumns(*map(np.concatenate, zip(*parts, strict=True)))
    return _Parsed(str(path), "pharaoh", columns, np.arange(count))


def _parse_talp(path: Path) -> _Parsed:
    """Parse `N<TAB>0-0 1p2`."""
    numbers = []  # the number of each line, -1 for an empty one
    lines = []  # the links, at their columns in the line
    for row, line in enumerate(read_lines(path)):
        match = _TALP.fullmatch(line)
        if match is not None:
            numbers.append(int(match[1]))
            lines.append(" " * match.start(2) + (match[2] or ""))
        elif not line.strip():
            numbers.append(-1)
            lines.append("")
        else:
            raise DataError(
                f"{path}, line {row + 1}: {line[:40]!r}; expected the number of a pair, a tab and its links"
            )
    columns = parse_pharaoh(lines, str(path))
    line_numbers = np.array(numbers, np.int64)
    is_pair = line_numbers >= 0
    pair_numbers, occurrences = np.unique(line_numbers[is_pair], return_counts=True)
    repeated = pair_numbers[occurrences > 1]
    if len(repeated):
        raise DataError(f"{path}: several pairs have the number {repeated[0]}")
    columns = columns._replace(rows=line_numbers[columns.rows])
    return _Parsed(str(path), "talp", columns, pair_numbers)


def _parse_wpt(path: Path) -> _Parsed:
    """Parse `sentence source target [S|P] [confidence]` per link (Mihalcea and Pedersen 2003)."""
    numbers = []
    links = []
    is_possible = []
    for line_number, line in enumerate(read_lines(path), 1):
        match = _WPT.fullmatch(line)
        if match is not None:
            numbers.append(int(match[1]))
            links.append((int(match[2]), int(match[3])))
            is_possible.append(match[4] == "P")
        elif line.strip():
            raise DataError(
                f"{path}, line {line_number}: {line[:40]!r}; expected a sentence number, a source and a target word "
                f"index, and optionally S or P"
            )
    columns = LinkColumns(
        np.array(numbers, np.int64),
        np.array(links, np.int32).reshape(-1, 2),
        np.array(is_possible, np.bool_),
    )
    return _Parsed(str(path), "wpt", columns, np.unique(columns.rows))


_Index = Annotated[int, Field(ge=0, lt=MAX_WORDS)]


@json_record
class AlignedWords(TypedDict):
    """A line of JSON: the words of a pair and its links."""

    src_words: list[str]
    tgt_words: list[str]
    alignment: list[Annotated[list[_Index], Field(min_length=2, max_length=2)]]


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
        yield checked(row, AlignedWords, where)


def _parse_json(path: Path) -> _Parsed:
    links = []
    source_lengths = []
    target_lengths = []
    for pair in json_rows(path):
        links.append(pair["alignment"])
        source_lengths.append(len(pair["src_words"]))
        target_lengths.append(len(pair["tgt_words"]))
    rows = Ragged.of(links, width=2)
    columns = LinkColumns(rows.rows(), rows.flat, np.zeros(len(rows.flat), np.bool_))
    lengths = (np.array(source_lengths, np.int64), np.array(target_lengths, np.int64))
    return _Parsed(str(path), "jsonl", columns, np.arange(len(rows)), lengths)


_PARSERS = {
    "pharaoh": _parse_pharaoh,
    "talp": _parse_talp,
    "wpt": _parse_wpt,
    "jsonl": _parse_json,
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
        if not line.strip():
            continue
        for name, pattern in _FIRST_LINES.items():
            if pattern.match(line):
                return name
        raise DataError(
            f"{path}, line {number}: {line[:40]!r} is in no known alignment format; there are: {', '.join(FORMATS)}"
        )
    return "pharaoh"


# ---- from the rows and words of a file to those of a text ----


def _numbers_of_text(parsed: _Parsed, numbers: IntArray | None, count: int | None) -> IntArray:
    """(n,) the number of each pair of a text of `count` pairs, which must have the pairs of the file."""
    if not parsed.is_numbered:
        pairs = len(parsed.numbers)
        if count not in {None, pairs}:
            raise DataError(
                f"{parsed.where}: alignments of {pairs} pairs, but the text has {count}"
            )
        return parsed.numbers if numbers is None else numbers
    if numbers is None:
        numbers = _expected_numbers(parsed, count)
    unknown = np.setdiff1d(parsed.numbers, numbers)
    if len(unknown):
        raise DataError(
            f"{parsed.where}: alignment of sentence {unknown[0]}, but the text has {len(numbers)} sentences, numbered "
            f"{min(numbers, default=0)} to {max(numbers, default=0)}"
        )
    return numbers


def _expected_numbers(parsed: _Parsed, count: int | None) -> IntArray:
    """Return the numbers of a text without numbers: from 0 or 1, or those of the file if it has as many pairs."""
    file_numbers = parsed.numbers
    if count is None or len(file_numbers) == count:
        return file_numbers
    start = int(file_numbers.min(initial=1) > 0)
    if file_numbers.max(initial=0) < start + count:
        return np.arange(start, start + count)
    raise DataError(
        f"{parsed.where}: alignments of {len(file_numbers)} sentences, numbered {file_numbers[0]} to "
        f"{file_numbers[-1]}, but the text has {count} pairs; give the numbers of its pairs"
    )


def _rows_of_text(parsed: _Parsed, text_numbers: IntArray) -> IntArray:
    """(total,) the row of the text that each link belongs to."""
    if not parsed.is_numbered:
        return parsed.columns.rows
    order = np.argsort(text_numbers)
    ranks = np.searchsorted(text_numbers[order], parsed.columns.rows)
    return order[ranks]


def _match_lengths(parsed: _Parsed, lengths: Lengths | None) -> Lengths | None:
    """Return the words of both sides, from the text or the file, which must agree."""
    if lengths is None or parsed.lengths is None:
        return parsed.lengths if lengths is None else lengths
    differs = (parsed.lengths[0] != lengths[0]) | (parsed.lengths[1] != lengths[1])
    if differs.any():
        row = int(np.argmax(differs))
        raise DataError(
            f"{parsed.where}, pair {row + 1}: {parsed.lengths[0][row]} and {parsed.lengths[1][row]} words, but the "
            f"text has {lengths[0][row]} and {lengths[1][row]}"
        )
    return lengths


def _are_sure(links: Ragged, rows: IntArray, columns: LinkColumns) -> BoolArray:
    """(total,) whether each distinct link is sure in the file, at least once."""
    is_sure = ~columns.is_possible
    if is_sure.all():
        return np.ones(len(links.flat), np.bool_)
    sure_links = sorted_links(rows[is_sure], columns.links[is_sure], len(links))
    return contained_in(links, sure_links)


def _sentence_lengths(links: Ragged, lengths: Lengths | None) -> IntegerArray:
    """(total, 2) words of the source and target sentence of each link; without lengths, more than any index."""
    if lengths is None:
        return np.full_like(links.flat, MAX_WORDS + 1)
    return np.stack([np.repeat(side, links.lengths) for side in lengths], axis=1)


def _detect_base(
    parsed: _Parsed, links: Ragged, sentence_lengths: IntegerArray, notes: dict[str, int]
) -> int:
    """Return the index of the first word: 0 or 1."""
    aligned_pairs = int((links.lengths > 0).sum())
    if not aligned_pairs:
        return 0
    smallest = int(links.flat.min())
    is_length = (links.flat == sentence_lengths).any(axis=1)
    pairs_at_end = len(np.unique(links.rows()[is_length]))
    if smallest == 0:
        # in `wpt` maybe the null word: then most sentences have a link equal to their length
        return int(parsed.format == "wpt" and 2 * pairs_at_end >= aligned_pairs)
    if pairs_at_end or parsed.format == "wpt":
        # `wpt` counts from 1 by definition (Mihalcea and Pedersen 2003)
        return 1
    has_text = sentence_lengths.max() <= MAX_WORDS
    if not has_text and smallest == 1 and aligned_pairs >= _MIN_EVIDENCE:
        note = "aligned pairs, none with a word 0: words assumed to count from 1"
        notes[note] = aligned_pairs
        return 1
    note = "aligned pairs without evidence whether words count from 0 or 1: 0 assumed"
    notes[note] = aligned_pairs
    return 0


def _from_zero(links: Ragged, selected: BoolArray, base: int) -> Ragged:
    """Return the selected links, with words counted from 0."""
    chosen = select_links(links, selected)
    return Ragged((chosen.values - base).astype(np.int32), chosen.offsets)
