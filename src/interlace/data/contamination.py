"""Contamination: held-out text that occurs in training text, as whole lines or as n-grams of words.

Training text is read in chunks; only hashes of the held-out text are in memory. Brown et al. (2020, section 4) search
13-grams, Chowdhery et al. (2022, section 8) 8-grams. We search 8-grams, because sentences of XNLI are short. In scripts
without spaces characters are counted: 13 of Chinese or Japanese, 32 of Thai, Lao, Khmer or Burmese are about 8 words.

Words are those of `data.hashing`, which compares text without case, punctuation and spaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interlace.core.json_files import JsonObject
from interlace.core.ragged import IntArray
from interlace.data.filters import Chunk, sides
from interlace.data.findings import MAX_EXCERPTS, Excerpt, Finding, RowNames
from interlace.text.scripts import UNSPACED, scripts_of

if TYPE_CHECKING:
    from interlace.text import Text

    Hashes = NDArray[np.uint64]
    Rows = IntArray

_IDEOGRAPHIC = frozenset({"Han", "Hiragana", "Katakana", "Bopomofo", "Yi"})
_NGRAM_WORDS = 8
_NGRAM_IDEOGRAPHS = 13  # in languages written in Han or Kana
_NGRAM_LETTERS = 32  # in other scripts without spaces
_MIN_WORDS = 3  # of a line that is compared as a whole; twice as many characters
_WHOLE = 0  # in place of n: whole lines
_NEVER = np.iinfo(np.int64).max  # in place of the number of a training line
_FILTER_BITS = 22  # a table of 4 MB, which fits the CPU cache, rejects most hashes


def ngram_length(language: str) -> int:
    """Return the words (or characters) of an n-gram whose repetition is not a coincidence."""
    scripts = scripts_of(language)
    if not scripts & UNSPACED:
        return _NGRAM_WORDS
    if scripts & _IDEOGRAPHIC:
        return _NGRAM_IDEOGRAPHS
    return _NGRAM_LETTERS


def _min_length(language: str) -> int:
    """Return the minimum of words (or characters) of a line compared as a whole: 'Yes.' occurs everywhere."""
    if scripts_of(language) & UNSPACED:
        return 2 * _MIN_WORDS
    return _MIN_WORDS


@dataclass(frozen=True)
class HeldOutSet:
    """A split of a task or corpus in one language; each line or pair of its chunks is an example."""

    name: str
    split: str
    language: str
    chunks: Sequence[Chunk]

    def __len__(self) -> int:
        return sum(map(len, self.chunks))

    def __str__(self) -> str:
        return f"{self.name}.{self.split}.{self.language}"

    def lines(self, example: int) -> list[str]:
        """Return the line of an example, or the two of a pair."""
        for chunk in self.chunks:
            if example < len(chunk):
                return [text.lines[example] for text in sides(chunk)]
            example -= len(chunk)
        raise IndexError(example)


@dataclass(frozen=True)
class ContaminatedExamples:
    """The number of examples that occur in training text, and a few of them with the names of training lines."""

    count: int
    excerpts: tuple[Excerpt, ...]


@dataclass(frozen=True)
class Contamination:
    """Examples of a held-out set with a line that occurs in training text, and others with an n-gram that does."""

    held_out: HeldOutSet
    exact: ContaminatedExamples
    ngram: ContaminatedExamples

    def dump(self) -> JsonObject:
        """Return plain data for JSON: percent of the examples with a whole line, and with at least an n-gram."""
        percent = 100 / max(len(self.held_out), 1)
        excerpts = (*self.exact.excerpts, *self.ngram.excerpts)
        return {
            "task": self.held_out.name,
            "split": self.held_out.split,
            "language": self.held_out.language,
            "examples": len(self.held_out),
            "exact": round(percent * self.exact.count, 3),
            "ngram": round(percent * (self.exact.count + self.ngram.count), 3),
            "shown": [vars(excerpt) for excerpt in excerpts],
        }

    def findings(self) -> Iterator[Finding]:
        """Yield findings for `interlace check`."""
        name = f"{self.held_out.name} ({self.held_out.split}, {self.held_out.language})"
        total = len(self.held_out)
        if self.exact.count:
            about = f"examples of {name} that occur in training text"
            yield Finding(
                "warning",
                "contamination",
                self.exact.count,
                total,
                about,
                self.exact.excerpts,
            )
        if self.ngram.count:
            n = ngram_length(self.held_out.language)
            about = f"further examples of {name} with {n} words or characters in a row that occur in training text"
            yield Finding(
                "note",
                "n-gram overlap",
                self.ngram.count,
                total,
                about,
                self.ngram.excerpts,
            )


class ContaminationSearch:
    """Searches held-out sets in training text: `search` all text, then read `results`."""

    def __init__(self, held_out_sets: Iterable[HeldOutSet]) -> None:
        self._sets = [_HashedSet(held_out) for held_out in held_out_sets]
        hashes: dict[int, list[Hashes]] = {_WHOLE: []}  # by n
        for hashed in self._sets:
            for grams in hashed.grams:
                hashes.setdefault(grams.n, []).append(grams.hashes)
        self._known = {n: _KnownHashes(arrays) for n, arrays in hashes.items()}
        self._row_count = 0
        # the number of the first line of each chunk
        self._names: list[tuple[int, RowNames]] = []

    def search(self, text: Text, names: RowNames) -> None:
        """Search a chunk of training text; names: of its lines."""
        from interlace.data.hashing import hash_lines

        lines = hash_lines(text.lines)
        self._names.append((self._row_count, names))
        self._known[_WHOLE].add(lines.whole(), self._row_count + np.arange(len(text)))
        n = ngram_length(text.language)
        if n in self._known:
            hashes, rows = lines.ngrams(n)
            self._known[n].add(hashes, self._row_count + rows)
        self._row_count += len(text)

    def results(self) -> list[Contamination]:
        """Return the contamination of each set, in order."""
        return [self._result(hashed) for hashed in self._sets]

    def _result(self, hashed: _HashedSet) -> Contamination:
        # of each example, the number of the first training line with one of its lines, and with one of its n-grams
        exact_rows = np.full(len(hashed.held_out), _NEVER)
        ngram_rows = np.full(len(hashed.held_out), _NEVER)
        for grams in hashed.grams:
            rows = exact_rows if grams.n == _WHOLE else ngram_rows
            np.minimum.at(
                rows,
                grams.examples,
                self._known[grams.n].first_rows(grams.hashes),
            )
        ngram_rows[exact_rows < _NEVER] = _NEVER
        return Contamination(
            hashed.held_out,
            self._overlap(hashed.held_out, exact_rows),
            self._overlap(hashed.held_out, ngram_rows),
        )

    def _overlap(self, held_out: HeldOutSet, rows: Rows) -> ContaminatedExamples:
        count = int((rows < _NEVER).sum())
        excerpts = []
        for example in np.argsort(rows, kind="stable")[: min(count, MAX_EXCERPTS)].tolist():
            excerpts.append(
                Excerpt.of(self._row_name(int(rows[example])), *held_out.lines(example))
            )
        return ContaminatedExamples(count, tuple(excerpts))

    def _row_name(self, row: int) -> str:
        for first, names in reversed(self._names):
            if row >= first:
                return names(row - first)
        raise IndexError(row)


@dataclass(frozen=True)
class _Grams:
    """Hashes of n-grams, or of whole lines, and the example of each."""

    n: int
    hashes: Hashes
    examples: Rows


class _HashedSet:
    """A held-out set with the hashes of its lines and n-grams."""

    def __init__(self, held_out: HeldOutSet) -> None:
        from interlace.data.hashing import hash_lines

        self.held_out = held_out
        self.grams: list[_Grams] = []
        first_example = 0
        for chunk in held_out.chunks:
            for text in sides(chunk):
                lines = hash_lines(text.lines)
                long_rows = np.flatnonzero(lines.lengths >= _min_length(text.language))
                n = ngram_length(text.language)
                hashes, rows = lines.ngrams(n)
                self.grams += [
                    _Grams(
                        _WHOLE,
                        lines.whole()[long_rows],
                        first_example + long_rows,
                    ),
                    _Grams(n, hashes, first_example + rows),
                ]
            first_example += len(chunk)


class _KnownHashes:
    """A set of hashes, with the number of the first training line that each occurs in."""

    def __init__(self, arrays: Sequence[Hashes]) -> None:
        self._keys = np.unique(np.concatenate([np.zeros(0, np.uint64), *arrays]))
        self._first_rows = np.full(len(self._keys), _NEVER)
        self._filter = np.zeros(1 << _FILTER_BITS, np.bool_)
        self._filter[_cells(self._keys)] = True

    def add(self, hashes: Hashes, rows: Rows) -> None:
        """Add hashes of training text with the numbers of their lines."""
        candidates = np.flatnonzero(self._filter[_cells(hashes)])
        hashes = hashes[candidates]
        positions = np.searchsorted(self._keys, hashes)
        positions = np.minimum(positions, len(self._keys) - 1)
        is_known = self._keys[positions] == hashes
        np.minimum.at(
            self._first_rows,
            positions[is_known],
            rows[candidates[is_known]],
        )

    def first_rows(self, hashes: Hashes) -> Rows:
        """Return the first training line with each of these hashes, which are all in the set."""
        return self._first_rows[np.searchsorted(self._keys, hashes)]


def _cells(hashes: Hashes) -> Rows:
    return (hashes >> np.uint64(64 - _FILTER_BITS)).astype(np.int64)


def find_contamination(
    texts: Iterable[tuple[Text, RowNames]], held_out_sets: Iterable[HeldOutSet]
) -> list[Contamination]:
    """Return the contamination of each held-out set; texts: chunks, read once, with the names of their lines."""
    search = ContaminationSearch(held_out_sets)
    for text, names in texts:
        search.search(text, names)
    return search.results()
