"""The Moses tokenizer with its rules for each language (sacremoses)."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic import Field

from interlace.core.ragged import Ragged
from interlace.text.codes import base_language
from interlace.text.word_tokenizers import WordTokenizer
from interlace.text.word_tokenizers.common.spans import placed


class Moses(WordTokenizer):
    """Separates punctuation, keeps abbreviations and numbers, splits apostrophes by language; for scripts with spaces.

    Spans refer to the unchanged line: nothing is escaped, no quote or dash is rewritten. A line that sacremoses changes
    (such as one with a literal `DOTMULTI`) is split by `unicode`.

    Source: Koehn et al. (2007), `tokenizer.perl`. ALM and XLM use it for most languages.
    """

    packages = ("sacremoses",)
    language: str = Field(
        "en", description="Language of abbreviations and apostrophes; corpora set it."
    )

    def of(self, language: str) -> WordTokenizer:
        """Return the tokenizer with the rules of another language, or of English if Moses has none."""
        return Moses(language=base_language(language) or "en")

    def split(self, lines: Sequence[str]) -> Ragged:
        """Return (start, end) character spans per line."""
        tokenizer = _tokenizer(self.language)
        rows = [placed(line, tokenizer.tokenize(line, escape=False)) for line in lines]
        return Ragged.of(rows, width=2)


@cache
def _tokenizer(language: str) -> Any:
    from sacremoses import MosesTokenizer

    return MosesTokenizer(language)
