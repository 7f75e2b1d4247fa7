"""Each language by its own tool: `zh`, `ja`, `th`; other unspaced scripts by `unicode`, all else by `moses`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.text.word_tokenizers import WORD_TOKENIZERS, WordTokenizer
from interlace.text.word_tokenizers.unicode import Unicode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.core.ragged import Ragged

_OWN = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn", "yue", "wuu", "zh_classical"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja"),
    **dict.fromkeys(("th", "tha"), "th"),
    **dict.fromkeys(("km", "khm", "lo", "lao", "my", "mya", "bo", "bod", "dz", "dzo"), "unicode"),
}


class ByLanguage(WordTokenizer):
    """For recipes in several languages. A line whose language is not said is split by `unicode`."""

    def of(self, language: str) -> WordTokenizer:
        """The word tokenizer for one language."""
        code = language.replace("-", "_").lower()
        name = _OWN.get(code) or _OWN.get(code.partition("_")[0]) or "moses"
        return WORD_TOKENIZERS.build(name).of(language)

    def split(self, lines: Sequence[str]) -> Ragged:
        """A row a line of (start, end) character spans."""
        return Unicode().split(lines)
