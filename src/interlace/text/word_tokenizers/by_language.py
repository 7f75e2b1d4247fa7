"""A tokenizer per language: `zh`, `ja`, `th`; `unicode` for other unspaced scripts, `moses` for the rest."""

from collections.abc import Sequence

from interlace.core.ragged import Ragged
from interlace.text.word_tokenizers import WORD_TOKENIZERS, WordTokenizer
from interlace.text.word_tokenizers.unicode import Unicode

_OWN = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn", "yue", "wuu", "zh_classical"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja"),
    **dict.fromkeys(("th", "tha"), "th"),
    **dict.fromkeys(("km", "khm", "lo", "lao", "my", "mya", "bo", "bod", "dz", "dzo"), "unicode"),
}


class ByLanguage(WordTokenizer):
    """For recipes in several languages. Text without a language is split by `unicode`."""

    def of(self, language: str) -> WordTokenizer:
        """Return the word tokenizer for one language."""
        code = language.replace("-", "_").lower()
        return WORD_TOKENIZERS.build(_OWN.get(code) or _OWN.get(code.partition("_")[0]) or "moses").of(language)

    def split(self, lines: Sequence[str]) -> Ragged:
        """Return (start, end) character spans per line."""
        return Unicode().split(lines)
