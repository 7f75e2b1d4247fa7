"""Scripts: which writing system a character belongs to, and which of them write words without blanks between."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from interlace.text._scripts_by_language import BY_LANGUAGE, BY_SUFFIX

COMMON = "Common"

# The first word of a letter's Unicode name is its script; these names begin with something else or in two words.
_BY_FIRST_WORD = {
    "CJK": "Han",
    "IDEOGRAPHIC": "Han",
    "KANGXI": "Han",
    "HANGZHOU": "Han",
    "KATAKANA-HIRAGANA": "Katakana",
    "KELVIN": "Latin",
    "ANGSTROM": "Latin",
    "FEMININE": "Latin",
    "MASCULINE": "Latin",
    "OHM": "Greek",
    "TURNED": "Latin",
    "HENTAIGANA": "Hiragana",
}
_TWO_WORDS = {
    ("OLD", "ITALIC"),
    ("OLD", "PERSIAN"),
    ("OLD", "TURKIC"),
    ("NEW", "TAI"),
    ("TAI", "LE"),
    ("TAI", "THAM"),
    ("TAI", "VIET"),
    ("MEETEI", "MAYEK"),
    ("OL", "CHIKI"),
    ("SYLOTI", "NAGRI"),
}
_WIDTHS = {"FULLWIDTH", "HALFWIDTH"}
_NO_SCRIPT = {"MODIFIER", "COMBINING", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "MICRO", "VARIATION"}

UNSPACED = frozenset(
    {"Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar", "Tai Le", "New Tai", "Tai Tham"}
    | {"Yi", "Tai Viet", "Javanese", "Balinese"}
)
"""Scripts that write running text without blanks between words."""


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str:
    """The script of a letter or mark, after its Unicode name; `"Common"` for all that belongs to no single script.

    >>> [script_of(character) for character in "aЖ中の1!"]
    ['Latin', 'Cyrillic', 'Han', 'Hiragana', 'Common', 'Common']
    """
    if unicodedata.category(character)[0] not in "LM" and character not in "〇〡〢〣〤〥〦〧〨〩":
        return COMMON
    words = [word for word in unicodedata.name(character, "").split(" ") if word not in _WIDTHS]
    if not words or not words[0] or words[0] in _NO_SCRIPT:
        return COMMON
    first, second = words[0], words[1] if len(words) > 1 else ""
    if first in _BY_FIRST_WORD:
        return _BY_FIRST_WORD[first]
    return f"{first} {second}".title() if (first, second) in _TWO_WORDS else first.title()


def is_unspaced(character: str) -> bool:
    """Whether the character's script writes words without blanks between them."""
    return script_of(character) in UNSPACED


def is_private(language: str) -> bool:
    """Whether a code says that it is of someone's own making: a part `x` behind it (BCP 47, section 2.2.7).

    Languages that are made of others are called so: `en_x_inv` is made of English, and may be in any script.

    >>> is_private("en_x_inv"), is_private("zh-Hant")
    (True, False)
    """
    return "x" in language.replace("-", "_").lower().split("_")[1:]


def scripts_of(language: str) -> frozenset[str]:
    """The scripts that a language is written in; empty where the language is not known.

    language: an ISO 639 code; a script behind it (`"sr_Latn"`, `"zh-Hant"`) goes first, a country changes nothing.

    >>> sorted(scripts_of("ja")), sorted(scripts_of("sr_Latn")), sorted(scripts_of("pt_BR"))
    (['Han', 'Hiragana', 'Katakana'], ['Latin'], ['Latin'])
    """
    code, *parts = language.replace("-", "_").lower().split("_")
    for part in parts:
        if part in BY_SUFFIX:
            return BY_SUFFIX[part]
    return BY_LANGUAGE.get(code, frozenset())
