"""Thai words by dictionary and character clusters (pythainlp's newmm); words of other scripts stay whole."""

from collections.abc import Sequence

from interlace.core.ragged import Ragged
from interlace.text.word_tokenizers import WordTokenizer
from interlace.text.word_tokenizers.common.spans import placed, rejoined_words


class Th(WordTokenizer):
    """Maximal matching inside Thai character clusters, the Thai tokenizer of the XLM code."""

    packages = ("pythainlp",)

    def split(self, lines: Sequence[str]) -> Ragged:
        """Return (start, end) character spans per line."""
        from pythainlp.tokenize.newmm import segment

        # safe_mode cuts long ambiguous text in pieces; without it one line may take minutes
        rows = [placed(line, segment(line, safe_mode=True)) for line in lines]
        return rejoined_words(lines, rows)
