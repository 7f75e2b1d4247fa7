"""A tokenizer per language: `zh`, `ja`, `th`; `unicode` for other unspaced scripts, `moses` for the rest."""

from collections.abc import Sequence

from interlace.core.ragged import Ragged
from interlace.text.codes import base_language
from interlace.text.word_tokenizers import WORD_TOKENIZERS, WordTokenizer
from interlace.text.word_tokenizers.unicode import Unicode

_OWN = {
    "zh": "zh",
    "ja": "ja",
    "th": "th",
    **dict.fromkeys(("km", "lo", "my", "bo", "dz"), "unicode"),
}


class ByLanguage(WordTokenizer):
    """For recipes in several languages. Text without a language is split by `unicode`."""

    def of(self, language: str) -> WordTokenizer:
        """Return the word tokenizer for one language."""
        return WORD_TOKENIZERS.build(_OWN.get(base_language(language), "moses")).of(language)

    def split(self, lines: Sequence[str]) -> Ragged:
        """Return (start, end) character spans per line."""
        return Unicode().split(lines)
