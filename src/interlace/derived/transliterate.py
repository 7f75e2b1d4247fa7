"""Replace every word type by a new one, one to one: the language in another script (T_trans of Tang et al. 2022)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from hashlib import shake_128
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import pair_uniform, relettered, respelled

if TYPE_CHECKING:
    from interlace.text import Text

Script = Literal["armenian", "cherokee", "deseret", "georgian"]
_CACHED_WORDS = 1 << 18  # some 90 MB


class Transliterate(Transformation):
    """Replaces letter by letter by another script that the text does not use, or word by word by opaque words.

    The paper copies the vocabulary, so that the two languages have no common words. `script` has this effect if
    subwords are learned from both languages: letters keep case and context, so both are segmented alike. With `ids`,
    related words (`walk`, `walked`) no longer look related. Words without a letter (punctuation, digits) are shared,
    unless `keep_marks` is off.
    """

    to: Literal["script", "ids"] = Field(
        "script", description="What words become: the same letters in another script, or unrelated words (Tang et al.)."
    )
    script: Script = Field("armenian", description="The script for a-z; rarer letters use further scripts.")
    share: float = Field(
        1.0, ge=0, le=1, description="Share of the word types that change, drawn by key; the others are shared."
    )
    keep_marks: bool = Field(
        True,
        description="With `ids`: words without a letter stay. The paper's copy of the vocabulary changes them too.",
    )

    @property
    def invertible(self) -> bool:
        """Always."""
        return True

    @property
    def respells_punctuation(self) -> bool:
        """Whether punctuation marks become opaque words."""
        return self.to == "ids" and not self.keep_marks

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines; the replacement of a word depends on the word and the key alone."""
        if self.to == "script" and self.share >= 1:
            return relettered(text, letter_table(self.script))  # faster: no types needed

        def spell(words: Sequence[str]) -> list[str]:
            new = self.spellings(words, key)
            if self.share >= 1:
                return new
            chosen = (pair_uniform(words, new, key) < self.share).tolist()
            return [other if taken else one for one, other, taken in zip(words, new, chosen, strict=True)]

        return respelled(text, spell)

    def spellings(self, words: Sequence[str], key: int) -> list[str]:
        """Return the replacement of each word."""
        if self.to == "script":
            text = "\n".join([*words, ""]).encode("utf-32-le", "surrogatepass")  # no word contains a line feed
            codes = letter_table(self.script)[np.frombuffer(text, np.uint32)]
            return codes.tobytes().decode("utf-32-le", "surrogatepass").split("\n")[:-1]
        return list(map(_opaque(key, self.keep_marks), words))


# ---- letters ----

# A one-to-one map from letters to letters of rarely used scripts. Letters with case map to letters with case; a-z, then
# others by code point, take the letters of the chosen script and then of the next ones. Letters without case map to
# syllabaries, Han characters to rare Han characters, so that word tokenizers treat them alike. Target letters map back:
# the map is its own inverse, and no two words can become one. Marks, digits, punctuation and letters beyond the
# capacity of the scripts stay.
# Pairs of upper- and lower-case letters: (first upper, first lower, count).
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
    """Return code point -> code point, for `str.translate`; its own inverse.

    >>> "Ab é1!".translate(letter_map("armenian")).translate(letter_map("armenian"))
    'Ab é1!'
    """
    others = [run for name, runs in _CASED.items() if name != script for run in runs]
    targets = [(up + i, low + i) for up, low, count in (*_CASED[script], *others, *_MORE) for i in range(count)]
    sources = [pair for run in _SOURCE_CASED for code in run if (pair := _with_capital(code))]
    first: dict[int, int] = {}
    for pair, new in zip(sources, targets, strict=False):
        first.update(zip(pair, new, strict=True))
    first.update(zip(_without_case(_SOURCE_PLAIN), _without_case(_SYLLABLES), strict=False))
    for run, start in ((_HAN, _RARE_HAN), (_KANA, _RARE_KANA)):
        first.update({code: start + code - run[0] for code in _without_case([run])})
    return first | {new: old for old, new in first.items()}


def _with_capital(lower: int) -> tuple[int, int] | None:
    """Return a lower-case letter behind its upper-case one, if each has only the other."""
    letter = chr(lower)
    capital = letter.upper()
    return (ord(capital), lower) if len(capital) == 1 and capital != letter and capital.lower() == letter else None


def _without_case(runs: Iterable[range]) -> list[int]:
    return [code for run in runs for code in run if unicodedata.category(chr(code)) == "Lo"]


@cache
def letter_table(script: Script) -> NDArray[np.uint32]:
    """(0x110000,) the replacement of each code point; most stay."""
    table = np.arange(0x110000, dtype=np.uint32)
    letters = letter_map(script)
    table[list(letters)] = list(letters.values())
    return table


# ---- opaque words ----

_FIRST_SYLLABLE = 0x1401  # Canadian syllabics: 256 letters without case, in a script that writes blanks between words
_ROUNDS = 4  # from four rounds on, both halves depend on all of the word (Luby and Rackoff 1988)
_SYLLABICS = "".join(map(chr, range(_FIRST_SYLLABLE, _FIRST_SYLLABLE + 256)))
_SYLLABIC_SET = frozenset(_SYLLABICS)


class OpaqueWords:
    """A keyed one-to-one map from words to runs of syllables that show nothing of them.

    A word's bytes pass through a Feistel network, in which each byte depends on all others, and are written as one
    syllable per byte. So `walk` and `walked` share nothing, no two words become one, and the map needs no memory. Words
    of these syllables are mapped back: the map exchanges words.
    """

    def __init__(self, key: int) -> None:
        self._key = key.to_bytes(8, "little")
        order = sorted(range(256), key=lambda byte: self._bits(b"byte", bytes([byte]), 8))
        self._there = bytes(order)  # a word of one byte has no halves
        self._back = bytes(order.index(byte) for byte in range(256))

    def __call__(self, word: str) -> str:
        """Return the word for which this one is exchanged."""
        if word and _SYLLABIC_SET.issuperset(word):
            data = bytes(ord(letter) - _FIRST_SYLLABLE for letter in word)
            for step in reversed(range(_ROUNDS)):
                data = self._round(data, step)
            try:
                original = data.translate(self._back).decode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                return word  # the image of no word
            return word if _SYLLABIC_SET.issuperset(original) else original
        data = word.encode("utf-8", "surrogatepass").translate(self._there)
        for step in range(_ROUNDS):
            data = self._round(data, step)
        return data.decode("latin-1").translate(_SYLLABICS)

    def _round(self, data: bytes, step: int) -> bytes:
        """Change one half by a hash of the other; its own inverse."""
        half = len(data) // 2
        left, right = data[:half], data[half:]
        if step % 2:
            return left + _xor(right, self._bits(b"%d" % step, left, len(right))) if left else data
        return _xor(left, self._bits(b"%d" % step, right, half)) + right

    def _bits(self, step: bytes, data: bytes, count: int) -> bytes:
        return shake_128(self._key + step + b"\0" + data).digest(count)


def _xor(one: bytes, other: bytes) -> bytes:
    size = len(one)
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).to_bytes(size, "little")


@lru_cache(maxsize=2)
def _opaque(key: int, keep_marks: bool) -> Callable[[str], str]:
    """Return the map of words, with a cache: the parts of a text share most words."""
    opaque = OpaqueWords(key)

    @lru_cache(maxsize=_CACHED_WORDS)
    def exchanged(word: str) -> str:
        if keep_marks and not any(map(str.isalpha, word)):
            return word
        other = opaque(word)
        # a word of syllables may map back to what is no word, or is kept: then it stays
        is_word = other == other.strip() and "\n" not in other
        return other if is_word and (not keep_marks or any(map(str.isalpha, other))) else word

    return exchanged
