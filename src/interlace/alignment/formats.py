"""Files of word links, in and out: Pharaoh, and the formats in which gold links come."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment import CHUNK
from interlace.alignment._formats_lines import READERS
from interlace.alignment._formats_pharaoh import formatted
from interlace.alignment._formats_rows import chosen, detected, inside, measured, placed
from interlace.alignment._formats_text import GoldText, joined_lines, read_gold_text
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.text.lines import read_lines, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.alignment._formats_rows import Found, Lengths

__all__ = ["FORMATS", "Gold", "GoldText", "joined_lines", "pharaoh_lines", "read_alignments", "read_gold_text", "write_alignments",
           "write_links"]  # fmt: skip

FORMATS: tuple[str, ...] = tuple(READERS)

_LOOKS = (  # what the first line that is not empty looks like
    ("giza", re.compile(r"#\s*Sentence pair \(")),
    ("jsonl", re.compile(r"\s*\{")),
    ("wpt", re.compile(r"\s*\d+\s+\d+\s+\d+(\s|$)")),
    ("talp", re.compile(r"\s*\d+(\t|\s+\d+[-p?]\d+(\s|$))")),
    ("pharaoh", re.compile(r"\s*\d+[-p?]\d+(\s|$)")),
)


@dataclass(frozen=True)
class Gold:
    """Links of n pairs that were read from a file, as `interlace.alignment` describes them: words counted from 0.

    sure: what must be found. possible: what may be found; holds the sure ones too, and is the same object where the
        file tells no possible ones apart.
    base: from what the file counts words, 0 or 1. format: one of `FORMATS`.
    numbers: (n,) the number of each pair in the file; from 0 where it has none.
    notes: what was assumed, mended or left out, and how often.
    beyond: how many links are left out because they lead beyond the end of their sentences.
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
) -> Gold:
    """Read links, drawn by people or found by a program; plain or gzip.

    Formats, told apart by their first line:

    - `pharaoh`: `0-0 1-2 3p3`, one line a pair; `p` or `?` marks a possible link.
    - `talp`: the number of the pair, a tab, and links as above.
    - `wpt`: sentence, source word, target word, perhaps S or P, perhaps a confidence; one line a link.
    - `jsonl`: objects with `src_words`, `tgt_words` and `alignment`.
    - `giza`: `A3.final` of GIZA++. The line with NULL is the source; where the lengths of the text say that it is the
      other side, links are turned round.

    From what words are counted is found out: a word 0 says from 0, a word as great as the length of its sentence says
    from 1. In `wpt`, a word 0 may be the null word: it is, where half of the sentences have their last word linked so.
    Where nothing tells, `wpt` counts from 1, and others from 0, with a note; without lengths, 20 linked pairs
    without a single word 0 say from 1, with a note.

    lengths: (n,) words of each source and of each target sentence. They help to find out from what words are counted,
        and links beyond the end of a sentence are left out, with a note.
    numbers: the numbers of the text's pairs, where those do not simply count from 0 or 1.
    base: from what words are counted, where that is known.
    kind: the format, where that is known.

    Raises:
        DataError: the file cannot be read as links (names the line), or has other pairs than the text.
        SettingsError: there is no such format, or the base is neither 0 nor 1.
    """
    if base not in {None, 0, 1}:
        raise SettingsError(f"words count from 0 or 1, not from {base}")
    found = READERS[_kind(Path(path), kind)](Path(path))
    wanted = None if numbers is None else np.asarray(numbers, np.int64)
    found = placed(found, wanted, None if lengths is None else len(lengths[0]))
    found, lengths = measured(found, lengths)
    notes = Counter(found.notes)
    base = detected(found, lengths, notes) if base is None else base
    kept = inside(found.columns.links, base, lengths)
    beyond = _note_left_out(found, kept, base, notes)
    possible = chosen(found.columns.links, kept, base)
    sure = possible
    if found.columns.sure is not found.columns.links:
        sure = chosen(found.columns.sure, inside(found.columns.sure, base, lengths), base)
    rows = np.arange(len(found)) if found.numbers is None else found.numbers
    return Gold(sure, possible, base, found.format, rows, dict(notes), beyond)


def _note_left_out(found: Found, kept: NDArray[np.bool_], base: int, notes: Counter[str]) -> int:
    """Write down what is left out; how many links of it lead beyond their sentences."""
    links = found.columns.links
    null = (links.flat < base).any(axis=1)
    beyond = ~kept & ~null
    for out, what in ((null, "links to a word 0 left out"), (beyond, "links beyond a side's end left out")):
        if out.any():
            row = int(links.rows()[np.argmax(out)])
            notes[f"{what}, first in {found.named(row)}"] = int(out.sum())
    return int(beyond.sum())


def _kind(path: Path, kind: str | None) -> str:
    """The format's name, by what the file looks like where it is not given."""
    if kind is not None:
        if kind not in READERS:
            raise SettingsError(f"there is no format of links {kind!r}{did_you_mean(kind, FORMATS)}")
        return kind
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            for name, look in _LOOKS:
                if look.match(line):
                    return name
            raise DataError(
                f"{path}, line {number}: {line[:40]!r} looks like no format of links; there are: {', '.join(FORMATS)}"
            )
    return "pharaoh"


def pharaoh_lines(links: Ragged | Iterable[Ragged]) -> Iterator[str]:
    """`0-0 1-2`, a line a pair, as every tool reads it; from all links or from chunks of them.

    Raises:
        DataError: a word is numbered beyond a million.
    """
    for chunk in [links] if isinstance(links, Ragged) else links:
        for start in range(0, len(chunk), CHUNK):
            yield from formatted(chunk.slice(start, min(start + CHUNK, len(chunk))))


def write_links(path: Path | str, links: Ragged | Iterable[Ragged]) -> None:
    """Write links in Pharaoh format, gzip where the name ends in `.gz`; the file appears whole or not at all.

    links: rows of (source word, target word), or chunks of such rows, taken as they come.

    Raises:
        DataError: the disk is full.
    """
    write_lines(path, pharaoh_lines(links))


def write_alignments(path: Path | str, gold: Gold) -> None:
    """Write gold links in Pharaoh format, counted from 0, `ipj` what is only possible; as `write_links` does."""
    write_lines(path, formatted(gold.possible, gold.sure))
