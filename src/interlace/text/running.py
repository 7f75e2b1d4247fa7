"""Running text from words, as subword tokenizers expect it."""

import unicodedata

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.text.columns import LINE_FEED, TextColumns
from interlace.text.scripts import is_unspaced
from interlace.text.word_tokenizers.common.characters import (
    CharacterClasses,
    code_points,
    line_starts,
)

_TIGHT = 1
_LOOSE = 2


def running_text(rows: Ragged, spellings: list[str]) -> TextColumns:
    """Join the words of each row with spaces, except where their scripts use none.

    Encoders were trained on plain text: spaces between Chinese or Thai words, or before a full-width stop, would be
    subwords that do not occur there.

    rows: numbers of words. spellings: the text of each number.
    """
    used, numbers = np.unique(rows.flat, return_inverse=True)
    distinct_words = [spellings[number] for number in used.tolist()]
    characters = code_points(distinct_words)  # a line feed follows each word
    starts = line_starts(distinct_words)
    tight = _CLASSES.of(characters) == _TIGHT
    opens_tight = tight[starts[:-1]][numbers]  # (W,) of all words
    closes_tight = tight[starts[1:] - 2][numbers]

    first_words = rows.offsets - rows.offsets[0]  # of each row, and the number of all words
    is_last = np.zeros(len(numbers), np.bool_)
    is_last[first_words[1:][rows.lengths > 0] - 1] = True
    touches_next = np.zeros(len(numbers), np.bool_)
    touches_next[:-1] = closes_tight[:-1] & opens_tight[1:] & ~is_last[:-1]

    # The line feed after a word becomes a space, or is removed; after the last word of a row it stays.
    words = Ragged(characters, starts).take(numbers)
    separators = words.offsets[1:] - 1
    words.values[separators[~is_last]] = ord(" ")
    joined = np.delete(words.values, separators[touches_next])
    removed_before: NDArray[np.int64] = np.cumsum(touches_next) - touches_next
    word_starts = words.offsets[:-1] - removed_before
    word_ends = word_starts + words.lengths - 1
    row_starts = np.append(word_starts, len(joined))[first_words[:-1]]
    spans = np.stack([word_starts, word_ends], axis=1)  # (W, 2)
    spans -= np.repeat(row_starts, rows.lengths)[:, None]
    joined = np.insert(joined, row_starts[rows.lengths == 0], LINE_FEED)
    row_ends = np.flatnonzero(joined == LINE_FEED) + 1
    lines = Ragged(joined, np.append(0, row_ends))
    return TextColumns(lines, Ragged(spans.astype(np.int32), first_words))


def is_tight(character: str) -> bool:
    """Return whether no space separates this character from text: unspaced scripts and their punctuation."""
    if not character:
        return False
    is_mark = unicodedata.category(character)[0] in "PS"
    is_wide = unicodedata.east_asian_width(character) in "WF"
    return (is_mark and is_wide) or is_unspaced(character)


_CLASSES = CharacterClasses(lambda character: _TIGHT if is_tight(character) else _LOOSE)
