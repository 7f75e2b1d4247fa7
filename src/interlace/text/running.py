"""Running text from words, as subword tokenizers expect it."""

import unicodedata
from functools import cache

import numpy as np

from interlace.core.ragged import Ragged, ranges
from interlace.text.characters import points_of
from interlace.text.columns import LINE_FEED, TextColumns
from interlace.text.scripts import is_unspaced


def running_text(rows: Ragged, spellings: list[str]) -> TextColumns:
    """Join the words of each row with spaces, except where their scripts use none.

    Encoders were trained on plain text: spaces between Chinese or Thai words, or before a full-width stop, would be
    subwords that do not occur there.

    rows: numbers of words. spellings: the text of each number.
    """
    used, numbers = np.unique(rows.flat, return_inverse=True)
    words = [spellings[number] for number in used.tolist()]  # distinct
    opens_tight = np.array([is_tight(word[0]) for word in words], np.bool_)[numbers]  # (W,)
    closes_tight = np.array([is_tight(word[-1]) for word in words], np.bool_)[numbers]
    has_space = rows.columns() > 0  # before each word
    has_space[1:] &= ~(closes_tight[:-1] & opens_tight[1:])

    spaced_words = points_of("".join(f" {word}" for word in words))
    word_lengths = np.array([len(word) for word in words], np.int64)
    word_starts = np.cumsum(word_lengths + 1) - word_lengths  # behind the space
    lengths = word_lengths[numbers]  # (W,)
    copied_lengths = lengths + has_space
    copied_starts = word_starts[numbers] - has_space
    characters = spaced_words[ranges(copied_starts, copied_lengths)]

    ends = np.append(0, np.cumsum(copied_lengths))
    first_words = rows.offsets - rows.offsets[0]  # of each row, and the number of all words
    row_borders = ends[first_words]
    lines = np.insert(characters, row_borders[1:], LINE_FEED)
    line_starts = row_borders + np.arange(len(row_borders))
    ends_in_row = ends[1:] - np.repeat(row_borders[:-1], rows.lengths)
    spans = np.stack([ends_in_row - lengths, ends_in_row], axis=1)
    return TextColumns(Ragged(lines, line_starts), Ragged(spans.astype(np.int32), first_words))


@cache
def is_tight(character: str) -> bool:
    """Return whether no space separates this character from text: unspaced scripts and their punctuation."""
    is_mark = unicodedata.category(character)[0] in "PS"
    is_wide = unicodedata.east_asian_width(character) in "WF"
    return (is_mark and is_wide) or is_unspaced(character)
