"""Running text from words, as subword tokenizers expect it."""

import unicodedata
from functools import cache

import numpy as np

from interlace.core.ragged import Ragged
from interlace.text import Text
from interlace.text.columns import TextColumns
from interlace.text.scripts import is_unspaced


def running_text(rows: Ragged, spellings: list[str]) -> TextColumns:
    """Join the words of each row with spaces, except where their scripts use none.

    Encoders were trained on plain text: spaces between Chinese or Thai words, or before a full-width stop, would be
    subwords that do not occur there.

    rows: numbers of words. spellings: the text of each number.
    """
    used, numbers = np.unique(rows.flat, return_inverse=True)
    distinct_words = [spellings[number] for number in used.tolist()]
    lengths = np.array([len(word) for word in distinct_words], np.int64)[numbers]  # (W,)
    opens_tight = np.array([is_tight(word[0]) for word in distinct_words], np.bool_)[numbers]
    closes_tight = np.array([is_tight(word[-1]) for word in distinct_words], np.bool_)[numbers]
    has_space = rows.columns() > 0  # before each word
    has_space[1:] &= ~(closes_tight[:-1] & opens_tight[1:])

    ends = np.cumsum(lengths + has_space)
    first_words = rows.offsets - rows.offsets[0]  # of each row, and the number of all words
    row_starts = np.append(0, ends)[first_words[:-1]]
    ends -= np.repeat(row_starts, rows.lengths)
    spans = np.stack([ends - lengths, ends], axis=1).astype(np.int32)

    pieces = []
    for number, is_spaced in zip(numbers.tolist(), has_space.tolist(), strict=True):
        word = distinct_words[number]
        pieces.append(f" {word}" if is_spaced else word)
    lines = []
    for start, stop in zip(first_words[:-1].tolist(), first_words[1:].tolist(), strict=True):
        lines.append("".join(pieces[start:stop]))
    return TextColumns.of(Text("", lines, Ragged(spans, first_words)))


@cache
def is_tight(character: str) -> bool:
    """Return whether no space separates this character from text: unspaced scripts and their punctuation."""
    if not character:
        return False
    is_mark = unicodedata.category(character)[0] in "PS"
    is_wide = unicodedata.east_asian_width(character) in "WF"
    return (is_mark and is_wide) or is_unspaced(character)
