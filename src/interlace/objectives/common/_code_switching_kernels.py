"""The numba kernels of code-switching, compiled when first used.

Lines are `LineColumns`; spans of words count in their line.
"""

import unicodedata
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from interlace.text.scripts import is_unspaced
from interlace.text.word_tokenizers.common.characters import CharacterClasses

Numbers = NDArray[np.int64]
Spans = NDArray[np.int32]
_SPACE = ord(" ")

BLANK = 1  # kinds of characters; digits and combining marks are letters
PUNCTUATION = 2
SPACED = 3
UNSPACED_LETTER = 4


def character_kind(character: str) -> int:
    """Return BLANK, PUNCTUATION, SPACED or UNSPACED_LETTER."""
    if character.isspace():
        return BLANK
    if unicodedata.category(character)[0] not in "LNM":
        return PUNCTUATION
    return UNSPACED_LETTER if is_unspaced(character) else SPACED


CHARACTER_KINDS = CharacterClasses(character_kind)


@njit(cache=True, nogil=True)
def draw_spans(
    spans: Spans,
    offsets: Numbers,
    max_words: Numbers,
    max_spans: int,
    uniforms: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Return (k,) which spans are taken: in random order, if they overlap no earlier one and fit the limits.

    spans: (k, 2) start and stop. offsets: (n + 1,) of the spans of each row. max_words: (n,) words taken in a row.
    max_spans: spans taken in a row. uniforms: (k,) in [0, 1).
    """
    chosen = np.zeros(len(spans), np.bool_)
    order = np.empty(max(len(spans), 1), np.int64)
    taken = np.zeros((spans[:, 1].max() if len(spans) else 0) + 1, np.bool_)
    for row in range(len(offsets) - 1):
        first_span = offsets[row]
        remaining = offsets[row + 1] - first_span
        for number in range(remaining):
            order[number] = first_span + number
        words = max_words[row]
        count = max_spans
        while remaining > 0 and words > 0 and count > 0:
            pick = int(uniforms[first_span + remaining - 1] * remaining)
            span = order[pick]
            remaining -= 1
            order[pick] = order[remaining]
            start = spans[span, 0]
            stop = spans[span, 1]
            if stop - start <= words and not taken[start:stop].any():
                taken[start:stop] = True
                chosen[span] = True
                words -= stop - start
                count -= 1
        for span in range(first_span, offsets[row + 1]):
            if chosen[span]:
                taken[spans[span, 0] : spans[span, 1]] = False
    return chosen


@njit(cache=True, nogil=True)
def have_same_letters(
    text: Any,
    matrix_lines: Numbers,
    replaced: Spans,
    lines: Numbers,
    inserted: Spans,
    is_same: NDArray[np.bool_],
) -> None:
    """Fill `is_same` (k,): whether the words of both phrases have the same letters, however they are split."""
    for exchange in range(len(lines)):
        matrix_line = matrix_lines[exchange]
        line = lines[exchange]
        word = text.first_words[line] + inserted[exchange, 0]
        last_word = text.first_words[line] + inserted[exchange, 1]
        position = text.words[word, 0]
        same = True
        for matrix_word in range(replaced[exchange, 0], replaced[exchange, 1]):
            start, stop = text.words[text.first_words[matrix_line] + matrix_word]
            for matrix_position in range(start, stop):
                if (
                    word == last_word
                    or text.characters[text.starts[matrix_line] + matrix_position]
                    != text.characters[text.starts[line] + position]
                ):
                    same = False
                    break
                position += 1
                if position == text.words[word, 1]:
                    word += 1
                    if word < last_word:
                        position = text.words[word, 0]
            if not same:
                break
        is_same[exchange] = same and word == last_word


@njit(cache=True, nogil=True)
def write_lines(
    text: Any,
    kinds: NDArray[np.uint8],
    matrix_lines: Numbers,
    offsets: Numbers,
    replaced: Spans,
    lines: Numbers,
    inserted: Spans,
    written: Any,
) -> None:
    """Write matrix sentences with some of their phrases replaced; see `switched_text`.

    kinds: (C,) of the characters of `text`. offsets: (n + 1,) the exchanges of each line.
    """
    for row in range(len(matrix_lines)):
        matrix = matrix_lines[row]
        matrix_words = text.words[text.first_words[matrix] : text.first_words[matrix + 1]]
        matrix_kinds = kinds[text.starts[matrix] : text.starts[matrix + 1]]
        written.starts[row + 1] = written.starts[row]
        written.first_words[row + 1] = written.first_words[row]
        next_word = 0  # of the matrix sentence
        position = 0
        kind_before = BLANK  # of the last written character
        for exchange in range(offsets[row], offsets[row + 1]):
            first_word, stop_word = replaced[exchange]
            line = lines[exchange]
            begin, end = _characters_of(text, line, inserted[exchange])  # of the inserted phrase
            phrase_kinds = kinds[text.starts[line] : text.starts[line + 1]]
            stop = matrix_words[first_word, 0]
            adds_space = False
            if first_word > 0:  # nothing changes at the beginning of a line
                has_space = inserted[exchange, 0] == 0 or phrase_kinds[begin - 1] == BLANK
                stop, adds_space = _boundary(
                    matrix_kinds[position:stop], kind_before, has_space, phrase_kinds[begin]
                )
                stop += position
            _copy(text, matrix, (position, stop), (next_word, first_word), written, row)
            if adds_space:
                written.characters[written.starts[row + 1]] = _SPACE
                written.starts[row + 1] += 1
            words = (inserted[exchange, 0], inserted[exchange, 1])
            _copy(text, line, (begin, end), words, written, row)
            kind_before = phrase_kinds[end - 1]
            next_word = stop_word
            position = matrix_words[stop_word - 1, 1]
        line_end = len(matrix_kinds)
        _copy(text, matrix, (position, line_end), (next_word, len(matrix_words)), written, row)


@njit(cache=True, nogil=True)
def _boundary(
    kinds: NDArray[np.uint8], kind_before: int, phrase_has_space: bool, kind_after: int
) -> tuple[int, bool]:
    """Return how many characters stay before an inserted phrase, and whether a space is added to them.

    kinds: of the characters between the previous phrase, or the beginning of the line, and the replaced phrase.
    kind_before: of the last character of the previous phrase. kind_after: of the first one of the inserted phrase.
    """
    stop = len(kinds)
    while stop > 0 and kinds[stop - 1] == BLANK:
        stop -= 1
    if stop > 0:
        kind_before = kinds[stop - 1]
    has_space = stop < len(kinds)
    if needs_space(has_space, phrase_has_space, kind_before, kind_after):
        return len(kinds), not has_space
    return stop, False


@njit(cache=True, nogil=True)
def _characters_of(text: Any, line: int, words: Spans) -> tuple[int, int]:
    """Return where a run of words begins and ends in its line."""
    first_word = text.first_words[line]
    return text.words[first_word + words[0], 0], text.words[first_word + words[1] - 1, 1]


@njit(cache=True, nogil=True)
def _copy(
    text: Any,
    line: int,
    characters: tuple[int, int],
    words: tuple[int, int],
    written: Any,
    row: int,
) -> None:
    """Append a run of characters of a line, with the words that lie in it, to a written row."""
    begin = written.starts[row + 1]
    moved_by = begin - written.starts[row] - characters[0]
    for position in range(characters[0], characters[1]):
        written.characters[begin] = text.characters[text.starts[line] + position]
        begin += 1
    written.starts[row + 1] = begin
    for word in range(text.first_words[line] + words[0], text.first_words[line] + words[1]):
        target = written.first_words[row + 1]
        written.words[target, 0] = text.words[word, 0] + moved_by
        written.words[target, 1] = text.words[word, 1] + moved_by
        written.sides[target] = text.sides[line]
        written.first_words[row + 1] += 1


@njit(cache=True, nogil=True)
def needs_space(place_has: bool, phrase_has: bool, before: int, after: int) -> bool:
    """Return whether a moved phrase has a space before it.

    If place and phrase agree, that decides. Otherwise the adjacent characters do: "young, white" whose ", white"
    becomes "weiße" needs a space; a place after a bracket needs none, nor do letters of a script without spaces.

    place_has: whether a space precedes the words that are replaced. phrase_has: whether one precedes the phrase in
        its own sentence, or would before a line's first word. before, after: kinds of the adjacent characters.
    """
    between_letters = before == SPACED and after == SPACED
    if place_has:
        return bool(phrase_has or after != PUNCTUATION)
    return bool(phrase_has and between_letters)
