"""Write code-switched text: many distinct sentences of each pair (ALM, Yang et al. 2020).

The sentences have the same distribution as those of the objective `alm`. Each pair gives a number of sentences in each
direction, repeated sentences are dropped, and a share of monolingual sentences is added.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.alignment import WordPairs
from interlace.alignment.links import select_links
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.data import KnownPhrases, Sentences
from interlace.data.alignments import PhraseTableColumns, all_spans
from interlace.objectives.common import code_switching as switching
from interlace.text import Text, TextPairs
from interlace.text.running import running_text
from interlace.text.types import WordTypes

_BLOCK = 1_000  # pairs processed at a time


class CopySettings(Settings):
    """How many sentences are written for each pair."""

    copies: int = Field(20, ge=1, le=10_000, description="Sentences drawn in each direction (ALM: 20, so 40 per pair).")
    monolingual: float = Field(
        0.1, ge=0, lt=0.5, description="Share of unchanged source lines, and of target lines (ALM: 10 % each)."
    )
    repeats: bool = Field(False, description="Write a sentence each time it is drawn.")
    seed: int = Field(0, ge=0, description="Random seed.")


@dataclass
class CodeSwitchingCounts:
    """Statistics of the written lines.

    words, replaced: of mixed lines. lengths: (words replaced, words inserted) -> phrases. distinct: number of mixed
    lines of a pair and direction -> how often.
    """

    pairs: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    words: int = 0
    replaced: int = 0
    lengths: Counter[tuple[int, int]] = field(default_factory=Counter)
    distinct: Counter[int] = field(default_factory=Counter)

    def add(self, switched: switching.SwitchedSentences, written: NDArray[np.bool_]) -> None:
        """Count the mixed lines of the written rows."""
        for kind, lines in enumerate(np.bincount(switched.kinds[written], minlength=len(switching.KINDS)).tolist()):
            self.kinds[switching.KINDS[kind]] += lines
        self.words += int(switched.words[written].sum())
        self.replaced += int(switched.replaced[written].sum())
        mine = switched.inserted & written[switched.pieces.rows()]
        lengths = [np.diff(spans[mine][:, -2:]).ravel() for spans in (switched.places.flat, switched.pieces.flat)]
        shapes, counts = np.unique(np.stack(lengths, axis=1), axis=0, return_counts=True)
        self.lengths.update(dict(zip(map(tuple, shapes.tolist()), counts.tolist(), strict=True)))

    def summary(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "pairs": self.pairs,
            "lines": sum(self.kinds.values()),
            "kinds": {kind: self.kinds[kind] for kind in switching.KINDS},
            "switched_words": self.replaced / max(self.words, 1),
            "phrases": {f"{mine}-{other}": count for (mine, other), count in sorted(self.lengths.items())},
            "distinct": {str(lines): count for lines, count in sorted(self.distinct.items())},
        }


@dataclass
class CodeSwitchedText:
    """Draws code-switched lines of aligned text, chunk by chunk.

    table: phrases of the whole text, extracted from its alignments by the rules `extraction`. counts: what was drawn.
    """

    table: PhraseTable
    extraction: TableRules
    code_switching: switching.CodeSwitching
    copies: CopySettings
    counts: CodeSwitchingCounts = field(default_factory=CodeSwitchingCounts)

    def lines(self, text: TextPairs, words: WordPairs, links: Ragged) -> Iterator[list[str]]:
        """Yield the lines of pairs in blocks, those of a pair consecutive; text, words and links are of the same."""
        for start in range(0, len(text), _BLOCK):
            stop = min(start + _BLOCK, len(text))
            block = TextPairs(text.source.slice(start, stop), text.target.slice(start, stop))
            yield self._block(block, words.slice(start, stop), links.slice(start, stop))

    def _block(self, text: TextPairs, words: WordPairs, links: Ragged) -> list[str]:
        candidates, translations = self._candidates(words, links)
        writer = LineWriter(text, translations)
        found: list[list[str]] = [[] for _ in range(len(text))]
        seen = [{source, target} for source, target in zip(text.source.lines, text.target.lines, strict=True)]
        for side, major_source in enumerate((1.0, 0.0)):
            mixed = {"source_share": 0.0, "target_share": 0.0, "major_source": major_source}
            settings = self.code_switching.model_copy(update=mixed)
            before = np.array([len(row) for row in found])
            for copy in range(self.copies.copies):
                rng = generator(Purpose.SWITCH, self.copies.seed, words.first, 2 * copy + side)
                switched = switching.switch_phrases(candidates, settings, rng)
                lines, written = writer.lines(switched), np.zeros(len(text), np.bool_)
                for row in np.flatnonzero(switched.kinds >= switching.MONOLINGUAL).tolist():
                    if self.copies.repeats or lines[row] not in seen[row]:
                        seen[row].add(lines[row])
                        found[row].append(lines[row])
                        written[row] = True
                self.counts.add(switched, written)
            self.counts.distinct.update((np.array([len(row) for row in found]) - before).tolist())
        self._add_monolingual(text, found, words.first)
        self.counts.pairs += len(text)
        return [line for row in found for line in row]

    def _add_monolingual(self, text: TextPairs, found: list[list[str]], first: int) -> None:
        """Add unchanged sentences in their share of all lines, and both of a pair without mixed lines."""
        share = self.copies.monolingual
        if not share:
            return
        rng = generator(Purpose.SWITCH, self.copies.seed, first, 2 * self.copies.copies)
        mixed = np.array([len(row) for row in found])
        times = np.floor(mixed[:, None] * share / (1 - 2 * share) + rng.random((len(mixed), 2))).astype(np.int64)
        times[mixed == 0] = 1
        for kind, side in enumerate((text.source, text.target)):
            times[side.words.lengths == 0, kind] = 0
            self.counts.kinds[switching.KINDS[kind]] += int(times[:, kind].sum())
        for row, (source, target) in enumerate(times.tolist()):
            found[row][:0] = [text.source.lines[row]] * source + [text.target.lines[row]] * target

    @cached_property
    def _columns(self) -> PhraseTableColumns:
        return PhraseTableColumns.of(self.table)

    def _candidates(
        self, words: WordPairs, links: Ragged
    ) -> tuple[switching.SwitchCandidates, tuple[list[str], list[str]]]:
        """Return what may be exchanged, and the text of the phrase table's translations."""
        sides = (words.source, words.target)
        counts = np.stack([side.lengths for side in sides], axis=1)
        boundaries = switching.all_boundaries(counts)
        if self.code_switching.target_choice == "table_argmax":
            known, texts = zip(*(self._known(side, words) for side in (0, 1)), strict=True)
            none = Ragged(np.zeros((0, 4), np.int32), np.zeros(len(words) + 1, np.int64))
            empty = np.zeros((0, 2), np.float32)
            candidates = switching.SwitchCandidates(counts, none, empty, empty, boundaries, known)
            return candidates.comparing(*self._texts(words, known)), texts
        spans = phrase_pairs(counts[:, 0], counts[:, 1], links, self.extraction)
        kept, rows = self.table.select(*sides, spans)
        phi, lex = (np.ascontiguousarray(self.table.scores[rows][:, some]) for some in ([2, 0], [3, 1]))
        candidates = switching.SwitchCandidates(counts, kept, phi, lex, boundaries)
        return candidates.comparing(*self._texts(words)), ([], [])

    def _texts(self, words: WordPairs, known: Sequence[KnownPhrases] = ()) -> Any:
        """Return a number for each word of both sides, and of the translations; equal spellings have the same."""
        numbers = self._numbers
        others = tuple(
            Ragged(numbers[1 - side][each.counterparts.ids.flat], each.counterparts.ids.offsets)
            for side, each in enumerate(known)
        )
        return (numbers[0][words.source.flat], numbers[1][words.target.flat]), others or None

    @cached_property
    def _numbers(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """A number for each word type of source and target, by spelling."""
        source, target = self.table.source_types, self.table.target_types
        same = WordTypes(source).find(target)
        return np.arange(len(source), dtype=np.int32), np.where(
            same >= 0, same, len(source) + np.arange(len(target))
        ).astype(np.int32)

    def _known(self, side: int, words: WordPairs) -> tuple[KnownPhrases, list[str]]:
        """Return the table's most probable translation of every span of a side, as words and as text."""
        mine, table = (words.source, words.target)[side], self._columns
        every = all_spans(mine, self.code_switching.max_phrase_length)
        found = self.table.indexes[side].find(mine, every)
        rows = table.best[side][found[found >= 0]]
        others, numbers = np.unique(table.entries[rows, 1 - side], return_inverse=True)
        phrases = table.phrases[1 - side].take(others)
        spellings, language = (words.target_types, words.source_types)[side], words.languages[1 - side]
        texts = running_text(phrases, spellings, language, words.word_tokenizer).lines
        chosen = phrases.take(numbers)
        places = Ragged(chosen.columns().astype(np.int32), chosen.offsets)
        known = KnownPhrases(
            select_links(every, found >= 0), table.scores[rows, side], Sentences(chosen, places, language)
        )
        return known, [texts[number] for number in numbers.tolist()]


class LineWriter:
    """Writes sentences by exchanging phrases; translations: texts of the phrase table's OF_SOURCE and OF_TARGET."""

    def __init__(self, pairs: TextPairs, translations: tuple[Sequence[str], Sequence[str]] = ((), ())) -> None:
        self._sides = (_SideText(pairs.source), _SideText(pairs.target))
        self._translations = translations

    def lines(self, switched: switching.SwitchedSentences) -> list[str]:
        """Return the line of each switched sentence."""
        sides = [self._sides[side] for side in switched.matrix.tolist()]
        done, used = [""] * len(sides), [0] * len(sides)  # the new line so far, and characters of the matrix sentence
        inserted = switched.inserted
        rows, pieces, places = (
            values[inserted].tolist() for values in (switched.pieces.rows(), switched.pieces.flat, switched.places.flat)
        )
        for row, (origin, of, start, stop), (begin, end) in zip(rows, pieces, places, strict=True):
            if origin >= switching.OF_SOURCE:
                phrase, spaced = self._translations[origin - switching.OF_SOURCE][of], True
            else:
                phrase = self._sides[origin].phrase(of, start, stop)
                spaced = self._sides[origin].has_space(of, start)
            text = done[row] + sides[row].lines[row][used[row] : sides[row].span(row, begin)[0]]
            if begin and phrase:
                bare = text.rstrip()
                place = len(bare) < len(text)
                if place != switching.needs_space(
                    place, spaced, switching.character_kind(bare[-1]), switching.character_kind(phrase[0])
                ):
                    text = bare if place else f"{text} "
            done[row], used[row] = text + phrase, sides[row].span(row, end - 1)[1]
        return [done[row] + side.lines[row][used[row] :] for row, side in enumerate(sides)]


class _SideText:
    """One side's lines and the spans of their words."""

    def __init__(self, text: Text) -> None:
        self.lines = text.lines
        self._spans = text.words.flat.tolist()
        self._offsets = (text.words.offsets - text.words.offsets[0]).tolist()

    def span(self, row: int, word: int) -> tuple[int, int]:
        start, end = self._spans[self._offsets[row] + word]
        return start, end

    def phrase(self, row: int, start: int, stop: int) -> str:
        return self.lines[row][self.span(row, start)[0] : self.span(row, stop - 1)[1]]

    def has_space(self, row: int, word: int) -> bool:
        """Return whether a space precedes the word, or would before a line's first."""
        return word == 0 or self.lines[row][self.span(row, word)[0] - 1].isspace()
