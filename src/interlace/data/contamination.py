"""Contamination: held-out text that occurs in training text, as whole texts or as n-grams of words.

Training text is read in chunks; only hashes of the held-out text are in memory. Brown et al. (2020, section 4) search
13-grams, Chowdhery et al. (2022, section 8) 8-grams. Here it is 8, because sentences of XNLI are short. In scripts
without spaces characters are counted: 13 of Chinese or Japanese, 32 of Thai, Lao, Khmer or Burmese are about 8 words.

Words are those of `data.hashing`, which compares text without case, punctuation and spaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlace.data.inspection import MAX_EXCERPTS, Excerpt, Finding, Where
from interlace.text.scripts import UNSPACED, scripts_of

if TYPE_CHECKING:
    from interlace.data.hashing import HashedTokens
    from interlace.text import Text

    Hashes = NDArray[np.uint64]
    Rows = NDArray[np.int64]

_IDEOGRAPHIC = frozenset({"Han", "Hiragana", "Katakana", "Bopomofo", "Yi"})
_WHOLE = 0  # in place of n: whole texts


_NGRAM_WORDS = 8  # of an n-gram
_NGRAM_IDEOGRAPHS = 13  # characters of an n-gram in languages written in Han or Kana
_NGRAM_LETTERS = 32  # and in other scripts without spaces
_MIN_WORDS = 3  # of a text compared as a whole: "Yes." occurs everywhere
_MIN_CHARACTERS = 6  # the same in scripts without spaces


def ngram_length(language: str) -> int:
    """Return the words (or characters) of an n-gram whose repetition is not a coincidence."""
    scripts = scripts_of(language)
    if not scripts & UNSPACED:
        return _NGRAM_WORDS
    return _NGRAM_IDEOGRAPHS if scripts & _IDEOGRAPHIC else _NGRAM_LETTERS


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
    parts: the two counts for each part. examples: a few with their training lines, the first `whole` are exact.
    """

    name: str
    language: str
    total: int
    exact: int
    ngram: int
    n: int
    parts: dict[str, tuple[int, int]]
    examples: tuple[Excerpt, ...] = ()
    whole: int = 0

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
            yield Finding("warning", "contamination", self.exact, self.total, about, self.examples[: self.whole])
        if more and ngrams:
            about = f"further examples of {name} with {self.n} words or characters in a row that occur in training text"
            yield Finding("note", "n-gram overlap", more, self.total, about, () if self.exact else self.examples)

    def _shares(self, exact: int, ngram: int) -> dict[str, float]:
        return {key: round(100 * count / max(self.total, 1), 3) for key, count in (("exact", exact), ("ngram", ngram))}


class ContaminationCheck:
    """Searches held-out sets in training text: `hold_out` all sets, then `search` all text, then read `results`."""

    def __init__(self) -> None:
        self._sets: list[HeldOutSet] = []
        self._parts: list[_Part] = []
        self._shown: list[tuple[list[Excerpt], list[Excerpt]]] = []  # of each set: whole texts, n-grams

    def __len__(self) -> int:
        return len(self._sets)

    def hold_out(self, held: HeldOutSet) -> None:
        """Add a held-out set."""
        from interlace.data.hashing import hash_tokens

        for name, lines in held.parts.items():
            language = held.languages.get(name, held.language)
            tokens = hash_tokens(lines)
            min_length = _MIN_CHARACTERS if scripts_of(language) & UNSPACED else _MIN_WORDS
            whole = np.flatnonzero(tokens.lengths >= min_length)
            self._parts.append(_Part(len(self._sets), name, tokens, ngram_length(language), whole))
        self._sets.append(held)
        self._shown.append(([], []))

    def search(self, text: Text, where: Where) -> None:
        """Search a chunk of training text; `where` returns the place of each line."""
        from interlace.data.hashing import hash_tokens

        tokens = hash_tokens(text.lines)
        rows, keys = self._known[_WHOLE].mark(tokens.line_hashes())
        self._show(_WHOLE, rows, keys, where)
        n = ngram_length(text.language)
        if n in self._known:
            hashes, starts = tokens.ngrams(n)
            found, keys = self._known[n].mark(hashes)
            self._show(n, tokens.rows(starts[found]), keys, where)

    def results(self) -> list[Contamination]:
        """Return the contamination of each set, in the order of `hold_out`."""
        return [self._result(number, held) for number, held in enumerate(self._sets)]

    @cached_property
    def _known(self) -> dict[int, KnownHashes]:
        """The hashes of whole texts, and of n-grams by n; built at the first search."""
        numbers = {_WHOLE, *(part.n for part in self._parts)}
        return {n: KnownHashes([part.hashes(n) for part in self._parts]) for n in numbers}

    def _result(self, number: int, held: HeldOutSet) -> Contamination:
        marks = {}  # by part: which texts were found as a whole, and which as a whole or by an n-gram
        for at, part in enumerate(self._parts):
            if part.number == number:
                exact = np.zeros(len(part.tokens.lines), np.bool_)
                exact[part.whole] = self._known[_WHOLE].marked(at)
                ngram = exact.copy()
                ngram[part.tokens.rows(part.tokens.ngrams(part.n)[1][self._known[part.n].marked(at)])] = True
                marks[part.name] = (exact, ngram)
        either = [np.logical_or.reduce([both[kind] for both in marks.values()]) for kind in (0, 1)]
        return Contamination(
            name=held.name,
            language=held.language,
            total=len(held),
            exact=int(either[0].sum()),
            ngram=int(either[1].sum()),
            n=ngram_length(held.language),
            parts={name: (int(exact.sum()), int(ngram.sum())) for name, (exact, ngram) in marks.items()},
            examples=(*self._shown[number][0], *self._shown[number][1])[:MAX_EXCERPTS],
            whole=len(self._shown[number][0]),
        )

    def _show(self, n: int, rows: Rows, keys: Rows, where: Where) -> None:
        """Keep the first few of each set, one per line of training text."""
        parts, places = self._known[n].owners(keys)
        for at in np.unique(parts).tolist():
            part = self._parts[at]
            kept = self._shown[part.number][n != _WHOLE]
            mine = np.flatnonzero(parts == at)
            mine = mine[np.lexsort((places[mine], rows[mine]))]
            mine = mine[np.unique(rows[mine], return_index=True)[1]]
            for row, place in zip(rows[mine].tolist(), places[mine].tolist(), strict=True):
                if len(kept) == MAX_EXCERPTS:
                    break
                ngram = n != _WHOLE
                shown = f".. {part.tokens.ngram_text(n, place)} .." if ngram else part.tokens.lines[part.whole[place]]
                kept.append(Excerpt.of(where(row), shown))


def find_contamination(texts: Iterable[tuple[Text, Where]], held_out: Iterable[HeldOutSet]) -> list[Contamination]:
    """Return the contamination of each held-out set; texts: chunks, read once, with the place of each line."""
    check = ContaminationCheck()
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
    tokens: HashedTokens
    n: int
    whole: Rows

    def hashes(self, n: int) -> Hashes:
        """Return the hashes of whole texts or of n-grams; none for the n of other languages."""
        if n == _WHOLE:
            return self.tokens.line_hashes()[self.whole]
        return self.tokens.ngrams(n)[0] if n == self.n else np.zeros(0, np.uint64)


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
        """Return for each key the first part that contains it, and its index in that part."""
        places = self._first[keys]
        parts = np.searchsorted(self._bounds, places, side="right") - 1
        return parts, places - self._bounds[parts]

    def marked(self, part: int) -> NDArray[np.bool_]:
        """Return which hashes of a part are marked, in their original order."""
        return np.asarray(self._found[self._inverse[self._bounds[part] : self._bounds[part + 1]]])

    def _cells(self, hashes: Hashes) -> Rows:
        return (hashes >> np.uint64(64 - self._FILTER_BITS)).astype(np.int64)
