"""Whether a blank stands before a phrase that has come to a new place.

Where the place and the phrase agree, that is it: there was a blank before the words it replaces, and one before the
phrase in its own sentence. Else the characters that meet decide. "young, white" whose ", white" becomes "weiße" needs a
blank; a place behind a bracket needs none, nor do letters of a script without blanks that follow each other.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.text.scripts import UNSPACED, is_unspaced, scripts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.data.encoding import Surfaces

    Characters = NDArray[np.int8]

MARK, SPACED, UNSPACED_LETTER, UNKNOWN = range(4)  # what a character is; digits and signs on letters are letters


def blank_before(place: Any, phrase: Any, before: Any, after: Any) -> Any:
    """Whether a blank stands before a moved phrase; of one phrase, or of arrays.

    place: whether one stands before the words that it replaces. phrase: whether one does in its own sentence, as it
        would before a line's first word. before, after: the characters that meet.
    """
    among_letters = (before == SPACED) & (after == SPACED)
    return (place & (phrase | (after != MARK))) | (phrase & among_letters)


@lru_cache(maxsize=1 << 16)
def character_kind(character: str) -> int:
    """MARK, SPACED or UNSPACED_LETTER."""
    if unicodedata.category(character)[0] not in "LNM":
        return MARK
    return UNSPACED_LETTER if is_unspaced(character) else SPACED


@lru_cache(maxsize=256)
def language_kind(language: str) -> int:
    """What a letter of a language is where its character is not known."""
    return UNSPACED_LETTER if scripts_of(language) & UNSPACED else SPACED


def subword_kinds(surfaces: Surfaces) -> tuple[Characters, Characters]:
    """What the first and the last character of each subword is; UNKNOWN where it is cut in two, or there is none."""
    spelled = surfaces.spelled
    first, last = (np.full(len(spelled), UNKNOWN, np.int8) for _ in range(2))
    some = np.flatnonzero(spelled.lengths > 0)
    if surfaces.by_bytes:
        texts = [bytes(spelled[number]).decode("utf-8", "replace") for number in some.tolist()]
        first[some] = [_known(text[0]) for text in texts]
        last[some] = [_known(text[-1]) for text in texts]
        return first, last
    for kinds, at in ((first, spelled.offsets[:-1]), (last, spelled.offsets[1:] - 1)):
        points, places = np.unique(spelled.values[at[some]], return_inverse=True)
        kinds[some] = np.array([_known(chr(point)) for point in points.tolist()], np.int8)[places]
    return first, last


def _known(character: str) -> int:
    """The kind of a character; UNKNOWN for what stands for none."""
    return UNKNOWN if character in "\ufffd\U0010ffff" else character_kind(character)
