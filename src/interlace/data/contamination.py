"""Contamination: held-out text that occurs in training text, as whole texts or as n-grams of words.

Training text is read in chunks; only hashes of the held-out text are in memory. Brown et al. (2020, section 4) search
13-grams, Chowdhery et al. (2022, section 8) 8-grams. We search 8-grams, because sentences of XNLI are short. In scripts
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

from interlace.data.inspection import MAX_EXCERPTS, Excerpt, Finding, RowName
from interlace.text.scripts import UNSPACED, scripts_of

if TYPE_CHECKING:
    from interlace.data.hashing import HashedTokens
    from interlace.text import Text

    Hashes = NDArray[np.uint64]
    Numbers = NDArray[np.int64]

_IDEOGRAPHIC = frozenset({"Han", "Hiragana", "Katakana", "Bopomofo", "Yi"})
_NGRAM_WORDS = 8
_NGRAM_IDEOGRAPHS = 13  # in languages written in Han or Kana
_NGRAM_LETTERS = 32  # in other scripts without spaces
_MIN_WORDS = 3  # of a text that is compared as a whole; twice as many characters
_WHOLE = 0  # in place of n: whole texts


def ngram_length(language: str) -> int:
    """Return the words (or characters) of an n-gram whose repetition is not a coincidence."""
    scripts = scripts_of(language)
    if not scripts & UNSPACED:
        return _NGRAM_WORDS
    if scripts & _IDEOGRAPHIC:
        return _NGRAM_IDEOGRAPHS
    return _NGRAM_LETTERS


def _min_length(language: str) -> int:
    """Return the minimum of words (or characters) of a text compared as a whole: 'Yes.' occurs everywhere."""
    if scripts_of(language) & UNSPACED:
        return 2 * _MIN_WORDS
    return _MIN_WORDS


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
    examples: a few with their training lines, the first `whole` are exact.
    """

    name: str
    language: str
    total: int
    exact: int
    ngram: int
    n: int
    examples: tuple[Excerpt, ...] = ()
    whole: int = 0

    def dump(self) -> dict[str, Any]:
        """Return plain data for JSON; `exact` and `ngram` are percent of the examples."""
        return {
            "task": self.name,
            "language": self.language,
            "examples": self.total,
            "n": self.n,
            "exact": self._percent(self.exact),
            "ngram": self._percent(self.ngram),
            "shown": [{"where": example.where, "text": example.text} for example in self.examples],
        }

    def findings(self, *, ngrams: bool) -> Iterator[Finding]:
        """Yield findings for `interlace check`; n-grams are not reported for held-out text of the same corpus."""
        name = f"{self.name} ({self.language})"
        if self.exact:
            about = f"examples of {name} that occur in training text"
            examples = self.examples[: self.whole]
            yield Finding("warning", "contamination", self.exact, self.total, about, examples)
        only_ngram = self.ngram - self.exact
        if only_ngram and ngrams:
            about = f"further examples of {name} with {self.n} words or characters in a row that occur in training text"
            examples = () if self.exact else self.examples
            yield Finding("note", "n-gram overlap", only_ngram, self.total, about, examples)

    def _percent(self, count: int) -> float:
        return round(100 * count / max(self.total, 1), 3)


class ContaminationCheck:
    """Searches held-out sets in training text: `hold_out` all sets, then `search` all text, then read `results`."""

    def __init__(self) -> None:
        self._sets: list[_SearchedSet] = []
        self._parts: list[_Part] = []

    def __len__(self) -> int:
        return len(self._sets)

    def hold_out(self, held_out: HeldOutSet) -> None:
        """Add a held-out set."""
        from interlace.data.hashing import hash_tokens

        searched = _SearchedSet(held_out)
        self._sets.append(searched)
        for name, lines in held_out.parts.items():
            language = held_out.languages.get(name, held_out.language)
            tokens = hash_tokens(lines)
            long_texts = np.flatnonzero(tokens.lengths >= _min_length(language))
            self._parts.append(_Part(searched, tokens, ngram_length(language), long_texts))

    def search(self, text: Text, row_name: RowName) -> None:
        """Search a chunk of training text; `row_name` returns the name of each line."""
        from interlace.data.hashing import hash_tokens

        tokens = hash_tokens(text.lines)
        rows, keys = self._known[_WHOLE].mark(tokens.line_hashes())
        self._add_examples(_WHOLE, rows, keys, row_name)
        n = ngram_length(text.language)
        if n in self._known:
            hashes, starts = tokens.ngrams(n)
            ngrams, keys = self._known[n].mark(hashes)
            self._add_examples(n, tokens.rows(starts[ngrams]), keys, row_name)

    def results(self) -> list[Contamination]:
        """Return the contamination of each set, in the order of `hold_out`."""
        return [self._result(searched) for searched in self._sets]

    @cached_property
    def _known(self) -> dict[int, KnownHashes]:
        """The hashes of whole texts, and of n-grams by n; built at the first search."""
        lengths = {_WHOLE, *(part.n for part in self._parts)}
        return {n: KnownHashes([part.hashes(n) for part in self._parts]) for n in lengths}

    def _result(self, searched: _SearchedSet) -> Contamination:
        held_out = searched.held_out
        exact = np.zeros(len(held_out), np.bool_)  # (examples,)
        ngram = np.zeros(len(held_out), np.bool_)
        for number, part in enumerate(self._parts):
            if part.searched is searched:
                exact[part.whole] |= self._known[_WHOLE].marked(number)
                _, first_words = part.tokens.ngrams(part.n)
                ngram[part.tokens.rows(first_words[self._known[part.n].marked(number)])] = True
        return Contamination(
            name=held_out.name,
            language=held_out.language,
            total=len(held_out),
            exact=int(exact.sum()),
            ngram=int((exact | ngram).sum()),
            n=ngram_length(held_out.language),
            examples=(*searched.whole_texts, *searched.ngrams)[:MAX_EXCERPTS],
            whole=len(searched.whole_texts),
        )

    def _add_examples(self, n: int, rows: Numbers, keys: Numbers, row_name: RowName) -> None:
        """Keep the first few of each set, one per line of training text.

        rows, keys: (found,) lines of the training text, and the hashes found there.
        """
        part_numbers, indices = self._known[n].owners(keys)
        order = np.lexsort((indices, rows, part_numbers))
        last_row = (-1, -1)
        for position in order.tolist():
            part = self._parts[part_numbers[position]]
            row = (int(part_numbers[position]), int(rows[position]))
            index = int(indices[position])
            if n == _WHOLE:
                examples = part.searched.whole_texts
            else:
                examples = part.searched.ngrams
            if row == last_row or len(examples) == MAX_EXCERPTS:
                continue
            last_row = row
            if n == _WHOLE:
                text = part.tokens.lines[part.whole[index]]
            else:
                text = f".. {part.tokens.ngram_text(n, index)} .."
            examples.append(Excerpt.of(row_name(row[1]), text))


def find_contamination(
    texts: Iterable[tuple[Text, RowName]], held_out_sets: Iterable[HeldOutSet]
) -> list[Contamination]:
    """Return the contamination of each held-out set; texts: chunks, read once, with the name of each line."""
    check = ContaminationCheck()
    for held_out in held_out_sets:
        check.hold_out(held_out)
    for text, row_name in texts:
        check.search(text, row_name)
    return check.results()


@dataclass(frozen=True, eq=False)
class _SearchedSet:
    """A held-out set and examples of it in training text: of whole texts, and of n-grams."""

    held_out: HeldOutSet
    whole_texts: list[Excerpt] = field(default_factory=list)
    ngrams: list[Excerpt] = field(default_factory=list)


@dataclass(frozen=True)
class _Part:
    """The texts of one part of a set. n: words of an n-gram; whole: which texts are compared as a whole."""

    searched: _SearchedSet
    tokens: HashedTokens
    n: int
    whole: Numbers

    def hashes(self, n: int) -> Hashes:
        """Return the hashes of whole texts or of n-grams; none for the n of other languages."""
        if n == _WHOLE:
            return self.tokens.line_hashes()[self.whole]
        if n == self.n:
            return self.tokens.ngrams(n)[0]
        return np.zeros(0, np.uint64)


class KnownHashes:
    """A sorted set of hashes from several parts, for lookup of whole arrays; marks those that were found."""

    _FILTER_BITS = 22  # a table of 4 MB, which fits the CPU cache, rejects most hashes

    def __init__(self, parts: Sequence[Hashes]) -> None:
        hashes = np.concatenate([np.zeros(0, np.uint64), *parts])
        self._bounds = np.cumsum([0, *map(len, parts)])  # (parts + 1,)
        self._keys, self._first, self._inverse = np.unique(
            hashes, return_index=True, return_inverse=True
        )
        self._is_marked = np.zeros(len(self._keys), np.bool_)
        self._filter = np.zeros(1 << self._FILTER_BITS, np.bool_)
        self._filter[self._cells(self._keys)] = True

    def mark(self, hashes: Hashes) -> tuple[Numbers, Numbers]:
        """Mark known hashes; return the indices of those found for the first time, and their keys."""
        rows = np.flatnonzero(self._filter[self._cells(hashes)])
        if not len(rows) or not len(self._keys):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        keys = np.minimum(np.searchsorted(self._keys, hashes[rows]), len(self._keys) - 1)
        is_new = (self._keys[keys] == hashes[rows]) & ~self._is_marked[keys]
        keys, first = np.unique(keys[is_new], return_index=True)
        self._is_marked[keys] = True
        return rows[is_new][first], keys

    def owners(self, keys: Numbers) -> tuple[Numbers, Numbers]:
        """Return for each key the first part that contains it, and its index in that part."""
        positions = self._first[keys]
        parts = np.searchsorted(self._bounds, positions, side="right") - 1
        return parts, positions - self._bounds[parts]

    def marked(self, part: int) -> NDArray[np.bool_]:
        """Return which hashes of a part are marked, in their original order."""
        keys = self._inverse[self._bounds[part] : self._bounds[part + 1]]
        return np.asarray(self._is_marked[keys])

    def _cells(self, hashes: Hashes) -> Numbers:
        return (hashes >> np.uint64(64 - self._FILTER_BITS)).astype(np.int64)
