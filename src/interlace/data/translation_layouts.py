"""Where translation models read their languages: in the rows of their encoder, and before the text of their decoder.

    layout      reads                     writes                such as
    interlace   <s> A </s>                <2de> B               the models of this project
    mbart       A </s> en_XX              de_DE B               mBART
    m2m_100     eng_Latn A </s>           </s> deu_Latn B       M2M100 (`__de__`), NLLB, mBART-50 (`de_DE`)
    t5          A </s>                    <pad> B               T5, mT5: no languages

What is written ends with `</s>`. No token before B is predicted, though transformers generates a code after `</s>`
(`forced_bos_token_id`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from interlace.core.json_files import JsonMapping
from interlace.text.codes import three_letters

LAYOUT_KEY = "translation_layout"  # of a tokenizer's configuration
LANGUAGE = "language"  # among the roles of special tokens


@dataclass(frozen=True)
class TranslationLayout:
    """The roles of the special tokens around a sentence.

    before, after: of what the encoder reads. decoder: of what the decoder reads before a sentence.
    code: pattern of the token of a language, with its code in the only group that matches; None without languages.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    decoder: tuple[str, ...]
    code: re.Pattern[str] | None

    @property
    def roles(self) -> set[str]:
        """The roles of tokens that the layout needs, except that of languages."""
        return {*self.before, *self.after, *self.decoder} - {LANGUAGE}


_PUBLISHED_CODE = re.compile(r"__(\w+)__|([a-z]{2,3}_(?:[A-Z]{2}|[A-Z][a-z]{3}))")

# codes of the main language of a group that only FLORES-200 and NLLB use
_MAIN_LANGUAGE = {"ar": "arb", "ay": "ayr", "ff": "fuv", "kr": "knc", "qu": "quy", "yi": "ydd"}

OURS = "interlace"
LAYOUTS = {
    OURS: TranslationLayout(("begin",), ("end",), (LANGUAGE,), re.compile(r"<2([^<>\s]+)>")),
    "mbart": TranslationLayout((), ("end", LANGUAGE), (LANGUAGE,), _PUBLISHED_CODE),
    "m2m_100": TranslationLayout((LANGUAGE,), ("end",), ("end", LANGUAGE), _PUBLISHED_CODE),
    "t5": TranslationLayout((), ("end",), ("pad",), None),
}
# by class of transformers, without the suffix Fast
_OF_CLASS = {
    "MBartTokenizer": "mbart",
    "MBart50Tokenizer": "m2m_100",
    "NllbTokenizer": "m2m_100",
    "M2M100Tokenizer": "m2m_100",
    "T5Tokenizer": "t5",
}
# by type of the model, for tokenizers of another class
_OF_MODEL = {"mbart": "mbart", "m2m_100": "m2m_100", "t5": "t5", "mt5": "t5"}


def layout_name(tokenizer: JsonMapping, model: JsonMapping) -> str:
    """Return the name of a tokenizer's layout, by its configuration and that of the model beside it, if there is one.

    Some encoders have a tokenizer of T5's class; they read sentences as other encoders do.
    """
    stored = str(tokenizer.get(LAYOUT_KEY))
    if stored in LAYOUTS:
        return stored
    model_type = str(model.get("model_type"))
    if model and model_type not in _OF_MODEL:
        return OURS
    # as AutoTokenizer: that of mBART-50 is named beside the model's type alone
    named = tokenizer.get("tokenizer_class") or model.get("tokenizer_class")
    class_name = str(named).removesuffix("Fast")
    return _OF_CLASS.get(class_name, _OF_MODEL.get(model_type, OURS))


def find_code(language: str, codes: Iterable[str]) -> str | None:
    """Return the code of a language, the first of several; None if there is none.

    A code may be that of ISO 639-1 or 639-3, and have a script or a country, which the language may name too.

    >>> [find_code(language, ["eng_Latn", "zho_Hans", "zho_Hant"]) for language in ("en", "zh", "zh-Hant", "de")]
    ['eng_Latn', 'zho_Hans', 'zho_Hant', None]
    """
    codes = list(codes)
    if language in codes:
        return language
    name, _, variant = language.replace("-", "_").partition("_")
    for form in (name, *three_letters(name), _MAIN_LANGUAGE.get(name)):
        for code in codes:
            code_name, _, code_variant = code.partition("_")
            if code_name == form and variant in {"", code_variant}:
                return code
    return None
