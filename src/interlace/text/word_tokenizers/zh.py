"""Chinese words by dictionary and hidden Markov model (jieba); words of other scripts stay whole."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from interlace.text.word_tokenizers import WordTokenizer
from interlace.text.word_tokenizers.common.spans import mended, must_have, trimmed, versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.core.ragged import Ragged


class Zh(WordTokenizer):
    """Jieba's precise mode, with its model for words that the dictionary does not hold."""

    def model_post_init(self, _context: Any) -> None:
        """Asks for the package."""
        must_have("zh", "jieba")

    @property
    def made_with(self) -> str:
        """The version of jieba."""
        return versions("jieba")

    def split(self, lines: Sequence[str]) -> Ragged:
        """A row a line of (start, end) character spans."""
        cut = _jieba()
        rows = [[(start, end) for _, start, end in cut.tokenize(line)] for line in lines]
        return mended(lines, trimmed(lines, rows))


@cache
def _jieba() -> Any:
    """A tokenizer with jieba's own dictionary, read in 0.8 s.

    Jieba's way to load it keeps a marshalled copy in the machine's temporary folder and reads it back unchecked,
    whoever wrote it.
    """
    import jieba

    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
