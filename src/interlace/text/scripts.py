"""Scripts of characters and languages, and which scripts write words without spaces."""

import unicodedata
from functools import lru_cache

COMMON = "Common"


# The first word of a letter's Unicode name is its script, with these exceptions.
_BY_FIRST_WORD = {
    "CJK": "Han", "IDEOGRAPHIC": "Han", "KANGXI": "Han", "HANGZHOU": "Han", "KATAKANA-HIRAGANA": "Katakana",
    "KELVIN": "Latin", "ANGSTROM": "Latin", "FEMININE": "Latin", "MASCULINE": "Latin", "TURNED": "Latin",
    "OHM": "Greek", "HENTAIGANA": "Hiragana",
}  # fmt: skip
_TWO_WORDS = {
    "OLD ITALIC",
    "OLD PERSIAN",
    "OLD TURKIC",
    "NEW TAI",
    "TAI LE",
    "TAI THAM",
    "TAI VIET",
    "MEETEI MAYEK",
    "OL CHIKI",
    "SYLOTI NAGRI",
}
_WIDTHS = {"FULLWIDTH", "HALFWIDTH"}
_NO_SCRIPT = {
    "MODIFIER",
    "COMBINING",
    "MATHEMATICAL",
    "DOUBLE-STRUCK",
    "SCRIPT",
    "MICRO",
    "VARIATION",
}
UNSPACED = {
    "Han",
    "Hiragana",
    "Katakana",
    "Bopomofo",
    "Thai",
    "Lao",
    "Khmer",
    "Myanmar",
    "Tai Le",
    "New Tai",
    "Tai Tham",
    "Yi",
    "Tai Viet",
    "Javanese",
    "Balinese",
}
"""Scripts that write words without spaces."""


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str:
    """Return the script of a letter or mark, from its Unicode name; `"Common"` for other characters.

    >>> [script_of(character) for character in "aЖ中の1!"]
    ['Latin', 'Cyrillic', 'Han', 'Hiragana', 'Common', 'Common']
    """
    if (
        unicodedata.category(character)[0] not in "LM"
        and character not in "〇〡〢〣〤〥〦〧〨〩"
    ):
        return COMMON
    name = unicodedata.name(character, "")
    words = [word for word in name.split() if word not in _WIDTHS]
    if not words or words[0] in _NO_SCRIPT:
        return COMMON
    if words[0] in _BY_FIRST_WORD:
        return _BY_FIRST_WORD[words[0]]
    two_words = " ".join(words[:2])
    if two_words in _TWO_WORDS:
        return two_words.title()
    return words[0].title()


def is_unspaced(character: str) -> bool:
    """Return whether the character's script writes words without spaces."""
    return script_of(character) in UNSPACED


def is_private(language: str) -> bool:
    """Return whether a language code is private: it has a subtag `x` (BCP 47, section 2.2.7).

    Derived languages have such codes: `en_x_inv` is derived from English and may be in any script.

    >>> is_private("en_x_inv"), is_private("zh-Hant")
    (True, False)
    """
    return "x" in language.replace("-", "_").lower().split("_")[1:]


def scripts_of(language: str) -> frozenset[str]:
    """Return the scripts of a language; empty if it is unknown.

    language: an ISO 639 code; a script subtag (`"sr_Latn"`, `"zh-Hant"`) takes precedence, a country is ignored.

    >>> sorted(scripts_of("ja")), sorted(scripts_of("sr_Latn")), sorted(scripts_of("pt_BR"))
    (['Han', 'Hiragana', 'Katakana'], ['Latin'], ['Latin'])
    """
    code, *parts = language.replace("-", "_").lower().split("_")
    for part in parts:
        if part in BY_SUFFIX:
            return BY_SUFFIX[part]
    return BY_LANGUAGE.get(code, frozenset())


# Scripts by language code (ISO 639-1 and 639-3) and by script subtag (ISO 15924).
_CODES = """
Latin: af als an ang ast ay az bar bm br bs ca ceb co crh cs cy da de diq en eo es et eu ext ff fi fo fr frr fur fy ga
    gd gl gn gsw gv ha haw hr hsb ht hu ia id ig ilo io is it jv ki kl ku kw la lb lg li lij lmo ln lt ltg lv mg mi
    min ms mt nah nan nap nb nds nl nn no nov nso oc om pag pam pap pl pms pt qu rm rn ro rw sc scn sco se sg sk sl sm
    sn so sq ss st stq su sv sw szl tet tk tl tn to tpi tr ts tw ty uz vec vep vi vls vo vro wa war wo xh yo zea zu
    afr cat ces dan deu eng est eus fin fra gle hau hrv hun ibo ind isl ita jav lat lav lit lug luo mlg mlt msa nld
    nob nor orm pcm pol por ron run slk slv som spa sqi swa swe swh tgl tur uzb vie wol xho yor zsm zul kab pcd ber
Cyrillic: ab av ba be bg ce cv kk ky lez mhr mk mn mrj myv os ru rue sah tg tt tyv udm uk bel bul kaz kir mkd mon rus
    tat ukr tgk
Arabic: ar arz azb ckb fa glk lrc mzn pnb ps sd skr ug ur ara fas pes urd uig apc ary acm prs kas
Devanagari: bh bho dty gom hi mai mr ne new sa awa hne mag hin mar nep san npi
Armenian: hy hyw hye
Bengali: as bn bpy asm ben
Ethiopic: am ti amh tir
Georgian: ka xmf kat
Greek: el grc pnt ell
Gujarati: gu guj
Gurmukhi: pa pan
Hangul: ko kor
Han: zh cmn zho yue wuu gan lzh zh_classical
Hebrew: he yi heb yid ydd
Kannada: kn tcy kan
Khmer: km khm
Lao: lo lao
Malayalam: ml mal
Myanmar: my mya shn mnw
Oriya: or ory ori
Sinhala: si sin
Tamil: ta tam
Telugu: te tel
Thaana: dv div
Thai: th tha
Tibetan: bo dz bod dzo
Tifinagh: zgh
"""
_JAPANESE = frozenset({"Han", "Hiragana", "Katakana"})
BY_LANGUAGE: dict[str, frozenset[str]] = {}
for _line in _CODES.replace("\n    ", " ").strip().splitlines():
    _script, _, _languages = _line.partition(": ")
    BY_LANGUAGE |= dict.fromkeys(_languages.split(), frozenset({_script}))
BY_LANGUAGE |= dict.fromkeys(("ja", "jpn"), _JAPANESE)
BY_LANGUAGE |= dict.fromkeys(("sr", "srp", "sh"), frozenset({"Cyrillic", "Latin"}))
_SUBTAGS = """
latn Latin | cyrl Cyrillic | arab Arabic | deva Devanagari | hans Han | hant Han | kore Hangul | beng Bengali
ethi Ethiopic | grek Greek | hebr Hebrew | olck Ol Chiki | orya Oriya | guru Gurmukhi | mymr Myanmar | tibt Tibetan
tfng Tifinagh | armn Armenian | geor Georgian | gujr Gujarati | khmr Khmer | knda Kannada | laoo Lao | mlym Malayalam
sinh Sinhala | taml Tamil | telu Telugu | thai Thai | mtei Meetei Mayek
"""
BY_SUFFIX: dict[str, frozenset[str]] = {"jpan": _JAPANESE}
for _cell in _SUBTAGS.strip().replace("\n", " | ").split(" | "):
    _subtag, _, _script = _cell.partition(" ")
    BY_SUFFIX[_subtag] = frozenset({_script})
