"""The lines or pairs of a corpus: counts and lengths, and what each filter would drop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.data.filters import FILTERS, Filter
from interlace.data.filters._sides import characters, sides
from interlace.data.filters.empty import Empty
from interlace.data.filters.length import Length
from interlace.data.filters.ratio import Ratio
from interlace.data.filters.script import Script
from interlace.data.inspection import SHOWN, Example, Examples, Finding, rare
from interlace.data.inspection.tokenised import Tokenised
from interlace.text import TextPairs
from interlace.text.scripts import UNSPACED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.text import Text

_LONGEST = 2000  # words; longer lines are counted as this long
_EMPTY = Empty()
_ABOUT = {
    "control": "control characters or broken letters (U+FFFD)",
    "duplicates": "there before, letter by letter",
    "empty": "no word on a side; left out of a corpus",
    "identical": "both sides the same: not translated?",
    "length": "very long or short",
    "ratio": "one side much longer than the other: not a translation, or cut off?",
    "script": "few letters in the script of the language: the wrong language?",
    "separator": "holds |||, which phrase tables and outside aligners take for the end of a column",
}


class Rows:
    """What is seen of one corpus, chunk after chunk.

    rules: filters with settings of one's own, by name; all others of the room are tried with their defaults.
    where: names a row, counted from 0. unknown: what to tell of a language whose scripts nobody knows.
    """

    def __init__(
        self,
        languages: Sequence[str],
        rules: Mapping[str, Filter],
        where: Callable[[int], str],
        unknown: Callable[[str], str],
    ) -> None:
        self.count = 0
        self.where = where
        self._languages = list(languages)
        self._own = rules
        self._unknown = unknown
        self._rules: list[tuple[Filter, Any, Examples]] = []  # chosen when the first chunk comes
        self._lengths = [_Lengths() for _ in languages]
        self._tokenised = [Tokenised(language) for language in languages]
        self._notes: dict[str, int] = {}

    def add(self, chunk: Text | TextPairs) -> None:
        """Look at a chunk whose words were found with the word tokenizer that counts."""
        if not self._rules:
            self._rules = [(rule, rule.memory(), Examples()) for rule in _rules(self._languages, self._own, chunk)]
        texts = sides(chunk)
        for text, lengths, tokenised in zip(texts, self._lengths, self._tokenised, strict=False):
            lengths.add(text)
            tokenised.add(text, self._place(self.count))
        self._try_rules(chunk)
        for what, count in chunk.notes.items():
            self._notes[what] = self._notes.get(what, 0) + count
        self.count += len(chunk)

    def _try_rules(self, chunk: Text | TextPairs) -> None:
        """Every rule by itself; those that compare or measure are not shown what is empty."""
        texts = sides(chunk)
        full = np.flatnonzero(_EMPTY.keep(chunk))
        rest = chunk if len(full) == len(chunk) else chunk.where(_EMPTY.keep(chunk))
        for rule, memory, seen in self._rules:
            mine = isinstance(rule, Empty)
            broken = np.flatnonzero(~rule.keep(chunk if mine else rest, memory))
            rows = broken if mine else full[broken]
            some = [(row, [text.lines[row] for text in texts]) for row in rows[:SHOWN].tolist()]
            seen.add(len(rows), [partial(self._example, self.count + row, lines) for row, lines in some])

    def facts(self) -> dict[str, Any]:
        """`rows`, and by language words, characters and their spread."""
        by_language = {
            language: {**lengths.facts(), "looks": tokenised.guess}
            for language, lengths, tokenised in zip(self._languages, self._lengths, self._tokenised, strict=True)
        }
        return {"rows": self.count, "sides": by_language}

    def findings(self, word_tokenizer: str) -> Iterator[Finding]:
        """All that was found; `word_tokenizer` is what found the words."""
        for rule, _, seen in self._rules:
            if seen.count:
                level = "note" if rule.name == "empty" else rare(seen.count, self.count)
                about = _ABOUT.get(rule.name, "a rule of yours") + _settings(rule)
                yield Finding(level, rule.name, seen.count, self.count, about, tuple(seen.kept))
        for tokenised in self._tokenised:
            yield from tokenised.findings()
        guesses = {tokenised.guess for tokenised in self._tokenised}
        if guesses == {"tokenised", "plain"}:
            about = " and ".join(f"{tokenised.name} is {tokenised.guess}" for tokenised in self._tokenised)
            yield Finding("warning", "tokenised on one side", self.count, self.count, about)
        yield from self._by_language(word_tokenizer)
        for what, count in self._notes.items():
            if count:
                yield Finding("note", "mended or left out by the reader", count, self.count, what)

    def _by_language(self, word_tokenizer: str) -> Iterator[Finding]:
        own = self._own.get("script")
        judge = own if isinstance(own, Script) else Script()
        for language in self._languages:
            scripts = judge.scripts(language)
            if not scripts:
                named = repr(language) if language else "a language without a name"
                about = f"the scripts of {named} are not known; {self._unknown(language)}"
                yield Finding("note", "script not checked", self.count, self.count, about)
            elif word_tokenizer == "blanks" and scripts & UNSPACED:
                about = (
                    f"{language} is written without blanks; word_tokenizer = 'by_language' or 'unicode' finds its words"
                )
                yield Finding("warning", "words not split", self.count, self.count, about)

    @property
    def words(self) -> int:
        """Words of all sides so far."""
        return sum(lengths.words for lengths in self._lengths)

    def _place(self, first: int) -> Callable[[int], str]:
        return lambda row: self.where(first + row)

    def _example(self, row: int, lines: list[str]) -> Example:
        return Example.of(self.where(row), *lines)


class _Lengths:
    """Words and characters of one side."""

    def __init__(self) -> None:
        self._spread = np.zeros(_LONGEST + 1, np.int64)
        self.words = self._characters = 0
        self._longest = 0

    def add(self, text: Text) -> None:
        words: NDArray[np.int64] = text.words.lengths
        self._spread += np.bincount(np.minimum(words, _LONGEST), minlength=_LONGEST + 1)
        self.words += int(words.sum())
        self._characters += int(characters(text).sum())
        self._longest = max(self._longest, int(words.max(initial=0)))

    def facts(self) -> dict[str, int]:
        below = np.cumsum(self._spread)
        spread = {f"p{share}": int(np.searchsorted(below, share / 100 * below[-1])) for share in (50, 99)}
        return {"words": self.words, "characters": self._characters, **spread, "longest": self._longest}


def _rules(languages: Sequence[str], own: Mapping[str, Filter], chunk: Text | TextPairs) -> Iterator[Filter]:
    """The given rules and every other one of the room, where it can judge these languages."""
    defaults = {"length": Length(min_words=0, min_characters=0), "ratio": _typical(chunk)}  # `empty` counts empty ones
    for name in sorted(FILTERS.own_names() | set(own)):
        rule = own.get(name) or defaults.get(name) or FILTERS.build(name)
        if isinstance(rule, Script) and not all(rule.scripts(language) for language in languages):
            continue
        if name in {"identical", "ratio"} and len(languages) == 1:
            continue
        yield rule


def _typical(chunk: Text | TextPairs) -> Ratio:
    """The rule about ratios beside the ratio of the whole chunk: words of some languages are shorter than of others."""
    rule = Ratio()
    if not isinstance(chunk, TextPairs):
        return rule
    source, target = (int(rule.lengths(side).sum()) for side in sides(chunk))
    return Ratio(typical=round(max(target, 1) / max(source, 1), 2) or 0.01)


def _settings(rule: Filter) -> str:
    """`" (filters.ratio: most = 3.0)"`, so that whoever reads it can change it."""
    settings = ", ".join(f"{key} = {value!r}" for key, value in rule.dump().items() if value not in ({}, False))
    return f" (filters.{rule.name}: {settings})" if settings else f" (filters.{rule.name})"


def places(paths: Sequence[Path], lines: Sequence[int], *, by_line: bool, sides: int) -> Callable[[int], str]:
    """Names rows: `"train.en:12"` of files read one after another, `"line 12"` of two side by side, else `"row 12"`."""
    if not by_line or sides > 1:
        unit = "line" if by_line else "row"
        return lambda row: f"{unit} {row + 1}"
    starts = np.concatenate([[0], np.cumsum(lines)])

    def where(row: int) -> str:
        file = min(int(np.searchsorted(starts, row, side="right")) - 1, len(paths) - 1)
        return f"{paths[file].name}:{row - int(starts[file]) + 1}"

    return where
