"""Contamination: held-out text that occurs in training text, as whole texts or as n-grams of words.

Training text is read in chunks; only hashes of the held-out text are in memory. Brown et al. (2020, section 4) search
13-grams, Chowdhery et al. (2022, section 8) 8-grams. The default is 8, because sentences of XNLI are short. In scripts
without spaces characters are counted: 13 of Chinese or Japanese, 32 of Thai, Lao, Khmer or Burmese are about 8 words.

Text is compared by words in NFKC and case-folded, so that quotes, widths, case, punctuation and spaces do not matter. A
word is a run of letters, digits and marks; a character of an unspaced script is a word by itself.

Shapes: N characters, T words, L lines, G n-grams.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.settings import Settings
from interlace.data.inspection import MAX_EXCERPTS, Excerpt, Finding
from interlace.text.scripts import UNSPACED, is_unspaced, scripts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.data.inspection import Where
    from interlace.text import Text

    Hashes = NDArray[np.uint64]
    Rows = NDArray[np.int64]
    Mask = NDArray[np.bool_]

_IDEOGRAPHIC = frozenset({"Han", "Hiragana", "Katakana", "Bopomofo", "Yi"})


class OverlapRules(Settings):
    """Minimum length of text whose repetition is not a coincidence."""

    words: int = Field(8, ge=2, description="Words of an n-gram (PaLM: 8; GPT-3: 13).")
    characters: int = Field(13, ge=2, description="Characters of an n-gram in languages written in Han or Kana.")
    letters: int = Field(32, ge=2, description="Characters of an n-gram in other scripts without spaces, such as Thai.")
    min_words: int = Field(
        3, ge=1, description="Minimum of words of a text that is compared as a whole; twice as many characters."
    )

    def n(self, language: str) -> int:
        """Return the words (or characters) of an n-gram."""
        scripts = scripts_of(language)
        if not scripts & UNSPACED:
            return self.words
        return self.characters if scripts & _IDEOGRAPHIC else self.letters

    def min_length(self, language: str) -> int:
        """Return the minimum of words (or characters) of a text compared as a whole: 'Yes.' occurs everywhere."""
        return self.min_words * (2 if scripts_of(language) & UNSPACED else 1)


@dataclass(frozen=True)
class HeldOutSet:
    """Held-out examples of one task or corpus in one language.

    parts: by name, such as premise and hypothesis, a text per example. languages: of parts in another language.
    """

    name: str
    language: str
    parts: Mapping[str, Sequence[str]]
    languages: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return max(map(len, self.parts.values()), default=0)


@dataclass(frozen=True)
class Contamination:
    """Counts of the examples of one held-out set that occur in the training text.

    exact: examples with a text that occurs as a whole. ngram: examples with a text of which at least an n-gram occurs.
    parts: the two counts for each part. examples: a few of them with their places in the training text.
    """

    name: str
    language: str
    total: int
    exact: int
    ngram: int
    n: int
    parts: dict[str, tuple[int, int]]
    examples: tuple[Excerpt, ...] = ()

    def dump(self) -> dict[str, Any]:
        """Return plain data for JSON; `exact` and `ngram` are percent of the examples."""
        parts = {part: self._shares(*counts) for part, counts in self.parts.items()}
        return {
            "task": self.name,
            "language": self.language,
            "examples": self.total,
            "n": self.n,
            **self._shares(self.exact, self.ngram),
            "parts": parts if len(parts) > 1 else {},
            "shown": [{"where": example.where, "text": example.text} for example in self.examples],
        }

    def findings(self, *, ngrams: bool) -> Iterator[Finding]:
        """Yield findings for `interlace check`; n-grams are not reported for held-out text of the same corpus."""
        name, more = f"{self.name} ({self.language})", self.ngram - self.exact
        if self.exact:
            about = f"examples of {name} that occur in training text"
            yield Finding("warning", "contamination", self.exact, self.total, about, self.examples)
        if more and ngrams:
            about = f"further examples of {name} with {self.n} words or characters in a row that occur in training text"
            yield Finding("note", "n-gram overlap", more, self.total, about, () if self.exact else self.examples)

    def _shares(self, exact: int, ngram: int) -> dict[str, float]:
        return {key: round(100 * count / max(self.total, 1), 3) for key, count in (("exact", exact), ("ngram", ngram))}


class ContaminationCheck:
    """Searches held-out sets in training text: `hold_out` all sets, then `search` all text, then read `results`."""

    def __init__(self, rules: OverlapRules | None = None) -> None:
        self._rules = rules or OverlapRules()
        self._sets: list[HeldOutSet] = []
        self._parts: list[_Part] = []
        self._shown: list[list[Excerpt]] = []
        self._lines: KnownHashes | None = None  # of whole texts; built at the first search
        self._ngrams: dict[int, KnownHashes] = {}  # by n

    def __len__(self) -> int:
        return len(self._sets)

    def hold_out(self, held: HeldOutSet) -> None:
        """Add a held-out set."""
        for name, lines in held.parts.items():
            language = held.languages.get(name, held.language)
            tokens = hash_tokens(lines)
            whole = np.flatnonzero(tokens.lengths >= self._rules.min_length(language))
            self._parts.append(_Part(len(self._sets), name, lines, tokens, self._rules.n(language), whole))
        self._sets.append(held)
        self._shown.append([])

    def search(self, text: Text, where: Where) -> None:
        """Search a chunk of training text; `where` returns the place of each line."""
        known_lines = self._known_lines()
        tokens = hash_tokens(text.lines)
        rows, keys = known_lines.mark(tokens.lines())
        self._show(rows, *known_lines.owners(keys), where, lambda part, at: part.lines[int(part.whole[at])])
        n = self._rules.n(text.language)
        known = self._ngrams.get(n)
        if known is not None:
            hashes, starts = tokens.ngrams(n)
            found, keys = known.mark(hashes)
            rows = np.searchsorted(tokens.offsets, starts[found], side="right") - 1
            self._show(rows, *known.owners(keys), where, lambda part, at: f".. {part.ngram(at)} ..")

    def results(self) -> list[Contamination]:
        """Return the contamination of each set, in the order of `hold_out`."""
        known_lines = self._known_lines()
        return [self._result(known_lines, number, held) for number, held in enumerate(self._sets)]

    def _known_lines(self) -> KnownHashes:
        if self._lines is None:
            self._lines = KnownHashes([part.tokens.lines()[part.whole] for part in self._parts])
            none = np.zeros(0, np.uint64)  # keeps the numbers of parts
            for n in {part.n for part in self._parts}:
                self._ngrams[n] = KnownHashes(
                    [part.tokens.ngrams(n)[0] if part.n == n else none for part in self._parts]
                )
        return self._lines

    def _result(self, known_lines: KnownHashes, number: int, held: HeldOutSet) -> Contamination:
        marks = {
            part.name: self._marks(known_lines, at, part)
            for at, part in enumerate(self._parts)
            if part.number == number
        }
        either = [np.logical_or.reduce([both[kind] for both in marks.values()]) for kind in (0, 1)] if marks else []
        return Contamination(
            name=held.name,
            language=held.language,
            total=len(held),
            exact=int(either[0].sum()) if either else 0,
            ngram=int(either[1].sum()) if either else 0,
            n=self._rules.n(held.language),
            parts={name: (int(exact.sum()), int(ngram.sum())) for name, (exact, ngram) in marks.items()},
            examples=tuple(self._shown[number]),
        )

    def _marks(self, known_lines: KnownHashes, at: int, part: _Part) -> tuple[Mask, Mask]:
        """Return which texts of a part were found as a whole, and which as a whole or by an n-gram."""
        exact = np.zeros(len(part.lines), np.bool_)
        exact[part.whole] = known_lines.marked(at)
        ngram = exact.copy()
        ngram[part.rows_of_ngrams()[self._ngrams[part.n].marked(at)]] = True
        return exact, ngram

    def _show(self, rows: Rows, parts: Rows, places: Rows, where: Where, shown: Callable[[_Part, int], str]) -> None:
        """Keep the first few of each set, one per line of training text."""
        for at in np.unique(parts).tolist():
            kept = self._shown[self._parts[at].number]
            mine = np.flatnonzero(parts == at)
            mine = mine[np.lexsort((places[mine], rows[mine]))]
            mine = mine[np.unique(rows[mine], return_index=True)[1]]
            for row, place in zip(rows[mine].tolist(), places[mine].tolist(), strict=True):
                if len(kept) == MAX_EXCERPTS:
                    break
                kept.append(Excerpt.of(where(row), shown(self._parts[at], place)))


def find_contamination(
    texts: Iterable[tuple[Text, Where]], held_out: Iterable[HeldOutSet], rules: OverlapRules | None = None
) -> list[Contamination]:
    """Return the contamination of each held-out set.

    texts: chunks of training text with the place of each line; they are read once, one chunk at a time.
    """
    check = ContaminationCheck(rules)
    for held in held_out:
        check.hold_out(held)
    for text, where in texts:
        check.search(text, where)
    return check.results()


@dataclass(frozen=True)
class _Part:
    """The texts of one part of a set. n: words of an n-gram; whole: which texts are compared as a whole."""

    number: int  # of the set
    name: str
    lines: Sequence[str]
    tokens: HashedTokens
    n: int
    whole: Rows

    def rows_of_ngrams(self) -> Rows:
        """Return the text of each n-gram."""
        return np.repeat(np.arange(len(self.lines)), np.maximum(self.tokens.lengths - self.n + 1, 0))

    def ngram(self, number: int) -> str:
        """Return an n-gram as words."""
        rows = self.rows_of_ngrams()
        row = int(rows[number])
        first = number - int(np.searchsorted(rows, row))
        return " ".join(tokens_of(self.lines[row])[first : first + self.n])


class KnownHashes:
    """A sorted set of hashes from several parts, for lookup of whole arrays; marks those that were found."""

    _FILTER_BITS = 22  # a table of 4 MB, which fits the CPU cache, rejects most hashes

    def __init__(self, parts: Sequence[Hashes]) -> None:
        every = np.concatenate([np.zeros(0, np.uint64), *parts])
        self._bounds = np.cumsum([0, *map(len, parts)])
        self._keys, self._first, self._inverse = np.unique(every, return_index=True, return_inverse=True)
        self._found = np.zeros(len(self._keys), np.bool_)
        self._filter = np.zeros(1 << self._FILTER_BITS, np.bool_)
        self._filter[self._cells(self._keys)] = True

    def mark(self, hashes: Hashes) -> tuple[Rows, Rows]:
        """Mark known hashes; return the indices of those found for the first time, and their keys."""
        rows = np.flatnonzero(self._filter[self._cells(hashes)])
        if not len(rows) or not len(self._keys):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        keys = np.minimum(np.searchsorted(self._keys, hashes[rows]), len(self._keys) - 1)
        fresh = (self._keys[keys] == hashes[rows]) & ~self._found[keys]
        keys, first = np.unique(keys[fresh], return_index=True)
        self._found[keys] = True
        return rows[fresh][first], keys

    def owners(self, keys: Rows) -> tuple[Rows, Rows]:
        """Return the first part that has each key, and the index in it."""
        places = self._first[keys]
        parts = np.searchsorted(self._bounds, places, side="right") - 1
        return parts, places - self._bounds[parts]

    def marked(self, part: int) -> Mask:
        """Return which hashes of a part are marked, in their original order."""
        found: Mask = self._found[self._inverse[self._bounds[part] : self._bounds[part + 1]]]
        return found

    def _cells(self, hashes: Hashes) -> Rows:
        return (hashes >> np.uint64(64 - self._FILTER_BITS)).astype(np.int64)


@dataclass(frozen=True)
class HashedTokens:
    """hashes: (T,) of the words; offsets: (L + 1,) the first word of each line."""

    hashes: Hashes
    offsets: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(L,) words per line."""
        return np.diff(self.offsets)

    def lines(self) -> Hashes:
        """(L,) a hash of each line's words in order; 0 for lines without words."""
        from interlace.data._hash_kernels import hash_lines

        found = np.zeros(len(self.offsets) - 1, np.uint64)
        hash_lines(self.hashes, self.offsets, found)
        return found

    def ngrams(self, n: int) -> tuple[Hashes, NDArray[np.int64]]:
        """(G,) a hash of every n-gram within a line, and (G,) its first word."""
        from interlace.data._hash_kernels import hash_grams

        found, starts = np.empty(len(self.hashes), np.uint64), np.empty(len(self.hashes), np.int64)
        count = hash_grams(self.hashes, self.offsets, n, found, starts)
        return found[:count], starts[:count]


_END = "\0"  # ends a line in the joined text; a space inside lines
_UNKNOWN, _BETWEEN, _LETTER, _ALONE = 0, 1, 2, 3  # classes of characters; the kernels use the last two
_CODE_POINTS = 0x110000


def hash_tokens(lines: Sequence[str]) -> HashedTokens:
    """Return hashes of the words of each line, the same on all machines."""
    from interlace.data._hash_kernels import hash_words

    text = "".join(f"{line}{_END}" for line in lines)
    if text.count(_END) > len(lines):
        text = "".join(f"{line.replace(_END, ' ')}{_END}" for line in lines)
    points = np.frombuffer(_folded(text).encode("utf-32-le", "surrogatepass"), "<u4")  # (N,)
    hashes, offsets = np.empty(len(points), np.uint64), np.zeros(len(lines) + 1, np.int64)
    words = hash_words(points, _classes(points), hashes, offsets)
    return HashedTokens(hashes[:words].copy(), offsets)


def tokens_of(line: str) -> list[str]:
    """Return the words of one line as they are compared, for display."""
    found: list[str] = []
    last = _BETWEEN
    for sign in _folded(line):
        kind = _class_of(sign)
        if kind == _LETTER == last:
            found[-1] += sign
        elif kind != _BETWEEN:
            found.append(sign)
        last = kind
    return found


def _folded(text: str) -> str:
    text = text.casefold()
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFKC", text).casefold()


def _classes(points: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """(N,) the class of each character, computed at its first occurrence."""
    table = _class_table()
    classes = table[points]
    if not classes.all():
        for point in np.unique(points[classes == _UNKNOWN]).tolist():
            table[point] = _class_of(chr(point))
        classes = table[points]
    return classes


def _class_of(sign: str) -> int:
    if not (sign.isalnum() or unicodedata.category(sign)[0] == "M"):
        return _BETWEEN
    return _ALONE if is_unspaced(sign) else _LETTER


@cache
def _class_table() -> NDArray[np.uint8]:
    return np.zeros(_CODE_POINTS, np.uint8)
