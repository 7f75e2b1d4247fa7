"""The numba kernels of code-switching, compiled when first used.

Lines are `LineColumns`; spans of words count in their line.
"""

from __future__ import annotations

import unicodedata

import numpy as np

from interlace.core.kernels import compiled, inner
from interlace.core.ragged import BoolArray, DoubleArray, Int32Array, IntArray
from interlace.objectives.common.exchanges import Exchanges, LineColumns
from interlace.text.characters import CharacterClasses
from interlace.text.scripts import is_unspaced

Numbers = IntArray
Spans = Int32Array
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


@compiled
def draw_spans(
    spans: Spans,
    offsets: Numbers,
    max_words: Numbers,
    max_spans: int,
    uniforms: DoubleArray,
) -> BoolArray:
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


@compiled
def have_same_letters(
    text: LineColumns, matrix_lines: Numbers, exchanges: Exchanges
) -> BoolArray:
    """Return (k,) whether both phrases of each exchange are the same text, apart from blanks.

    matrix_lines: (n,) the matrix sentence of each pair.
    """
    is_same = np.zeros(len(exchanges.rows), np.bool_)
    for exchange in range(len(is_same)):
        matrix_line = matrix_lines[exchanges.rows[exchange]]
        place, stop = _characters_of(text, matrix_line, exchanges.replaced[exchange])
        line = exchanges.lines[exchange]
        other_place, other_stop = _characters_of(text, line, exchanges.inserted[exchange])
        while place < stop and other_place < other_stop:
            if text.kinds[place] == BLANK:
                place += 1
            elif text.kinds[other_place] == BLANK:
                other_place += 1
            elif text.characters[place] == text.characters[other_place]:
                place += 1
                other_place += 1
            else:
                break
        is_same[exchange] = place == stop and other_place == other_stop
    return is_same


@compiled
def write_lines(
    text: LineColumns,
    matrix_lines: Numbers,
    exchanges: Exchanges,
    offsets: Numbers,
    written: LineColumns,
) -> None:
    """Write matrix sentences with some of their phrases replaced; see `switched_text`.

    offsets: (n + 1,) the exchanges of each line.
    """
    for row in range(len(matrix_lines)):
        written.starts[row + 1] = written.starts[row]
        written.first_words[row + 1] = written.first_words[row]
        matrix_line = matrix_lines[row]
        start = text.starts[matrix_line]
        place = start  # the next character of the matrix sentence
        next_word = 0
        for exchange in range(offsets[row], offsets[row + 1]):
            replaced = exchanges.replaced[exchange]
            replaced_begin, replaced_end = _characters_of(text, matrix_line, replaced)
            _copy(
                text,
                matrix_line,
                (place, replaced_begin),
                (next_word, replaced[0]),
                written,
                row,
            )
            line = exchanges.lines[exchange]
            inserted = exchanges.inserted[exchange]
            begin, end = _characters_of(text, line, inserted)
            if replaced[0] > 0:  # nothing changes at the beginning of a line
                has_space = inserted[0] == 0 or text.kinds[begin - 1] == BLANK
                _set_space(written, row, has_space, text.kinds[begin])
            _copy(text, line, (begin, end), (inserted[0], inserted[1]), written, row)
            place = replaced_end
            next_word = replaced[1]
        word_count = text.first_words[matrix_line + 1] - text.first_words[matrix_line]
        stop = text.starts[matrix_line + 1]
        _copy(text, matrix_line, (place, stop), (next_word, word_count), written, row)


@inner
def _characters_of(text: LineColumns, line: int, words: Spans) -> tuple[int, int]:
    """Return where a run of words of a line begins and ends among all characters."""
    first_word = text.first_words[line]
    begin = text.words[first_word + words[0], 0]
    end = text.words[first_word + words[1] - 1, 1]
    return text.starts[line] + begin, text.starts[line] + end


@inner
def _set_space(written: LineColumns, row: int, phrase_has_space: bool, kind_after: int) -> None:
    """Keep, remove or add the space at the end of a written row, before a phrase is appended."""
    end = written.starts[row + 1]
    stop = end
    while stop > written.starts[row] and written.kinds[stop - 1] == BLANK:
        stop -= 1
    kind_before = BLANK
    if stop > written.starts[row]:
        kind_before = written.kinds[stop - 1]
    has_space = stop < end
    if not needs_space(has_space, phrase_has_space, kind_before, kind_after):
        written.starts[row + 1] = stop
    elif not has_space:
        written.characters[end] = _SPACE
        written.kinds[end] = BLANK
        written.starts[row + 1] = end + 1


@inner
def _copy(
    text: LineColumns,
    line: int,
    characters: tuple[int, int],
    words: tuple[int, int],
    written: LineColumns,
    row: int,
) -> None:
    """Append a run of characters of a line, with the words that lie in it, to a written row."""
    end = written.starts[row + 1]
    moved_by = end - written.starts[row] + text.starts[line] - characters[0]
    for place in range(characters[0], characters[1]):
        written.characters[end] = text.characters[place]
        written.kinds[end] = text.kinds[place]
        end += 1
    written.starts[row + 1] = end
    target = written.first_words[row + 1]
    for word in range(text.first_words[line] + words[0], text.first_words[line] + words[1]):
        written.words[target, 0] = text.words[word, 0] + moved_by
        written.words[target, 1] = text.words[word, 1] + moved_by
        written.sides[target] = text.sides[line]
        target += 1
    written.first_words[row + 1] = target


@compiled
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
