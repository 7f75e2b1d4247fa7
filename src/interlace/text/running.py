"""Running text from words, as subword tokenizers expect it."""

import unicodedata

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.text import Text
from interlace.text.scripts import is_unspaced


def running_text(rows: Ragged, spellings: list[str], language: str, word_tokenizer: str) -> Text:
    """Join the words of each row with spaces, except where their scripts use none.

    Encoders were trained on plain text: spaces between Chinese or Thai words, or before a full-width stop, would be
    subwords that do not occur there.
    """
    used, places = np.unique(rows.flat, return_inverse=True)
    words = [spellings[number] for number in used.tolist()]
    opens, closes = (np.array([is_tight(word[at]) for word in words], np.bool_) for at in (slice(1), slice(-1, None)))
    blank = rows.columns() > 0
    blank[1:] &= ~(closes[places[:-1]] & opens[places[1:]])
    pieces = [" " + words[place] if gap else words[place] for place, gap in zip(places.tolist(), blank, strict=True)]
    return Text(language, *_lines(pieces, blank, rows), word_tokenizer=word_tokenizer)


def _lines(pieces: list[str], blank: NDArray[np.bool_], rows: Ragged) -> tuple[list[str], Ragged]:
    """Return the joined lines and the span of each word in its line."""
    ends = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)), out=ends[1:])
    offsets = rows.offsets - rows.offsets[0]
    borders = ends[offsets]
    everything = "".join(pieces)
    lines = [everything[a:b] for a, b in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)]
    spans = np.stack([ends[:-1] + blank, ends[1:]], axis=1) - np.repeat(borders[:-1], rows.lengths)[:, None]
    return lines, Ragged(spans.astype(np.int32), offsets)


def is_tight(character: str) -> bool:
    """Return whether no space separates this character from text: unspaced scripts and their punctuation."""
    if not character:
        return False
    wide_mark = unicodedata.category(character)[0] in "PS" and unicodedata.east_asian_width(character) in "WF"
    return wide_mark or is_unspaced(character)
