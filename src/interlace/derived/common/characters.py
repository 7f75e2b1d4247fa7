"""Classes of characters at word boundaries: sentence-final and closing marks, letters, scripts without blanks."""

import unicodedata

from interlace.text.characters import CharacterClasses
from interlace.text.running import is_tight

KNOWN, RUN, TIGHT, CLOSER, MARK, LOOSE, EXTENDS, LETTER = (1 << bit for bit in range(8))
"""Bits of a character: classified already; merges with others of its kind into a word (letters, digits); of a script
without blanks, or its punctuation; a closing bracket or a quote; a sentence-final mark; a sentence-final mark that also
occurs inside numbers, abbreviations and addresses; an accent; a letter."""
_LOOSE = ".!?\u2026\u203d"
_MARKS = _LOOSE + "\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u3002\uff01\uff1f\uff0e\uff61"
_CLOSING = {"Pe", "Pf", "Pi"}  # German closes with the mark that English opens with


def _traits_of(character: str) -> int:
    category = unicodedata.category(character)
    extends = category[0] == "M" or category == "Cf"
    tight = is_tight(character)
    holds = {
        RUN: not tight and (extends or category[0] in "LN"),
        TIGHT: tight,
        CLOSER: category in _CLOSING or character in "\"'",
        MARK: character in _MARKS,
        LOOSE: character in _LOOSE,
        EXTENDS: extends,
        LETTER: category[0] == "L",
    }
    return KNOWN + sum(bit for bit, held in holds.items() if held)


TRAITS = CharacterClasses(_traits_of)
