"""Japanese words in short units by a morphological dictionary (SudachiPy, mode A)."""

import re
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from interlace.core.ragged import Ragged
from interlace.text.word_tokenizers import WordTokenizer
from interlace.text.word_tokenizers.common.spans import rejoined_words

_MAX_CHARACTERS = 10_000  # characters per call; Sudachi accepts 49,149 bytes


class Ja(WordTokenizer):
    """Sudachi's short units, close to those of UniDic and KyTea (the Japanese tokenizer of the XLM code).

    Sudachi is maintained, its wheels need no compiler, and library and dictionary are Apache-2.0; it says where each
    unit is on the unchanged line.

    Source: Takaoka et al. (2018), "Sudachi: a Japanese Tokenizer for Business".
    """

    packages = ("sudachipy", "sudachidict_core")

    def split(self, lines: Sequence[str]) -> Ragged:
        """Return (start, end) character spans per line."""
        tokenize = _sudachi().tokenize
        rows = []
        for line in lines:
            spans = []
            for start, part in _parts(line):
                for unit in tokenize(part):
                    spans.append((start + unit.begin(), start + unit.end()))
            rows.append(spans)
        return rejoined_words(lines, rows)


_thread = threading.local()  # Sudachi's tokenizers are not thread-safe


def _sudachi() -> Any:
    if not hasattr(_thread, "tokenizer"):
        from sudachipy import SplitMode

        _thread.tokenizer = _dictionary().tokenizer(mode=SplitMode.A)
    return _thread.tokenizer


@cache
def _dictionary() -> Any:
    from sudachipy import Dictionary

    return Dictionary(dict="core")


def _parts(line: str) -> list[tuple[int, str]]:
    """Return (start, part) of a line; a long one is split after the last sentence that fits, else anywhere."""
    if len(line) <= _MAX_CHARACTERS:
        return [(0, line)]
    part = rf"(?s).{{0,{_MAX_CHARACTERS - 1}}}[。！？!?\n]|.{{1,{_MAX_CHARACTERS}}}"
    return [(match.start(), match[0]) for match in re.finditer(part, line)]
