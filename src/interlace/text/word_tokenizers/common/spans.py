"""Spans from the tokens of other packages."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.text.word_tokenizers.common.characters import code_points, line_starts, spans_by_line
from interlace.text.word_tokenizers.unicode import continues

Span = tuple[int, int]


def placed(line: str, tokens: Iterable[str]) -> list[Span] | None:
    """Return the span of each token, with white space and control characters inside; None if one is not in the line."""
    spans: list[Span] = []
    at = 0
    for token in tokens:
        start = line.find(token, at)
        if start < 0 or not _is_blank(line[at:start]):
            found = _spaced_span(line, token, at)
            if found is None:
                return None
            start, at = found
        else:
            at = start + len(token)
        spans.append((start, at))
    return spans


def trimmed(lines: Sequence[str], rows: Sequence[Sequence[Span]]) -> Ragged:
    """Return spans without leading and trailing white space; drops spans of white space only."""
    kept = [[full for span in row if (full := _trim(line, *span))] for line, row in zip(lines, rows, strict=True)]
    return Ragged.of(kept, width=2)


def rejoined(lines: Sequence[str], words: Ragged) -> Ragged:
    """Rejoin words that a tokenizer for one unspaced script split between letters of another script.

    Tokenizers for Chinese or Thai split words of scripts other than their own and ASCII into letters or at accents.
    Adjacent words are joined if neither letter at the boundary is of an unspaced script, or if the second begins with a
    combining mark.
    """
    points, base = code_points(lines), line_starts(lines)
    spans = words.flat + base[words.rows()][:, None]  # (W, 2)
    if not len(spans):
        return words
    starts, ends = spans[:, 0].astype(np.int64), spans[:, 1].astype(np.int64)
    joins: NDArray[np.bool_] = np.zeros(len(spans), np.bool_)
    joins[1:] = (starts[1:] == ends[:-1]) & continues(points)[starts[1:]]
    return spans_by_line(starts[~joins], ends[np.append(~joins[1:], True)], base)


def _trim(line: str, start: int, end: int) -> Span | None:
    while start < end and line[start].isspace():
        start += 1
    while start < end and line[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def _is_blank(text: str) -> bool:
    """Return whether the text is white space and ASCII control characters only."""
    return all(character.isspace() or character < " " for character in text)


def _spaced_span(line: str, token: str, at: int) -> Span | None:
    """Return the span from `at` on that spells the token when white space and controls are ignored."""
    start = -1
    for character in token:
        while at < len(line) and line[at] != character:
            if not _is_blank(line[at]):
                return None
            at += 1
        if at == len(line):
            return None
        start = at if start < 0 else start
        at += 1
    return (start, at) if start >= 0 else None
