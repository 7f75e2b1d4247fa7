"""Classes of characters at word boundaries: sentence-final and closing marks, letters, scripts without blanks."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


_traits = np.zeros(0x110000, np.uint8)  # filled on demand: classifying all characters takes a second
_ASCII = 128
_traits[:_ASCII] = [_traits_of(chr(code)) for code in range(_ASCII)]


def traits(codes: NDArray[Any]) -> NDArray[np.uint8]:
    """(0x110000,) the bits of characters, set at least for those in `codes`."""
    if codes.dtype != np.uint8:  # uint8 means ASCII
        rare = codes[codes >= _ASCII]
        for code in np.unique(rare[_traits[rare] == 0]).tolist():
            _traits[code] = _traits_of(chr(code))
    return _traits


def at_starts(codes: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """(W,) the bits of the first character of each word."""
    first = codes[starts]
    found: NDArray[np.uint8] = traits(first)[first]
    return found


def at_ends(codes: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint8]:
    """(W,) the bits of the last character of each word, ignoring accents."""
    last = codes[ends - 1]
    found: NDArray[np.uint8] = traits(last)[last]
    at, back = np.flatnonzero(found & EXTENDS), 1
    while len(at):
        back += 1
        at = at[ends[at] - starts[at] >= back]
        before = codes[ends[at] - back]
        found[at] = traits(before)[before]
        at = at[(found[at] & EXTENDS) > 0]
    return found
