"""Replace every word type by a new one, one to one: the language in another script (T_trans of Tang et al. 2022)."""

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import relettered
from interlace.text import Text
from interlace.text.characters import code_points
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
    keep_digits: bool = Field(
        False, description="Whether digits stay; the paper maps them too."
    )

    def derive(self, text: Text, key: int) -> DerivedText:  # noqa: ARG002 - nothing is random
        """Return the derived lines."""
        return relettered(text, character_table(self.keep_punctuation, self.keep_digits))

    def spellings(self, words: Sequence[str]) -> list[str]:
        """Return the replacement of each word."""
        table = character_table(self.keep_punctuation, self.keep_digits)
        codes = table[code_points(words)]  # no word contains a line feed
        text: str = codes.tobytes().decode("utf-32-le", "surrogatepass")
        return text.split("\n")[:-1]


# ---- characters ----

# A one-to-one map from characters to rarely used ones. Letters with case map to letters with case; a-z, then others by
# code point, take Armenian letters and then those of the next scripts. Letters without case map to syllabaries,
# Han characters to rare Han characters, digits to digits and marks to marks, so that tokenizers treat them alike: marks
# and symbols of ASCII, which BERT separates, to punctuation; others to punctuation, symbols or wide symbols. Targets
# map back: the map is its own inverse, and no two words can become one. Characters without a target in these tables,
# such as combining marks, map to others of their kind (see `_remaining_map`). Control characters stay.


def _ranges(codes: str) -> tuple[range, ...]:
    """Read ranges of code points as Unicode's data files write them: `0061..007A`, both ends included."""
    runs = []
    for run in codes.split():
        start, _, stop = run.partition("..")
        runs.append(range(int(start, 16), int(stop, 16) + 1))
    return tuple(runs)


# Letters with case: runs of upper-case letters, each with the run of their lower-case letters.
_UPPER = _ranges("""
    0531..0556 13A0..13EF 13F0..13F5 10400..10427 1C90..1CBA 2C00..2C2E 104B0..104D3
    118A0..118BF 1E900..1E921 16E40..16E5F 10C80..10CB2
""")
_LOWER = _ranges("""
    0561..0586 AB70..ABBF 13F8..13FD 10428..1044F 10D0..10FA 2C30..2C5E 104D8..104FB
    118C0..118DF 1E922..1E943 16E60..16E7F 10CC0..10CF2
""")
_SOURCE_CASED = _ranges("""
    0061..007A 00DF..017F 03AC..03CF 0430..045F 1EA0..1EFF 01A0..01B0 0460..052F 1E00..1E9F
""")
_SOURCE_PLAIN = _ranges("05D0..06FF 0900..109F 1200..137F 1780..17B3 AC00..D7A3")
_SYLLABLES = _ranges("""
    1401..166C 12000..12399 13000..1342E 14400..14646 17000..187F7 18800..18CD5 16800..16A38
    1B170..1B2FB 10600..10736 10000..100FA 12480..12543 A500..A60B 1E800..1E8C4
""")
_HAN = range(0x4E00, 0xA000)
_RARE_HAN = 0x20000
_KANA = range(0x3041, 0x30FF)
_RARE_KANA = 0x26000
# Letters of scripts with case that have no pair, or for which no pair is left.
_SOURCE_UNPAIRED = _ranges("00AA..052F 1D00..1FFF")
_UNPAIRED = _ranges("""
    16F00..16F4A 1BC00..1BC6A 10280..1029C 102A0..102D0 10300..1031F 10350..10375 10380..1039D
    103A0..103C3 10480..1049D 10500..10527 10530..10563 11003..11037 110D0..110E8 11183..111B2
    11600..1162F 11680..116AA A6A0..A6E5 2D80..2DDE AB01..AB2E
""")
# The digits 0 to 9 of scripts.
_SOURCE_DIGITS = _ranges("""
    0030..0039 0660..0669 06F0..06F9 0966..096F 09E6..09EF 0A66..0A6F 0AE6..0AEF 0B66..0B6F
    0BE6..0BEF 0C66..0C6F 0CE6..0CEF 0D66..0D6F
""")
_DIGITS = _ranges("""
    104A0..104A9 11066..1106F 110F0..110F9 11136..1113F 111D0..111D9 112F0..112F9 114D0..114D9
    11650..11659 116C0..116C9 118E0..118E9 16A60..16A69 16B50..16B59
""")
_SOURCE_NUMBERS = _ranges("00B2..00BE 2070..218B 2460..249B")
_NUMBERS = _ranges("12400..1246E 10107..10133")
_SOURCE_MARKS = _ranges("""
    0021..007E 00A0..06FF 2010..218F 2600..27FF 2190..226F 3001..3030 FF01..FF65 0900..0DFF
""")
_PUNCTUATION = _ranges("""
    115C1..115D7 A9C1..A9CD 11047..1104D 11238..1123D A6F2..A6F7 12470..12473 10100..10102
    1DA87..1DA8B 2E00..2E2E 110BE..110C1 11140..11143 111C5..111C8 11660..1166C 11A3F..11A46
    11A9A..11AA2 1144B..1144F 1145A..1145D 11641..11643 11C41..11C45 16B37..16B3B 16E97..16E9A
    1173C..1173E 111DD..111DF 11174..11175
""")
_SYMBOLS = _ranges("1D800..1D9FF 1D000..1D0F5 1D300..1D356 1F030..1F093")
_WIDE_SYMBOLS = _ranges("1F400..1F43E 1F442..1F4FC")

_COMMON_CLASSES = (7, 9, 220, 230)  # canonical combining classes of marks of many scripts
# no visible marks
_SELECTORS = (
    "VARIATION SELECTOR",
    "COMBINING GRAPHEME JOINER",
    "MONGOLIAN FREE VARIATION",
)
_WITH_CASE = ("L", "case")


@cache
def _character_map() -> dict[int, int]:
    """Return code point -> code point: first of the tables above, then of all other characters; its own inverse."""
    mapping = _cased_map()
    unpaired = []
    for code in _of("L", *_SOURCE_UNPAIRED):
        if code not in mapping and not _has_case(code):
            unpaired.append(code)
    mapping |= zip(unpaired, _of("Lo", *_UNPAIRED), strict=False)
    mapping |= zip(_of("Lo", *_SOURCE_PLAIN), _of("Lo", *_SYLLABLES), strict=False)
    mapping |= {code: code - _HAN.start + _RARE_HAN for code in _of("Lo", _HAN)}
    mapping |= {code: code - _KANA.start + _RARE_KANA for code in _of("Lo", _KANA)}
    for digits, target_digits in zip(_SOURCE_DIGITS, _DIGITS, strict=True):
        mapping |= zip(digits, target_digits, strict=True)
    mapping |= zip(_of("N", *_SOURCE_NUMBERS), _of("N", *_NUMBERS), strict=False)
    mapping |= _mark_map()
    mapping |= _inverse(mapping)
    remaining = _remaining_map(mapping)
    return mapping | remaining | _inverse(remaining)


def _inverse(mapping: Mapping[int, int]) -> dict[int, int]:
    return {new: old for old, new in mapping.items()}


def _cased_map() -> dict[int, int]:
    """Map letters with case, in the order of the tables, as long as there are targets."""
    targets: list[_CasedPair] = []
    for upper, lower in zip(_UPPER, _LOWER, strict=True):
        targets += zip(upper, lower, strict=True)
    sources: list[_CasedPair] = []
    for codes in _SOURCE_CASED:
        sources += filter(None, map(_with_capital, codes))
    mapping: dict[int, int] = {}
    for source, target in zip(sources, targets, strict=False):
        mapping |= zip(source, target, strict=True)
    return mapping


def _mark_map() -> dict[int, int]:
    """Map punctuation and symbols to punctuation, symbols and wide symbols."""
    mapping: dict[int, int] = {}
    punctuation = iter(_of("P", *_PUNCTUATION))
    symbols = iter(_of("S", *_SYMBOLS))
    wide_symbols = iter(_of("S", *_WIDE_SYMBOLS))
    for code in _of("PS", *_SOURCE_MARKS):
        mark = chr(code)
        if unicodedata.east_asian_width(mark) in "WF":
            targets = wide_symbols
        elif mark.isascii() or unicodedata.category(mark).startswith("P"):
            targets = punctuation
        else:
            targets = symbols
        mapping[code] = next(targets)
    return mapping


def _remaining_map(mapped: Collection[int]) -> dict[int, int]:
    """Map the letters, marks, numbers, punctuation and symbols that are not in `mapped`: no table lists them.

    Of each kind, in the order of code points, the first half maps to the second, in which rare scripts are. The last
    character of an odd number stays, and so do characters that normalization replaces.
    """
    kinds: dict[_Kind, list[int]] = defaultdict(list)
    for code in range(_ASCII, _LAST_SCRIPT):
        kind = None if code in mapped else _kind(code)
        if kind is not None:
            kinds[kind].append(code)
    mapping: dict[int, int] = {}
    for kind, codes in kinds.items():
        half = len(codes) // 2
        for old, new in zip(codes, codes[half : 2 * half], strict=False):
            mapping[old] = new
            if kind == _WITH_CASE:
                capital = chr(old).upper()
                new_capital = chr(new).upper()
                mapping[ord(capital)] = ord(new_capital)
    return mapping


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


def _of(categories: str, *runs: range) -> list[int]:
    """Return the code points of a category such as "Lo", or of several main categories such as "PS"."""
    main_categories = tuple(categories) if categories.isupper() else categories
    codes: list[int] = []
    for run in runs:
        codes += [
            code for code in run if unicodedata.category(chr(code)).startswith(main_categories)
        ]
    return codes


@cache
def character_table(keep_punctuation: bool, keep_digits: bool) -> NDArray[np.uint32]:
    """(0x110000,) the replacement of each code point; most stay."""
    kept_categories = ""
    if keep_punctuation:
        kept_categories += "PS"
    if keep_digits:
        kept_categories += "N"
    table = np.arange(0x110000, dtype=np.uint32)
    for old, new in _character_map().items():
        if unicodedata.category(chr(old))[0] not in kept_categories:
            table[old] = new
    return table
