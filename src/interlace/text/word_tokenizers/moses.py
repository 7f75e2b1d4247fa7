"""Words as the Moses tokenizer cuts them, with its rules for each language (sacremoses)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import Field

from interlace.core.ragged import Ragged
from interlace.text.word_tokenizers import WordTokenizer
from interlace.text.word_tokenizers.common.spans import must_have, placed, versions
from interlace.text.word_tokenizers.unicode import Unicode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.text.word_tokenizers.common.spans import Span


class Moses(WordTokenizer):
    """Punctuation apart, abbreviations and numbers whole, apostrophes by language; for scripts with blanks.

    Spans lie on the unchanged line: nothing is escaped, and no quote or dash is rewritten. Where sacremoses gives back
    other letters than it got, which happens to a literal `DOTMULTI`, the words of that line are those of `unicode`.

    Source: Koehn et al. (2007), `tokenizer.perl`. ALM and XLM cut most languages with it.
    """

    language: str = Field("en", description="Whose abbreviations and apostrophes; a corpus gives its own.")

    def model_post_init(self, _context: Any) -> None:
        """Asks for the package."""
        must_have("moses", "sacremoses")

    @property
    def made_with(self) -> str:
        """The version of sacremoses."""
        return versions("sacremoses")

    def of(self, language: str) -> WordTokenizer:
        """The same with the rules of another language; English ones where Moses has none."""
        return Moses(language=language.replace("-", "_").partition("_")[0].lower() or "en")

    def split(self, lines: Sequence[str]) -> Ragged:
        """A row a line of (start, end) character spans."""
        tokenizer = _tokenizer(self.language)
        rows = [placed(line, tokenizer.tokenize(line, escape=False)) for line in lines]
        return Ragged.of([_plain(line) if row is None else row for line, row in zip(lines, rows, strict=True)], width=2)


@cache
def _tokenizer(language: str) -> Any:
    from sacremoses import MosesTokenizer

    return MosesTokenizer(language)


def _plain(line: str) -> list[Span]:
    return [(int(start), int(end)) for start, end in Unicode().split([line])[0]]
