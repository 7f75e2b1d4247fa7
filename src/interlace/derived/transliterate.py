"""Replace every word type by a new one, one to one: the language in another script (T_trans of Tang et al. 2022)."""

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import relettered
from interlace.text import Text
from interlace.text.running import is_tight

_CasedPair = tuple[int, int]  # the code points of a letter's upper and lower case
_Kind = tuple[str | int | bool, ...]
_ASCII = 128
_LAST_SCRIPT = 0xE0000  # control characters, variation selectors and private characters follow


class Transliterate(Transformation):
    """Replaces character by character by another script (Armenian) that the text does not use.

    The paper copies the vocabulary (table 9 maps even the full stop), so that the two languages have no common words.
    This has the same effect if subwords are learned from both languages: letters keep case and context, and marks and
    digits become others, so both are segmented alike.
    """

    keep_punctuation: bool = Field(
        False,
        description="Whether punctuation marks and symbols stay; the paper maps them too (table 9).",
    )
    keep_digits: bool = Field(False, description="Whether digits stay; the paper maps them too.")

    @property
    def shares_words(self) -> bool:
        """Whether a setting keeps marks or digits."""
        return self.keep_punctuation or self.keep_digits

    @property
    def table(self) -> NDArray[np.uint32]:
        """(0x110000,) the replacement of each code point."""
        return character_table(self.keep_punctuation, self.keep_digits)

    def derive(self, text: Text, key: int) -> DerivedText:  # noqa: ARG002 - nothing is random
        """Return the derived lines."""
        return relettered(text, self.table)

    def spellings(self, words: Sequence[str]) -> list[str]:
        """Return the replacement of each word."""
        text = "\n".join([*words, ""]).encode(
            "utf-32-le", "surrogatepass"
        )  # no word contains a line feed
        codes = self.table[np.frombuffer(text, np.uint32)]
        return codes.tobytes().decode("utf-32-le", "surrogatepass").split("\n")[:-1]


# ---- characters ----

# A one-to-one map from characters to rarely used ones. Letters with case map to letters with case; a-z, then others by
# code point, take Armenian letters and then those of the next scripts. Letters without case map to syllabaries,
# Han characters to rare Han characters, digits to digits and marks to marks, so that tokenizers treat them alike: marks
# and symbols of ASCII, which BERT separates, to punctuation; others to punctuation, symbols or wide symbols. Targets
# map back: the map is its own inverse, and no two words can become one. Characters without a target in these tables,
# such as combining marks, map to others of their kind (see `_remaining_map`). Control characters stay.
# Pairs of upper- and lower-case letters: (first upper, first lower, count).
_CASED = (
    (0x531, 0x561, 38),  # Armenian
    (0x13A0, 0xAB70, 80),
    (0x13F0, 0x13F8, 6),
    (0x10400, 0x10428, 40),
    (0x1C90, 0x10D0, 43),
    (0x2C00, 0x2C30, 47),
    (0x104B0, 0x104D8, 36),
    (0x118A0, 0x118C0, 32),
    (0x1E900, 0x1E922, 34),
    (0x16E40, 0x16E60, 32),
    (0x10C80, 0x10CC0, 51),
)
_SOURCE_CASED = (
    *(
        range(0x61, 0x7B),
        range(0xDF, 0x180),
        range(0x3AC, 0x3D0),
        range(0x430, 0x460),
        range(0x1EA0, 0x1F00),
    ),
    *(range(0x1A0, 0x1B1), range(0x460, 0x530), range(0x1E00, 0x1EA0)),
)
_HANGUL = range(0xAC00, 0xD7A4)
_SOURCE_PLAIN = (
    range(0x5D0, 0x700),
    range(0x900, 0x10A0),
    range(0x1200, 0x1380),
    range(0x1780, 0x17B4),
    _HANGUL,
)
_SYLLABLES = (
    *(
        range(0x1401, 0x166D),
        range(0x12000, 0x1239A),
        range(0x13000, 0x1342F),
        range(0x14400, 0x14647),
    ),
    *(
        range(0x17000, 0x187F8),
        range(0x18800, 0x18CD6),
        range(0x16800, 0x16A39),
        range(0x1B170, 0x1B2FC),
    ),
    *(
        range(0x10600, 0x10737),
        range(0x10000, 0x100FB),
        range(0x12480, 0x12544),
        range(0xA500, 0xA60C),
    ),
    range(0x1E800, 0x1E8C5),
)
_HAN, _RARE_HAN = range(0x4E00, 0xA000), 0x20000
_KANA, _RARE_KANA = range(0x3041, 0x30FF), 0x26000
# Letters of scripts with case that have no pair, or for which no pair is left.
_SOURCE_UNPAIRED = (range(0xAA, 0x530), range(0x1D00, 0x2000))
_UNPAIRED = (
    *(
        range(0x16F00, 0x16F4B),
        range(0x1BC00, 0x1BC6B),
        range(0x10280, 0x1029D),
        range(0x102A0, 0x102D1),
    ),
    *(
        range(0x10300, 0x10320),
        range(0x10350, 0x10376),
        range(0x10380, 0x1039E),
        range(0x103A0, 0x103C4),
    ),
    *(
        range(0x10480, 0x1049E),
        range(0x10500, 0x10528),
        range(0x10530, 0x10564),
        range(0x11003, 0x11038),
    ),
    *(
        range(0x110D0, 0x110E9),
        range(0x11183, 0x111B3),
        range(0x11600, 0x11630),
        range(0x11680, 0x116AB),
    ),
    *(range(0xA6A0, 0xA6E6), range(0x2D80, 0x2DDF), range(0xAB01, 0xAB2F)),
)
_SOURCE_DIGITS = (0x30, 0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66)
_DIGITS = (
    0x104A0,
    0x11066,
    0x110F0,
    0x11136,
    0x111D0,
    0x112F0,
    0x114D0,
    0x11650,
    0x116C0,
    0x118E0,
    0x16A60,
    0x16B50,
)
_SOURCE_NUMBERS = (range(0xB2, 0xBF), range(0x2070, 0x218C), range(0x2460, 0x249C))
_NUMBERS = (range(0x12400, 0x1246F), range(0x10107, 0x10134))
_SOURCE_MARKS = (
    *(
        range(0x21, 0x7F),
        range(0xA0, 0x700),
        range(0x2010, 0x2190),
        range(0x2600, 0x2800),
        range(0x2190, 0x2270),
    ),
    *(range(0x3001, 0x3031), range(0xFF01, 0xFF66), range(0x900, 0xE00)),
)
_PUNCTUATION = (
    *(
        range(0x115C1, 0x115D8),
        range(0xA9C1, 0xA9CE),
        range(0x11047, 0x1104E),
        range(0x11238, 0x1123E),
    ),
    *(
        range(0xA6F2, 0xA6F8),
        range(0x12470, 0x12474),
        range(0x10100, 0x10103),
        range(0x1DA87, 0x1DA8C),
    ),
    *(
        range(0x2E00, 0x2E2F),
        range(0x110BE, 0x110C2),
        range(0x11140, 0x11144),
        range(0x111C5, 0x111C9),
    ),
    *(
        range(0x11660, 0x1166D),
        range(0x11A3F, 0x11A47),
        range(0x11A9A, 0x11AA3),
        range(0x1144B, 0x11450),
    ),
    *(
        range(0x1145A, 0x1145E),
        range(0x11641, 0x11644),
        range(0x11C41, 0x11C46),
        range(0x16B37, 0x16B3C),
    ),
    *(
        range(0x16E97, 0x16E9B),
        range(0x1173C, 0x1173F),
        range(0x111DD, 0x111E0),
        range(0x11174, 0x11176),
    ),
)
_SYMBOLS = (
    range(0x1D800, 0x1DA00),
    range(0x1D000, 0x1D0F6),
    range(0x1D300, 0x1D357),
    range(0x1F030, 0x1F094),
)
_WIDE_SYMBOLS = (range(0x1F400, 0x1F43F), range(0x1F442, 0x1F4FD))


_COMMON_CLASSES = (7, 9, 220, 230)  # canonical combining classes of marks of many scripts
_SELECTORS = (
    "VARIATION SELECTOR",
    "COMBINING GRAPHEME JOINER",
    "MONGOLIAN FREE VARIATION",
)  # no visible marks
_WITH_CASE = ("L", "case")


@cache
def letter_map() -> dict[int, int]:
    """Return code point -> code point of letters, for `str.translate`; its own inverse.

    >>> "Ab é1!".translate(letter_map()).translate(letter_map())
    'Ab é1!'
    """
    targets: list[_CasedPair] = []
    for first_upper, first_lower, count in _CASED:
        targets += [(first_upper + place, first_lower + place) for place in range(count)]
    mapping: dict[int, int] = {}
    sources = list(_cased_sources())
    for source, target in zip(sources, targets[: len(sources)], strict=True):
        mapping.update(zip(source, target, strict=True))
    unpaired = [
        code for code in _of("L", *_SOURCE_UNPAIRED) if code not in mapping and not _has_case(code)
    ]
    mapping.update(_pairs(unpaired, _of("Lo", *_UNPAIRED)))
    mapping.update(_pairs(_of("Lo", *_SOURCE_PLAIN), _of("Lo", *_SYLLABLES)))
    for codes, first_rare in ((_HAN, _RARE_HAN), (_KANA, _RARE_KANA)):
        mapping.update({code: first_rare + code - codes[0] for code in _of("Lo", codes)})
    return _both_ways(mapping)


def _cased_sources() -> Iterator[_CasedPair]:
    for codes in _SOURCE_CASED:
        for code in codes:
            pair = _with_capital(code)
            if pair is not None:
                yield pair


def _digit_map() -> dict[int, int]:
    mapping: dict[int, int] = {}
    for source_zero, target_zero in zip(_SOURCE_DIGITS, _DIGITS, strict=True):
        mapping.update({source_zero + digit: target_zero + digit for digit in range(10)})
    mapping.update(_pairs(_of("N", *_SOURCE_NUMBERS), _of("N", *_NUMBERS)))
    return _both_ways(mapping)


def _mark_map() -> dict[int, int]:
    """Map marks and symbols: those of ASCII to punctuation, others to punctuation, symbols or wide symbols."""
    targets = {
        "P": _of("P", *_PUNCTUATION),
        "S": _of("S", *_SYMBOLS),
        "wide": _of("S", *_WIDE_SYMBOLS),
    }
    sources: dict[str, list[int]] = {kind: [] for kind in targets}
    for codes in _SOURCE_MARKS:
        for code in codes:
            category = unicodedata.category(chr(code))[0]
            if category not in "PS":
                continue
            if unicodedata.east_asian_width(chr(code)) in "WF":
                sources["wide"].append(code)
            elif code < _ASCII:
                sources["P"].append(code)
            else:
                sources[category].append(code)
    mapping: dict[int, int] = {}
    for kind, codes_of_kind in sources.items():
        mapping.update(_pairs(codes_of_kind, targets[kind]))
    return _both_ways(mapping)


def _remaining_map(mapped: Collection[int]) -> dict[int, int]:
    """Map the letters, marks, numbers, punctuation and symbols that are not in `mapped`: no table lists them.

    Of each kind, in the order of code points, the first half maps to the second, in which rare scripts are. The last
    character of an odd number stays, and so do characters that normalization replaces.
    """
    kinds: dict[_Kind, list[int]] = defaultdict(list)
    for code in range(_ASCII, _LAST_SCRIPT):
        if code in mapped:
            continue
        kind = _kind(code)
        if kind is not None:
            kinds[kind].append(code)
    mapping: dict[int, int] = {}
    for kind, codes in kinds.items():
        half = len(codes) // 2
        for old, new in zip(codes[:half], codes[half : 2 * half], strict=True):
            mapping[old] = new
            if kind == _WITH_CASE:
                mapping[ord(chr(old).upper())] = ord(chr(new).upper())
    return _both_ways(mapping)


def _kind(code: int) -> _Kind | None:
    """Return what a character has in common with its replacement; None for characters that stay."""
    character = chr(code)
    if not unicodedata.is_normalized("NFC", character):
        return None
    category = unicodedata.category(character)
    match category[0]:
        case "L":
            if not _has_case(code):
                return "L", is_tight(character)
            if _with_capital(code) is None:  # a capital goes with its lower-case letter
                return None
            return _WITH_CASE
        case "M":
            return _mark_kind(character)
        case "N":
            return "N", is_tight(character), unicodedata.decimal(character, -1)
        case "P" | "S":
            return category[0], is_tight(character)
    return None


def _mark_kind(mark: str) -> _Kind | None:
    if unicodedata.name(mark).startswith(_SELECTORS):
        return None
    # Normalization sorts marks by their class. Marks of a class of one script map to class 0, which stays in place.
    combining_class = unicodedata.combining(mark)
    if combining_class not in _COMMON_CLASSES:
        combining_class = 0
    return unicodedata.category(mark), is_tight(mark), combining_class


def _pairs(sources: Sequence[int], targets: Sequence[int]) -> list[tuple[int, int]]:
    """Return each source with its target; raise ValueError if there are fewer targets than sources."""
    return list(zip(sources, targets[: len(sources)], strict=True))


def _both_ways(mapping: dict[int, int]) -> dict[int, int]:
    return mapping | {new: old for old, new in mapping.items()}


def _with_capital(lower: int) -> _CasedPair | None:
    """Return a lower-case letter behind its upper-case one, if each has only the other."""
    letter = chr(lower)
    capital = letter.upper()
    if len(capital) != 1 or capital == letter or capital.lower() != letter:
        return None
    return ord(capital), lower


def _has_case(code: int) -> bool:
    """Return whether a letter is one of a pair of an upper- and a lower-case letter."""
    lower = chr(code).lower()
    if len(lower) != 1:
        return False
    pair = _with_capital(ord(lower))
    return pair is not None and code in pair


def _of(category: str, *runs: range) -> list[int]:
    codes: list[int] = []
    for run in runs:
        codes += [code for code in run if unicodedata.category(chr(code)).startswith(category)]
    return codes


@cache
def character_table(keep_punctuation: bool, keep_digits: bool) -> NDArray[np.uint32]:
    """(0x110000,) the replacement of each code point; most stay."""
    mapping = letter_map() | _mark_map() | _digit_map()
    mapping |= _remaining_map(mapping)
    kept: set[str] = set()
    if keep_punctuation:
        kept |= {"P", "S"}
    if keep_digits:
        kept.add("N")
    new = {
        old: target
        for old, target in mapping.items()
        if unicodedata.category(chr(old))[0] not in kept
    }
    table = np.arange(0x110000, dtype=np.uint32)
    table[list(new)] = list(new.values())
    return table
