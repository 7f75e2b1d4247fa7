"""Words are runs of letters and digits; punctuation marks and characters of unspaced scripts are single words."""

import unicodedata
from collections.abc import Sequence

import numpy as np

from interlace.core.ragged import AnyArray, BoolArray, ByteArray, Ragged
from interlace.text.characters import (
    CharacterClasses,
    line_starts,
    spans_by_line,
)
from interlace.text.scripts import is_unspaced
from interlace.text.word_tokenizers import WordTokenizer

_BLANK, _RUN, _ALONE, _EXTENDS = range(1, 5)
_ZERO_WIDTH_SPACE = "\u200b"  # separates words in Khmer and Thai


class Unicode(WordTokenizer):
    """Runs of letters and digits; a punctuation mark or symbol alone; unspaced scripts by character.

    Combining marks and joiners stay with the character before them.
    """

    def split(self, lines: Sequence[str]) -> Ragged:
        """Return (start, end) character spans per line."""
        kinds = _inherited(_CLASSES.of_lines(lines))
        solid = kinds != _BLANK
        begins = solid & ~_continues(kinds)
        starts = np.flatnonzero(begins)
        before_boundary = begins[1:] | ~solid[1:]
        ends = np.flatnonzero(solid[:-1] & before_boundary) + 1
        return spans_by_line(starts, ends, line_starts(lines))


def continues(points: AnyArray) -> BoolArray:
    """(C,) whether a character continues the word of the previous one: marks, and letters or digits in a run."""
    return _continues(_inherited(_CLASSES.of(points)))


def _continues(kinds: ByteArray) -> BoolArray:
    base_kinds = _base(kinds)
    extends = kinds[1:] == _EXTENDS
    is_in_run = (kinds[1:] == _RUN) & (base_kinds[:-1] == _RUN)
    continued = np.zeros(len(kinds), np.bool_)
    continued[1:] = extends | is_in_run
    return continued


def _class_of(character: str) -> int:
    if character.isspace() or character == _ZERO_WIDTH_SPACE:
        return _BLANK
    category = unicodedata.category(character)
    if category[0] == "M" or category == "Cf":
        return _EXTENDS
    if is_unspaced(character):
        return _ALONE
    return _RUN if category[0] in "LN" else _ALONE


_CLASSES = CharacterClasses(_class_of)


def _inherited(kinds: ByteArray) -> ByteArray:
    """Let marks without a base character begin a run."""
    stray = kinds == _EXTENDS
    stray[1:] &= kinds[:-1] == _BLANK
    return np.where(stray, np.uint8(_RUN), kinds)


def _base(kinds: ByteArray) -> ByteArray:
    """Return for each character the class of the last base character up to it."""
    is_base = kinds != _EXTENDS
    positions = np.where(is_base, np.arange(len(kinds)), 0)
    last_base = np.maximum.accumulate(positions)
    return kinds[last_base]
