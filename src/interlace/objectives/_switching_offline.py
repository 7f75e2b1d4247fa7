"""Code-switched text as files of it hold it: many sentences of each pair, each once (ALM, Yang et al. 2020).

What is drawn is what the objective `alm` draws, by the same function. Here each pair gives a number of sentences in
each direction, repeats are dropped, and sentences of one language are added in their share.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.data import KnownPhrases, Sentences
from interlace.data.phrases import TableColumns, all_spans, select_spans
from interlace.objectives._switching import KINDS, MONOLINGUAL, Choices, Switching, all_borders, switch
from interlace.objectives._switching_text import LineWriter
from interlace.text.running import running_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs
    from interlace.alignment.phrase_table import PhraseIndex, PhraseTable, TableRules
    from interlace.objectives._switching import Switched
    from interlace.text import Text, TextPairs

_BLOCK = 1_000  # pairs worked on at a time


class Copies(Settings):
    """How many sentences a pair gives."""

    copies: int = Field(20, ge=1, description="Sentences drawn in each direction (ALM: 20, so 40 of a pair).")
    monolingual: float = Field(
        0.1,
        ge=0,
        lt=0.5,
        description="Share of lines that are a source sentence as it is, and of target sentences (ALM: 10 % each).",
    )
    repeats: bool = Field(False, description="Whether a sentence that was drawn again is written again.")
    seed: int = Field(0, ge=0, description="Another seed draws other sentences.")


@dataclass
class Tally:
    """What was written: lines by kind, replaced words and all words of mixed lines, phrases by length.

    lengths: (words replaced, words inserted) -> phrases. distinct: mixed lines of a pair and direction -> how often.
    """

    pairs: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    words: int = 0
    replaced: int = 0
    lengths: Counter[tuple[int, int]] = field(default_factory=Counter)
    distinct: Counter[int] = field(default_factory=Counter)

    def add(self, switched: Switched, written: NDArray[np.bool_]) -> None:
        """Count the mixed lines of the rows that were written."""
        for kind, lines in enumerate(np.bincount(switched.kinds[written], minlength=len(KINDS)).tolist()):
            self.kinds[KINDS[kind]] += lines
        self.words += int(switched.words[written].sum())
        self.replaced += int(switched.replaced[written].sum())
        mine = switched.inserted & written[switched.pieces.rows()]
        lengths = [np.diff(spans[mine][:, -2:]).ravel() for spans in (switched.places.flat, switched.pieces.flat)]
        shapes, counts = np.unique(np.stack(lengths, axis=1), axis=0, return_counts=True)
        self.lengths.update(dict(zip(map(tuple, shapes.tolist()), counts.tolist(), strict=True)))

    def summary(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "pairs": self.pairs,
            "lines": sum(self.kinds.values()),
            "kinds": {kind: self.kinds[kind] for kind in KINDS},
            "switched_words": self.replaced / max(self.words, 1),
            "phrases": {f"{mine}-{other}": count for (mine, other), count in sorted(self.lengths.items())},
            "distinct": {str(lines): count for lines, count in sorted(self.distinct.items())},
        }


@dataclass
class SwitchedText:
    """Draws code-switched lines of linked text, chunk by chunk.

    table: phrases of the whole text, counted from its links. extraction: by which rules.
    """

    table: PhraseTable
    extraction: TableRules
    switching: Switching
    copies: Copies
    tally: Tally = field(default_factory=Tally)

    def lines(self, text: TextPairs, words: WordPairs, links: Ragged) -> Iterator[list[str]]:
        """All lines of some pairs, in parts; those of a pair stand together.

        text, words: the same pairs, in the words of the table. links: n rows of (source word, target word).
        """
        for start in range(0, len(text), _BLOCK):
            stop = min(start + _BLOCK, len(text))
            block = _some(text, start, stop)
            yield self._block(block, words.slice(start, stop), links.slice(start, stop))

    def _block(self, text: TextPairs, words: WordPairs, links: Ragged) -> list[str]:
        choices, translations = self._choices(words, links)
        writer = LineWriter(text, translations)
        found: list[list[str]] = [[] for _ in range(len(text))]
        # A name exchanged for itself leaves the sentence as it was: that is none that mixes languages.
        seen = [{source, target} for source, target in zip(text.source.lines, text.target.lines, strict=True)]
        for side, rules in enumerate(self._rules):
            before = np.array([len(row) for row in found])
            for copy in range(self.copies.copies):
                rng = generator(Purpose.SWITCH, self.copies.seed, words.first, 2 * copy + side)
                switched = switch(choices, rules, rng)
                written = self._keep(switched, writer.lines(switched), found, seen)
                self.tally.add(switched, written)
            self.tally.distinct.update((np.array([len(row) for row in found]) - before).tolist())
        self._add_monolingual(text, found, words.first)
        self.tally.pairs += len(text)
        return [line for row in found for line in row]

    def _keep(
        self, switched: Switched, lines: list[str], found: list[list[str]], seen: list[set[str]]
    ) -> NDArray[np.bool_]:
        """Put down the mixed lines that are new; (n,) of which rows that was."""
        written = np.zeros(len(lines), np.bool_)
        for row in np.flatnonzero(switched.kinds >= MONOLINGUAL).tolist():
            if self.copies.repeats or lines[row] not in seen[row]:
                seen[row].add(lines[row])
                found[row].append(lines[row])
                written[row] = True
        return written

    def _add_monolingual(self, text: TextPairs, found: list[list[str]], first: int) -> None:
        """Sentences as they are, in their share of all lines; both of a pair in which nothing could be replaced."""
        share = self.copies.monolingual
        if not share:
            return
        rng = generator(Purpose.SWITCH, self.copies.seed, first, 2 * self.copies.copies)
        mixed = np.array([len(row) for row in found])
        times = np.floor(mixed[:, None] * share / (1 - 2 * share) + rng.random((len(mixed), 2))).astype(np.int64)
        times[mixed == 0] = 1
        for kind, side in enumerate((text.source, text.target)):
            times[side.words.lengths == 0, kind] = 0
            self.tally.kinds[KINDS[kind]] += int(times[:, kind].sum())
        for row, (source, target) in enumerate(times.tolist()):
            found[row][:0] = [text.source.lines[row]] * source + [text.target.lines[row]] * target

    @cached_property
    def _rules(self) -> tuple[Switching, Switching]:
        """Major source and major target."""
        mixed = {"source_share": 0.0, "target_share": 0.0}
        source, target = (self.switching.model_copy(update={**mixed, "major_source": share}) for share in (1.0, 0.0))
        return source, target

    @cached_property
    def _indexes(self) -> tuple[PhraseIndex, PhraseIndex]:
        return self.table.index("source"), self.table.index("target")

    @cached_property
    def _columns(self) -> TableColumns:
        return TableColumns.of(self.table)

    def _choices(self, words: WordPairs, links: Ragged) -> tuple[Choices, tuple[list[str], list[str]]]:
        """What may be switched, and the text of what the table knows."""
        sides = (words.source, words.target)
        counts = np.stack([side.lengths for side in sides], axis=1)
        if self.switching.target_choice == "table_argmax":
            known, texts = zip(*(self._known(side, words) for side in (0, 1)), strict=True)
            none = Ragged(np.zeros((0, 4), np.int32), np.zeros(len(words) + 1, np.int64))
            return Choices(counts, none, np.zeros((0, 2), np.float32), all_borders(counts), known), texts
        spans = phrase_pairs(counts[:, 0], counts[:, 1], links, self.extraction)
        numbers = [
            index.find(side, spans, 2 * at) for at, (index, side) in enumerate(zip(self._indexes, sides, strict=True))
        ]
        rows = self.table.rows_of(*numbers)
        held = select_spans(spans, rows >= 0)
        phi = np.ascontiguousarray(self.table.scores[rows[rows >= 0]][:, [2, 0]])
        return Choices(counts, held, phi, all_borders(counts)), ([], [])

    def _known(self, side: int, words: WordPairs) -> tuple[KnownPhrases, list[str]]:
        """The table's likeliest translation of every span of a side, as words and as text."""
        mine, table = (words.source, words.target)[side], self._columns
        every = all_spans(mine, self.switching.longest)
        found = self._indexes[side].find(mine, every)
        rows = table.best[side][found[found >= 0]]
        others, numbers = np.unique(table.entries[rows, 1 - side], return_inverse=True)
        phrases = table.phrases[1 - side].take(others)
        spellings, language = (words.target_types, words.source_types)[side], words.languages[1 - side]
        texts = running_text(phrases, spellings, language, words.word_tokenizer).lines
        chosen = phrases.take(numbers)
        places = Ragged(chosen.columns().astype(np.int32), chosen.offsets)
        known = KnownPhrases(
            select_spans(every, found >= 0), table.phi[rows, side], Sentences(chosen, places, language)
        )
        return known, [texts[number] for number in numbers.tolist()]


def _some(text: TextPairs, start: int, stop: int) -> TextPairs:
    """Some pairs, without links."""

    def part(side: Text) -> Text:
        return replace(side, lines=side.lines[start:stop], words=side.words.slice(start, stop))

    return replace(text, source=part(text.source), target=part(text.target), links=None, labels=None)
