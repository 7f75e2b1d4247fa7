"""Unicode normalization, and the lower-casing, accent removal and Romanian letters of the XLM code."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from interlace.core.settings import Settings
from interlace.text.codes import base_language

# Romanian writes s and t with a comma below; older text has the cedilla, alone or as a combining mark.
_COMMA = str.maketrans("ŞşŢţ", "ȘșȚț")
_COMBINING_CEDILLA = re.compile("([SsTt])\u0327")
_PLAIN = str.maketrans("ȘșȚțĂăÂâÎî", "SsTtAaAaIi")
_COMBINING = re.compile("([SsTtAaIi])[\u0326\u0306\u0302]")


class Normalization(Settings):
    """Normalization before tokenization, in this order: Romanian letters, lower case, accents, Unicode form."""

    form: Literal["NFC", "NFKC", "none"] = Field(
        "NFC",
        description="Unicode form of the result; NFKC also folds compatibility characters such as ligatures.",
    )
    lower_case: bool = Field(False, description="Lower-case (XLM's 15-language models).")
    remove_accents: bool = Field(
        False,
        description="Decompose and drop non-spacing marks (XLM's 15-language models); also drops vowel signs.",
    )
    romanian: Literal["keep", "comma", "strip"] = Field(
        "keep",
        description="Romanian training text: cedilla to comma letters, or no diacritics (XLM's ro-en translation).",
    )

    def lines(self, lines: Sequence[str], language: str = "") -> list[str]:
        """Normalize lines, which must not contain line feeds; returns the same list if nothing changes."""
        # no form or case rule crosses a line feed, so one call serves all lines
        text = "\n".join(lines)
        normalized = self.text(text, language)
        if normalized == text:
            return lines if isinstance(lines, list) else list(lines)
        return normalized.split("\n")

    def text(self, text: str, language: str = "") -> str:
        """Normalize one string."""
        if base_language(language) == "ro" and self.romanian != "keep":
            text = _romanian(text, strip=self.romanian == "strip")
        if self.lower_case:
            text = text.lower()
        if self.remove_accents and not text.isascii():
            text = unicodedata.normalize("NFD", text)
            for character in set(text):  # few: faster than a loop over the text
                if unicodedata.category(character) == "Mn":
                    text = text.replace(character, "")
        if self.form == "none" or text.isascii() or unicodedata.is_normalized(self.form, text):
            return text
        return unicodedata.normalize(self.form, text)


def _romanian(text: str, *, strip: bool) -> str:
    """Replace cedilla letters by comma letters; with `strip`, remove diacritics. Takes composed and decomposed text."""
    text = _COMBINING_CEDILLA.sub("\\1\u0326", text.translate(_COMMA))
    if strip:
        return _COMBINING.sub(r"\1", text.translate(_PLAIN))
    return text
