"""The scripts that languages are written in, by code (ISO 639-1 and 639-3), and by suffix (ISO 15924)."""

from __future__ import annotations

_LATIN = (
    "af als an ang ast ay az bar bm br bs ca ceb co crh cs cy da de diq en eo es et eu ext ff fi fo fr frr fur "
    "fy ga gd gl gn gsw gv ha haw hr hsb ht hu ia id ig ilo io is it jv ki kl ku kw la lb lg li lij lmo ln lt "
    "ltg lv mg mi min ms mt nah nan nap nb nds nl nn no nov nso oc om pag pam pap pl pms pt qu rm rn ro rw sc "
    "scn sco se sg sk sl sm sn so sq ss st stq su sv sw szl tet tk tl tn to tpi tr ts tw ty uz vec vep vi vls "
    "vo vro wa war wo xh yo zea zu afr cat ces dan deu eng est eus fin fra gle hau hrv hun ibo ind isl ita jav "
    "lat lav lit lug luo mlg mlt msa nld nob nor orm pcm pol por ron run slk slv som spa sqi swa swe swh tgl "
    "tur uzb vie wol xho yor zsm zul kab pcd ber"
)
_CYRILLIC = (
    "ab av ba be bg ce cv kk ky lez mhr mk mn mrj myv os ru rue sah tg tt tyv udm uk bel bul kaz kir mkd mon "
    "rus tat ukr tgk"
)
_ARABIC = "ar arz azb ckb fa glk lrc mzn pnb ps sd skr ug ur ara fas pes urd uig apc ary acm prs kas"
_DEVANAGARI = "bh bho dty gom hi mai mr ne new sa awa hne mag hin mar nep san npi"

_ONE = {
    "Latin": _LATIN,
    "Cyrillic": _CYRILLIC,
    "Arabic": _ARABIC,
    "Devanagari": _DEVANAGARI,
    "Armenian": "hy hyw hye",
    "Bengali": "as bn bpy asm ben",
    "Ethiopic": "am ti amh tir",
    "Georgian": "ka xmf kat",
    "Greek": "el grc pnt ell",
    "Gujarati": "gu guj",
    "Gurmukhi": "pa pan",
    "Hangul": "ko kor",
    "Han": "zh cmn zho yue wuu gan lzh zh_classical",
    "Hebrew": "he yi heb yid ydd",
    "Kannada": "kn tcy kan",
    "Khmer": "km khm",
    "Lao": "lo lao",
    "Malayalam": "ml mal",
    "Myanmar": "my mya shn mnw",
    "Oriya": "or ory ori",
    "Sinhala": "si sin",
    "Tamil": "ta tam",
    "Telugu": "te tel",
    "Thaana": "dv div",
    "Thai": "th tha",
    "Tibetan": "bo dz bod dzo",
    "Tifinagh": "zgh",
}
_SEVERAL = {
    "ja jpn": ("Han", "Hiragana", "Katakana"),
    "sr srp sh": ("Cyrillic", "Latin"),
}
_SUFFIXES = {
    "latn": ("Latin",),
    "cyrl": ("Cyrillic",),
    "arab": ("Arabic",),
    "deva": ("Devanagari",),
    "hans": ("Han",),
    "hant": ("Han",),
    "jpan": ("Han", "Hiragana", "Katakana"),
    "kore": ("Hangul",),
    "beng": ("Bengali",),
    "ethi": ("Ethiopic",),
    "grek": ("Greek",),
    "hebr": ("Hebrew",),
    "olck": ("Ol Chiki",),
    "orya": ("Oriya",),
    "guru": ("Gurmukhi",),
    "mymr": ("Myanmar",),
    "tibt": ("Tibetan",),
    "tfng": ("Tifinagh",),
    "armn": ("Armenian",),
    "geor": ("Georgian",),
    "gujr": ("Gujarati",),
    "khmr": ("Khmer",),
    "knda": ("Kannada",),
    "laoo": ("Lao",),
    "mlym": ("Malayalam",),
    "sinh": ("Sinhala",),
    "taml": ("Tamil",),
    "telu": ("Telugu",),
    "thai": ("Thai",),
    "mtei": ("Meetei Mayek",),
}

BY_LANGUAGE: dict[str, frozenset[str]] = {
    **{code: frozenset({script}) for script, codes in _ONE.items() for code in codes.split()},
    **{code: frozenset(scripts) for codes, scripts in _SEVERAL.items() for code in codes.split()},
}
BY_SUFFIX: dict[str, frozenset[str]] = {suffix: frozenset(scripts) for suffix, scripts in _SUFFIXES.items()}
