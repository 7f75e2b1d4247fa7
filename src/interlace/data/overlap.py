"""Test text in training text: whole texts, and n words in a row, by hashes of the test text alone.

Training text streams by; memory grows with the test sets. What counts as the same is said in `_token_hashes`.
Brown et al. (2020, section 4) look for 13 words in a row, Chowdhery et al. (2022, section 8) for 8. We take 8, as
sentences of XNLI are short. In scripts without blanks characters are counted: 13 of Chinese or Japanese, 32 of Thai,
Lao, Khmer or Burmese are about 8 words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.settings import Settings
from interlace.data._known_hashes import KnownHashes
from interlace.data._token_hashes import Tokens, hash_tokens, tokens_of
from interlace.data.inspection import SHOWN, Example
from interlace.text.scripts import UNSPACED, scripts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.text import Text

    Rows = NDArray[np.int64]
    Mask = NDArray[np.bool_]
    Where = Callable[[int], str]

_IDEOGRAPHIC = frozenset({"Han", "Hiragana", "Katakana", "Bopomofo", "Yi"})


class Grams(Settings):
    """How long a stretch of text must be to be no accident."""

    words: int = Field(8, ge=2, description="Words in a row (PaLM: 8; GPT-3: 13).")
    characters: int = Field(13, ge=2, description="Characters in a row, of languages written in Han or Kana.")
    letters: int = Field(32, ge=2, description="Characters in a row, of other scripts without blanks, such as Thai.")
    least: int = Field(3, ge=1, description="Words of the shortest text compared as a whole; twice as many characters.")

    def of(self, language: str) -> int:
        """Words (or characters) in a row."""
        scripts = scripts_of(language)
        if not scripts & UNSPACED:
            return self.words
        return self.characters if scripts & _IDEOGRAPHIC else self.letters

    def shortest(self, language: str) -> int:
        """Words (or characters) of the shortest text compared as a whole: 'Yes.' is the same everywhere."""
        return self.least * (2 if scripts_of(language) & UNSPACED else 1)


@dataclass(frozen=True)
class TestSet:
    """The test examples of one task in one language.

    parts: by name, such as premise and hypothesis, a text of each example. languages: of a part, where it is another.
    """

    __test__ = False  # no class of pytest's

    name: str
    language: str
    parts: Mapping[str, Sequence[str]]
    languages: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return max(map(len, self.parts.values()), default=0)


@dataclass(frozen=True)
class Leak:
    """How much of one test set stands in the training text.

    exact: examples of which a text stands there as a whole. grams: examples of which a text or `n` words of it in a
    row do. parts: the two counts for each part. examples: a few of them with their places in the training text.
    """

    name: str
    language: str
    total: int
    exact: int
    grams: int
    n: int
    parts: dict[str, tuple[int, int]]
    examples: tuple[Example, ...] = ()

    def dump(self) -> dict[str, Any]:
        """Plain data for JSON; `exact` and `ngram` are percent of the examples."""
        parts = {part: self._shares(*counts) for part, counts in self.parts.items()}
        return {
            "task": self.name,
            "language": self.language,
            "examples": self.total,
            "n": self.n,
            **self._shares(self.exact, self.grams),
            "parts": parts if len(parts) > 1 else {},
            "shown": [{"where": example.where, "text": example.text} for example in self.examples],
        }

    def _shares(self, exact: int, grams: int) -> dict[str, float]:
        return {key: round(100 * count / max(self.total, 1), 3) for key, count in (("exact", exact), ("ngram", grams))}


@dataclass(frozen=True)
class _Part:
    """The texts of one part of a test set. n: words in a row; whole: which texts are compared as a whole."""

    number: int  # of the set
    name: str
    lines: Sequence[str]
    tokens: Tokens
    n: int
    whole: Rows

    def rows_of_grams(self) -> Rows:
        """The text that each gram is from."""
        return np.repeat(np.arange(len(self.lines)), np.maximum(self.tokens.lengths - self.n + 1, 0))

    def gram(self, number: int) -> str:
        """A gram as words, to be shown."""
        rows = self.rows_of_grams()
        row = int(rows[number])
        first = number - int(np.searchsorted(rows, row))
        return " ".join(tokens_of(self.lines[row])[first : first + self.n])


class Overlap:
    """Test sets beside training text: hold out all sets, close, meet all training text, and ask for leaks."""

    def __init__(self, grams: Grams | None = None) -> None:
        self._grams = grams or Grams()
        self._sets: list[TestSet] = []
        self._parts: list[_Part] = []
        self._shown: list[list[Example]] = []
        self._lines = KnownHashes([])
        self._known: dict[int, KnownHashes] = {}

    def hold_out(self, held: TestSet) -> None:
        """A test set that should not be trained on."""
        for name, lines in held.parts.items():
            language = held.languages.get(name, held.language)
            tokens = hash_tokens(lines)
            whole = np.flatnonzero(tokens.lengths >= self._grams.shortest(language))
            self._parts.append(_Part(len(self._sets), name, lines, tokens, self._grams.of(language), whole))
        self._sets.append(held)
        self._shown.append([])

    def close(self) -> None:
        """All sets are there; training text may come."""
        self._lines = KnownHashes([part.tokens.lines()[part.whole] for part in self._parts])
        for n in {part.n for part in self._parts}:
            none = np.zeros(0, np.uint64)  # parts keep their numbers
            self._known[n] = KnownHashes([part.tokens.grams(n)[0] if part.n == n else none for part in self._parts])

    def meet(self, text: Text, where: Where) -> None:
        """A chunk of training text; `where` names the place of each line."""
        tokens = hash_tokens(text.lines)
        rows, keys = self._lines.meet(tokens.lines())
        self._show(rows, *self._lines.owners(keys), where, lambda part, at: part.lines[int(part.whole[at])])
        known = self._known.get(self._grams.of(text.language))
        if known is not None:
            hashes, starts = tokens.grams(self._grams.of(text.language))
            found, keys = known.meet(hashes)
            rows = np.searchsorted(tokens.offsets, starts[found], side="right") - 1
            self._show(rows, *known.owners(keys), where, lambda part, at: f".. {part.gram(at)} ..")

    def leaks(self) -> list[Leak]:
        """How much of each set was met, in the order in which the sets were held out."""
        return [self._leak(number, held) for number, held in enumerate(self._sets)]

    def _leak(self, number: int, held: TestSet) -> Leak:
        marks = {part.name: self._marks(at, part) for at, part in enumerate(self._parts) if part.number == number}
        either = [np.logical_or.reduce([both[kind] for both in marks.values()]) for kind in (0, 1)] if marks else []
        return Leak(
            name=held.name,
            language=held.language,
            total=len(held),
            exact=int(either[0].sum()) if either else 0,
            grams=int(either[1].sum()) if either else 0,
            n=self._grams.of(held.language),
            parts={name: (int(exact.sum()), int(grams.sum())) for name, (exact, grams) in marks.items()},
            examples=tuple(self._shown[number]),
        )

    def _marks(self, at: int, part: _Part) -> tuple[Mask, Mask]:
        """Which texts of a part were met as a whole, and which as a whole or in a gram."""
        exact = np.zeros(len(part.lines), np.bool_)
        exact[part.whole] = self._lines.met_in(at)
        grams = exact.copy()
        grams[part.rows_of_grams()[self._known[part.n].met_in(at)]] = True
        return exact, grams

    def _show(self, rows: Rows, parts: Rows, places: Rows, where: Where, shown: Callable[[_Part, int], str]) -> None:
        """Keep the first few of each set, one a line of training text."""
        for at in np.unique(parts).tolist():
            kept = self._shown[self._parts[at].number]
            mine = np.flatnonzero(parts == at)
            mine = mine[np.lexsort((places[mine], rows[mine]))]
            mine = mine[np.unique(rows[mine], return_index=True)[1]]
            for row, place in zip(rows[mine].tolist(), places[mine].tolist(), strict=True):
                if len(kept) == SHOWN:
                    break
                kept.append(Example.of(where(row), shown(self._parts[at], place)))


def leaks(texts: Iterable[tuple[Text, Where]], tests: Iterable[TestSet], grams: Grams | None = None) -> list[Leak]:
    """How much of each test set stands in the training text.

    texts: chunks of training text, with what names the place of each line. They are read once, and one chunk at a
    time is in memory.
    """
    overlap = Overlap(grams)
    for held in tests:
        overlap.hold_out(held)
    overlap.close()
    for text, where in texts:
        overlap.meet(text, where)
    return overlap.leaks()
