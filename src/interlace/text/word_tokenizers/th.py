"""Thai words by dictionary and character clusters (pythainlp's newmm); words of other scripts stay whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.text.word_tokenizers import WordTokenizer
from interlace.text.word_tokenizers.common.spans import mended, must_have, placed, trimmed, versions
from interlace.text.word_tokenizers.unicode import Unicode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.core.ragged import Ragged


class Th(WordTokenizer):
    """Maximal matching inside Thai character clusters, the word tokenizer of the XLM code for Thai."""

    def model_post_init(self, _context: Any) -> None:
        """Asks for the package."""
        must_have("th", "pythainlp")

    @property
    def made_with(self) -> str:
        """The version of pythainlp."""
        return versions("pythainlp")

    def split(self, lines: Sequence[str]) -> Ragged:
        """A row a line of (start, end) character spans."""
        from pythainlp.tokenize.newmm import segment

        # safe_mode cuts long ambiguous text in pieces; without it one line may take minutes
        rows = [placed(line, segment(line, safe_mode=True)) for line in lines]
        plain = Unicode().split([line for line, row in zip(lines, rows, strict=True) if row is None])
        others = iter(plain)
        found = [next(others).tolist() if row is None else row for row in rows]
        return mended(lines, trimmed(lines, found))
