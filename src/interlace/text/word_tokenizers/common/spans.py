"""Spans from the tokens of other packages."""

from collections.abc import Iterable, Sequence

import numpy as np

from interlace.core.ragged import Ragged
from interlace.text.characters import code_points, line_starts, spans_by_line
from interlace.text.word_tokenizers.unicode import Unicode, continues

Span = tuple[int, int]


def placed(line: str, tokens: Iterable[str]) -> list[Span]:
    """Return the span of each token, with white space and control characters inside.

    If one is not in the line, the words of the tokenizer `unicode` are returned.
    """
    spans: list[Span] = []
    end = 0  # of the last token
    for token in tokens:
        start = line.find(token, end)
        span: Span | None = (start, start + len(token))
        if start < 0 or not _is_blank(line[end:start]):
            span = _spaced_span(line, token, end)
        if span is None:
            return Unicode().split([line])[0].tolist()
        spans.append(span)
        end = span[1]
    return spans


def rejoined_words(lines: Sequence[str], rows: Sequence[Sequence[Span]]) -> Ragged:
    """Return spans without white space at their ends, with words of other scripts rejoined; see `rejoined`."""
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
    return rejoined(lines, Ragged.of(trimmed_rows, width=2))


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
    # (W,) whether it is not joined to the one before
    begins_word = np.ones(len(starts), np.bool_)
    begins_word[1:] = ~(is_adjacent & continues_word[starts[1:]])
    ends_word = np.append(begins_word[1:], True)
    return spans_by_line(starts[begins_word], ends[ends_word], line_begins)


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
