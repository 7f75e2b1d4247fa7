"""Guesses whether text was cut into words already: by blanks before punctuation, and by marks that tools leave."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from interlace.data.filters._sides import Classes
from interlace.data.inspection import Example, Examples, Finding, rare
from interlace.text.scripts import is_unspaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.text import Text

_OTHER, _BLANK, _MARK, _LETTER = 1, 2, 3, 4
_LEAST = 20  # marks needed for a guess
_TRACES = {  # what every such line holds, which is fast to look for; the pattern; what it means
    "subword marks": (
        ("@@ ", "\u2581"),
        re.compile(r"\w@@ |(?:^| )\u2581\w"),
        "cut into subwords; a vocabulary is learnt from plain text: undo it, as with sed 's/@@ //g'",
    ),
    "escaped characters": (
        ("&",),
        re.compile(r"&(?:amp|apos|quot|lt|gt|#\d+|#x[0-9a-f]+);"),
        "such as &apos;, left by HTML or the Moses tokenizer; they are read letter by letter: unescape them",
    ),
    "double encoding": (
        ("Ã", "Â", "â€"),
        re.compile("[ÃÂ][\u0080-\u00bf]|â€"),
        "looks like UTF-8 that was read as Latin-1 and written as UTF-8 again, as in 'Ã©' for 'é'",
    ),
}


_LONG = 8  # letters of an unspaced script between two blanks, on average: more than words have


class Tokenised:
    """One side's signs, chunk after chunk."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._apart = self._attached = self._lines = 0
        self._traces = {what: Examples() for what in _TRACES}

    def add(self, text: Text, where: Callable[[int], str]) -> None:
        """Count a chunk; `where` names a row of it."""
        found = _CLASSES.of(text.lines)
        before, mark, after = found[:-2], found[1:-1], found[2:]
        ends = (mark == _MARK) & (after == _BLANK)
        self._apart += int(np.count_nonzero(ends & (before == _BLANK)))
        self._attached += int(np.count_nonzero(ends & (before == _LETTER)))
        self._lines += len(text)
        whole = "\n".join(text.lines)
        for what, (signs, pattern, _) in _TRACES.items():
            met = [sign for sign in signs if sign in whole]
            for row, line in enumerate(text.lines) if met else ():
                if any(sign in line for sign in met) and pattern.search(line):
                    self._traces[what].add(1, [partial(_example, where, row, line)])

    @property
    def guess(self) -> str:
        """`"tokenised"`, `"plain"`, `"mixed"`, or `"?"` where too little punctuation was seen."""
        total = self._apart + self._attached
        if total < _LEAST:
            return "?"
        share = self._apart / total
        return "tokenised" if share > 0.9 else "plain" if share < 0.1 else "mixed"

    def findings(self) -> Iterator[Finding]:
        """What should not be in the text, or not in half of it."""
        if self.guess == "mixed":
            about = f"{self.name}: punctuation with a blank before it; are tokenised and plain text mixed?"
            yield Finding("warning", "half tokenised", self._apart, self._apart + self._attached, about)
        for what, seen in self._traces.items():
            if seen.count:
                about = f"{self.name}: {_TRACES[what][2]}"
                yield Finding(rare(seen.count, self._lines), what, seen.count, self._lines, about, tuple(seen.kept))


def is_untokenized(text: Text, rows: int = 500) -> bool:
    """Whether punctuation stands at the ends of words, or whole clauses between two blanks, in the first rows."""
    seen = Tokenised("")
    seen.add(text, str)
    words = [word for row in range(min(len(text), rows)) for word in text.tokens(row)]
    unspaced = [len(word) for word in words if is_unspaced(word[0])]
    clauses = len(unspaced) * 5 > len(words) and sum(unspaced) > _LONG * len(unspaced)
    return seen.guess == "plain" or clauses


def _example(where: Callable[[int], str], row: int, line: str) -> Example:
    return Example.of(where(row), line)


def _class_of(character: str) -> int:
    if character.isspace():
        return _BLANK
    if character in ".,!?;:。，！？；：।؟،":
        return _MARK
    return _LETTER if character.isalnum() else _OTHER


_CLASSES = Classes(_class_of)
