"""Read files of word alignments: Pharaoh, TALP, WPT and JSON lines, gold or predicted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from interlace.alignment.links import select_links
from interlace.alignment.pharaoh import MAX_WORDS, FileLinks, parse_pharaoh
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.json_files import checked, json_record, parse_json
from interlace.core.ragged import Ragged
from interlace.text.lines import read_lines

Lengths = tuple[
    NDArray[np.integer], NDArray[np.integer]
]  # words of each source and target sentence

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
    lengths = _match_lengths(parsed, lengths)
    links = parsed.links.links
    notes: Counter[str] = Counter()
    if parsed.links.duplicates:
        notes["duplicate links"] = parsed.links.duplicates
    if base is None:
        base = _detect_base(parsed, lengths, notes)
    inside = _inside(links, base, lengths)  # (total,)
    beyond = _note_dropped(parsed, inside, base, notes)
    row_numbers = np.arange(len(links)) if parsed.numbers is None else parsed.numbers
    return GoldAlignments(
        sure=_from_zero(links, inside & parsed.links.is_sure, base),
        possible=_from_zero(links, inside, base),
        base=base,
        format=parsed.format,
        numbers=row_numbers,
        notes=dict(notes),
        beyond=beyond,
    )


# ---- one parser per format ----


@dataclass(frozen=True)
class _Parsed:
    """Alignments as a file has them.

    numbers: (n,) the number of each row, rising; None if the format has none.
    lengths: words of both sides, if the file holds the text too.
    """

    where: str
    format: str
    links: FileLinks
    numbers: NDArray[np.int64] | None = None
    lengths: Lengths | None = None

    def name_of(self, row: int) -> str:
        """Return how errors and notes refer to a row."""
        if self.format in {"talp", "wpt"} and self.numbers is not None:
            return f"sentence {self.numbers[row]}"
        return f"pair {row + 1}"


def _parse_pharaoh(path: Path) -> _Parsed:
    lines = read_lines(path)
    parts = []
    first = 1
    while chunk := list(islice(lines, _CHUNK)):
        parts.append(parse_pharaoh(chunk, str(path), first))
        first += len(chunk)
    return _Parsed(str(path), "pharaoh", FileLinks.concatenate(parts))


def _parse_talp(path: Path) -> _Parsed:
    """Parse `N<TAB>0-0 1p2`."""
    numbers = []
    lines = []  # the links, at their columns in the line; the line number is that of the file
    numbered_rows = []
    for row, line in enumerate(read_lines(path)):
        match = _TALP.fullmatch(line)
        links = ""
        if match is not None:
            numbers.append(int(match[1]))
            numbered_rows.append(row)
            links = " " * match.start(2) + (match[2] or "")
        elif line.strip():
            raise DataError(
                f"{path}, line {row + 1}: {line[:40]!r}; expected the number of a pair, a tab and its links"
            )
        lines.append(links)
    links_of_lines = parse_pharaoh(lines, str(path), 1)
    order = np.argsort(numbers, kind="stable")
    sorted_numbers = np.array(numbers, np.int64)[order]
    repeated = np.flatnonzero(np.diff(sorted_numbers) == 0)
    if len(repeated):
        raise DataError(f"{path}: several pairs have the number {sorted_numbers[repeated[0]]}")
    rows = np.array(numbered_rows, np.int64)[order]
    return _Parsed(str(path), "talp", links_of_lines.take(rows), sorted_numbers)


def _parse_wpt(path: Path) -> _Parsed:
    """Parse `sentence source target [S|P] [confidence]` per link (Mihalcea and Pedersen 2003)."""
    sentences = []
    links = []
    is_possible = []
    for number, line in enumerate(read_lines(path), 1):
        match = _WPT.fullmatch(line)
        if match is not None:
            sentences.append(int(match[1]))
            links.append((int(match[2]), int(match[3])))
            is_possible.append(match[4] == "P")
        elif line.strip():
            raise DataError(
                f"{path}, line {number}: {line[:40]!r}; expected a sentence number, a source and a target word index, "
                f"and optionally S or P"
            )
    numbers, rows = np.unique(np.array(sentences, np.int64), return_inverse=True)
    flat = np.array(links, np.int32).reshape(-1, 2)
    file_links = FileLinks.of(rows, flat, np.array(is_possible, np.bool_), len(numbers))
    return _Parsed(str(path), "wpt", file_links, numbers)


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
    is_possible = np.zeros(len(rows.flat), np.bool_)
    file_links = FileLinks.of(rows.rows(), rows.flat, is_possible, len(rows))
    lengths = (np.array(source_lengths, np.int64), np.array(target_lengths, np.int64))
    return _Parsed(str(path), "jsonl", file_links, lengths=lengths)


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


def _match_pairs(parsed: _Parsed, numbers: NDArray[np.int64] | None, count: int | None) -> _Parsed:
    """Return a row per pair of a text, given the numbers or the count of its pairs."""
    if numbers is not None:
        count = len(numbers)
    if parsed.numbers is None:
        rows = len(parsed.links.links)
        if count is not None and rows != count:
            raise DataError(f"{parsed.where}: alignments of {rows} pairs, but the text has {count}")
        return parsed if numbers is None else replace(parsed, numbers=numbers)
    if numbers is None:
        numbers = _expected_numbers(parsed, parsed.numbers, count)
    unknown = np.flatnonzero(~np.isin(parsed.numbers, numbers))
    if len(unknown):
        raise DataError(
            f"{parsed.where}: alignment of sentence {parsed.numbers[unknown[0]]}, but the text has {len(numbers)} "
            f"sentences, numbered {min(numbers, default=0)} to {max(numbers, default=0)}"
        )
    row_of = {number: row for row, number in enumerate(parsed.numbers.tolist())}
    rows_of_text = np.array([row_of.get(number, -1) for number in numbers.tolist()], np.int64)
    return replace(parsed, links=parsed.links.take(rows_of_text), numbers=numbers)


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


def _match_lengths(parsed: _Parsed, lengths: Lengths | None) -> Lengths | None:
    """Return the words of both sides, from the text or the file, which must agree."""
    if lengths is None or parsed.lengths is None:
        return parsed.lengths if lengths is None else lengths
    differs = (parsed.lengths[0] != lengths[0]) | (parsed.lengths[1] != lengths[1])
    if differs.any():
        row = int(np.argmax(differs))
        raise DataError(
            f"{parsed.where}, {parsed.name_of(row)}: {parsed.lengths[0][row]} and {parsed.lengths[1][row]} words, but "
            f"the text has {lengths[0][row]} and {lengths[1][row]}"
        )
    return lengths


def _detect_base(parsed: _Parsed, lengths: Lengths | None, notes: Counter[str]) -> int:
    """Return the index of the first word: 0 or 1."""
    links = parsed.links.links
    aligned_pairs = int((links.lengths > 0).sum())
    if not aligned_pairs:
        return 0
    smallest = int(links.flat.min())
    pairs_at_end = 0  # pairs with a link whose index is the length of the sentence
    if lengths is not None:
        last = np.stack([np.repeat(side, links.lengths) for side in lengths], axis=1)
        pairs_at_end = len(np.unique(links.rows()[(links.flat == last).any(axis=1)]))
    if smallest == 0:
        # in `wpt` maybe the null word: then most sentences have a link equal to their length
        return int(parsed.format == "wpt" and 2 * pairs_at_end >= aligned_pairs)
    if pairs_at_end or parsed.format == "wpt":
        # `wpt` counts from 1 by definition (Mihalcea and Pedersen 2003)
        return 1
    if lengths is None and smallest == 1 and aligned_pairs >= _MIN_EVIDENCE:
        notes["aligned pairs, none with a word 0: words assumed to count from 1"] = aligned_pairs
        return 1
    notes["aligned pairs without evidence whether words count from 0 or 1: 0 assumed"] = (
        aligned_pairs
    )
    return 0


def _inside(links: Ragged, base: int, lengths: Lengths | None) -> NDArray[np.bool_]:
    """(total,) whether each link is between existing words."""
    inside: NDArray[np.bool_] = np.all(links.flat >= base, axis=1)
    for column, side in enumerate(lengths or ()):
        inside &= links.flat[:, column] - base < np.repeat(side, links.lengths)
    return inside


def _note_dropped(
    parsed: _Parsed, inside: NDArray[np.bool_], base: int, notes: Counter[str]
) -> int:
    """Note what is dropped; return the number of links beyond their sentences."""
    links = parsed.links.links
    is_null = (links.flat < base).any(axis=1)
    is_beyond = ~inside & ~is_null
    reasons = {
        "links to a word 0 dropped": is_null,
        "links beyond the end of a sentence dropped": is_beyond,
    }
    for reason, dropped in reasons.items():
        if dropped.any():
            row = int(links.rows()[np.argmax(dropped)])
            notes[f"{reason}, first in {parsed.name_of(row)}"] = int(dropped.sum())
    return int(is_beyond.sum())


def _from_zero(links: Ragged, selected: NDArray[np.bool_], base: int) -> Ragged:
    """Return the selected links, with words counted from 0."""
    chosen = select_links(links, selected)
    return Ragged((chosen.values - base).astype(np.int32), chosen.offsets)
