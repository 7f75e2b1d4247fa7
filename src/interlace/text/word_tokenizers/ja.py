"""Japanese words in short units by a morphological dictionary (SudachiPy, mode A)."""

from __future__ import annotations

import threading
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from interlace.text.word_tokenizers import WordTokenizer
from interlace.text.word_tokenizers.common.spans import mended, must_have, trimmed, versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlace.core.ragged import Ragged

_MOST = 10_000  # characters at a time; Sudachi takes 49,149 bytes
_ENDS = "。！？!?\n"


class Ja(WordTokenizer):
    """Sudachi's short units, which are about those of UniDic and KyTea (the word tokenizer of the XLM code for Japanese).

    Sudachi is maintained, its wheels need no compiler, and library and dictionary are Apache-2.0; it says where each
    unit stands on the unchanged line.

    Source: Takaoka et al. (2018), "Sudachi: a Japanese Tokenizer for Business".
    """

    def model_post_init(self, _context: Any) -> None:
        """Asks for the packages."""
        must_have("ja", "sudachipy", "sudachidict_core")

    @property
    def made_with(self) -> str:
        """The versions of Sudachi and of its dictionary."""
        return versions("sudachipy", "sudachidict_core")

    def split(self, lines: Sequence[str]) -> Ragged:
        """A row a line of (start, end) character spans."""
        tokenize = _sudachi().tokenize
        rows = [
            [(at + unit.begin(), at + unit.end()) for at, part in _parts(line) for unit in tokenize(part)]
            for line in lines
        ]
        return mended(lines, trimmed(lines, rows))


_own = threading.local()  # a tokenizer of Sudachi serves one thread


def _sudachi() -> Any:
    if not hasattr(_own, "tokenizer"):
        from sudachipy import SplitMode

        _own.tokenizer = _dictionary().tokenizer(mode=SplitMode.A)
    return _own.tokenizer


@cache
def _dictionary() -> Any:
    from sudachipy import Dictionary

    return Dictionary(dict="core")


def _parts(line: str) -> Iterator[tuple[int, str]]:
    """The line, or parts of it and where they begin: cut behind the last sentence that fits, else anywhere."""
    if len(line) <= _MOST:
        yield 0, line
        return
    cuts: list[int] = [0]
    while len(line) - cuts[-1] > _MOST:
        window = line[cuts[-1] : cuts[-1] + _MOST]
        cuts.append(cuts[-1] + (max(map(window.rfind, _ENDS)) + 1 or _MOST))
    for start, end in pairwise([*cuts, len(line)]):
        yield start, line[start:end]
