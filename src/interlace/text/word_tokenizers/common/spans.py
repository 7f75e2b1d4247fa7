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
    end = 0  # of the last token
    for token in tokens:
        start = line.find(token, end)
        span: Span | None = (start, start + len(token))
        if start < 0 or not _is_blank(line[end:start]):
            span = _spaced_span(line, token, end)
        if span is None:
            return None
        spans.append(span)
        end = span[1]
    return spans


def trimmed(lines: Sequence[str], rows: Sequence[Sequence[Span]]) -> Ragged:
    """Return spans without leading and trailing white space; drops spans of white space only."""
    trimmed_rows = []
    for line, row in zip(lines, rows, strict=True):
        spans = []
        for start, end in row:
            word = line[start:end]
            text = word.strip()
            if text:
                text_start = start + len(word) - len(word.lstrip())
                spans.append((text_start, text_start + len(text)))
        trimmed_rows.append(spans)
    return Ragged.of(trimmed_rows, width=2)


def rejoined(lines: Sequence[str], words: Ragged) -> Ragged:
    """Rejoin words that a tokenizer for one unspaced script split between letters of another script.

    Tokenizers for Chinese or Thai split words of scripts other than their own and ASCII into letters or at accents.
    Adjacent words are joined if neither letter at the boundary is of an unspaced script, or if the second begins with a
    combining mark.
    """
    if not len(words.flat):
        return words
    line_begins = line_starts(lines)
    begins = line_begins[words.rows()]  # (W,) of each word's line
    starts = words.flat[:, 0] + begins  # (W,) characters of all lines
    ends = words.flat[:, 1] + begins
    is_adjacent = starts[1:] == ends[:-1]
    continues_word = continues(code_points(lines))  # (C,)
    is_joined: NDArray[np.bool_] = np.zeros(len(starts), np.bool_)  # (W,) to the word before
    is_joined[1:] = is_adjacent & continues_word[starts[1:]]
    is_last = np.append(~is_joined[1:], True)
    return spans_by_line(starts[~is_joined], ends[is_last], line_begins)


def _is_blank(text: str) -> bool:
    """Return whether the text is white space and ASCII control characters only."""
    return all(character.isspace() or character < " " for character in text)


def _spaced_span(line: str, token: str, begin: int) -> Span | None:
    """Return the span from `begin` on that spells the token when white space and controls are ignored."""
    start = -1
    position = begin
    for character in token:
        while position < len(line) and line[position] != character:
            if not _is_blank(line[position]):
                return None
            position += 1
        if position == len(line):
            return None
        if start < 0:
            start = position
        position += 1
    return (start, position) if start >= 0 else None
