"""What word tokenizers share that ask another package: whether it is there, and its words back on the unchanged line."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import MissingDependencyError
from interlace.core.ragged import Ragged
from interlace.text.word_tokenizers.common.characters import code_points, line_starts, spans_by_line
from interlace.text.word_tokenizers.unicode import continues

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Span = tuple[int, int]


def must_have(word_tokenizer: str, *packages: str) -> None:
    """Refuse to go on without the packages; nothing is imported.

    Raises:
        MissingDependencyError: one is not installed; holds the pip command for all of them.
    """
    if any(find_spec(package) is None for package in packages):
        raise MissingDependencyError(f"the word tokenizer {word_tokenizer!r}", " ".join(packages))


def versions(*packages: str) -> str:
    """`"jieba 0.42.1"`."""
    return ", ".join(f"{package} {_version(package)}" for package in packages)


def placed(line: str, tokens: Iterable[str]) -> list[Span] | None:
    """Where each token stands, in order; None where a token is not in the line any more.

    White space and control characters may be missing from tokens, before them or inside.
    """
    spans: list[Span] = []
    at = 0
    for token in tokens:
        start = line.find(token, at)
        if start < 0 or not _is_nothing(line[at:start]):
            found = _apart(line, token, at)
            if found is None:
                return None
            start, at = found
        else:
            at = start + len(token)
        spans.append((start, at))
    return spans


def trimmed(lines: Sequence[str], rows: Sequence[Sequence[Span]]) -> Ragged:
    """Spans a line without the white space that some tools count as words, or keep at the ends of some."""
    kept = [[full for span in row if (full := _trim(line, *span))] for line, row in zip(lines, rows, strict=True)]
    return Ragged.of(kept, width=2)


def mended(lines: Sequence[str], words: Ragged) -> Ragged:
    """Words that a tool for one unspaced script cut between letters of another one, in one piece again.

    Tools for Chinese or Thai know their own letters and those of ASCII, and take a word of any other script apart
    letter by letter, or before its accents. Two words that touch are one where neither letter at the border is of an
    unspaced script, or where the second begins with a combining mark.
    """
    points, base = code_points(lines), line_starts(lines)
    spans = words.flat + base[words.rows()][:, None]  # (W, 2)
    if not len(spans):
        return words
    starts, ends = spans[:, 0].astype(np.int64), spans[:, 1].astype(np.int64)
    joins: NDArray[np.bool_] = np.zeros(len(spans), np.bool_)
    joins[1:] = (starts[1:] == ends[:-1]) & continues(points)[starts[1:]]
    return spans_by_line(starts[~joins], ends[np.append(~joins[1:], True)], base)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # importable, but not installed by pip
        return "?"


def _trim(line: str, start: int, end: int) -> Span | None:
    while start < end and line[start].isspace():
        start += 1
    while start < end and line[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def _is_nothing(text: str) -> bool:
    """Whether a tool may drop all of it: white space and ASCII control characters."""
    return all(character.isspace() or character < " " for character in text)


def _apart(line: str, token: str, at: int) -> Span | None:
    """The stretch of the line from `at` on that spells the token once white space and controls are left out."""
    start = -1
    for character in token:
        while at < len(line) and line[at] != character:
            if not _is_nothing(line[at]):
                return None
            at += 1
        if at == len(line):
            return None
        start = at if start < 0 else start
        at += 1
    return (start, at) if start >= 0 else None
