"""Scripts for derived languages: a one-to-one map from the letters there are to letters of scripts few texts use.

Letters with case go to letters with case, upper to upper; a-z, then others by their code, take the letters of the
chosen script and then of the next ones. Letters without case go to syllabaries, Han characters to rare Han characters,
so that they still count as what they are where words are split. A letter that is itself aimed at goes the way back:
the map exchanges letters, so doing it twice does nothing, and no two words can become one.
Marks, digits and punctuation stay. Letters beyond what the scripts hold (rare ones) stay too.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Script = Literal["armenian", "cherokee", "deseret", "georgian"]

# Pairs of an upper- and a lower-case letter: (first upper, first lower, how many, step from letter to letter).
_CASED: dict[Script, tuple[tuple[int, int, int], ...]] = {
    "armenian": ((0x531, 0x561, 38),),
    "cherokee": ((0x13A0, 0xAB70, 80), (0x13F0, 0x13F8, 6)),
    "deseret": ((0x10400, 0x10428, 40),),
    "georgian": ((0x1C90, 0x10D0, 43),),
}
_MORE = ((0x104B0, 0x104D8, 36), (0x118A0, 0x118C0, 32), (0x1E900, 0x1E922, 34), (0x16E40, 0x16E60, 32))
_SOURCE_CASED = (
    *(range(0x61, 0x7B), range(0xDF, 0x180), range(0x3AC, 0x3D0), range(0x430, 0x460), range(0x1EA0, 0x1F00)),
    *(range(0x1A0, 0x1B1), range(0x460, 0x530), range(0x1E00, 0x1EA0)),
)
_HANGUL = range(0xAC00, 0xD7A4)
_SOURCE_PLAIN = (range(0x5D0, 0x700), range(0x900, 0x10A0), range(0x1200, 0x1380), range(0x1780, 0x17B4), _HANGUL)
_SYLLABLES = (
    *(range(0x1401, 0x166D), range(0x12000, 0x1239A), range(0x13000, 0x1342F), range(0x14400, 0x14647)),
    *(range(0x17000, 0x187F8), range(0x18800, 0x18CD6), range(0x16800, 0x16A39), range(0x1B170, 0x1B2FC)),
    *(range(0x10600, 0x10737), range(0x10000, 0x100FB), range(0x12480, 0x12544), range(0xA500, 0xA60C)),
)
_HAN, _RARE_HAN = range(0x4E00, 0xA000), 0x20000
_KANA, _RARE_KANA = range(0x3041, 0x30FF), 0x26000


@cache
def letter_map(script: Script) -> dict[int, int]:
    """Code point -> code point, for `str.translate`; its own opposite.

    >>> "Ab é1!".translate(letter_map("armenian")).translate(letter_map("armenian"))
    'Ab é1!'
    """
    first: dict[int, int] = {}
    first.update(_cased(script))
    sources, targets = _without_case(_SOURCE_PLAIN), _without_case(_SYLLABLES)
    first.update(zip(sources, targets, strict=False))
    for run, start in ((_HAN, _RARE_HAN), (_KANA, _RARE_KANA)):
        first.update({code: start + code - run[0] for code in _without_case([run])})
    return first | {new: old for old, new in first.items()}


def _without_case(runs: Iterable[range]) -> list[int]:
    return [code for run in runs for code in run if unicodedata.category(chr(code)) == "Lo"]


def exchanged_letters(words: Sequence[str], script: Script) -> list[str]:
    """Words with their letters exchanged; no word holds a line feed."""
    text = "\n".join([*words, ""]).encode("utf-32-le", "surrogatepass")
    codes = letter_table(script)[np.frombuffer(text, np.uint32)]
    return codes.tobytes().decode("utf-32-le", "surrogatepass").split("\n")[:-1]


@cache
def letter_table(script: Script) -> NDArray[np.uint32]:
    """(0x110000,) the code point that each is exchanged for; most stay."""
    table = np.arange(0x110000, dtype=np.uint32)
    letters = letter_map(script)
    table[list(letters)] = list(letters.values())
    return table


def _cased(script: Script) -> dict[int, int]:
    own = _CASED[script]
    others = [run for name, runs in _CASED.items() if name != script for run in runs]
    targets = [(up + i, low + i) for up, low, count in (*own, *others, *_MORE) for i in range(count)]
    sources = [pair for run in _SOURCE_CASED for code in run if (pair := _pair(code))]
    ours: dict[int, int] = {}
    for (upper, lower), (new_upper, new_lower) in zip(sources, targets, strict=False):
        ours[upper], ours[lower] = new_upper, new_lower
    return ours


def _pair(lower: int) -> tuple[int, int] | None:
    """A small letter with its capital, where each is the other's only one."""
    letter = chr(lower)
    capital = letter.upper()
    return (ord(capital), lower) if len(capital) == 1 and capital != letter and capital.lower() == letter else None
