"""Write code-switched text: many distinct sentences of each pair (ALM, Yang et al. 2020).

The sentences have the same distribution as those of the objective `alm`. Each pair gives a number of sentences in each
direction, repeated sentences are dropped, and a share of monolingual sentences is added.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.alignment import WordPairs
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.core.settings import Settings
from interlace.data.alignments import PhraseTableColumns
from interlace.objectives.common import code_switching as switching
from interlace.text import TextPairs
from interlace.text.columns import TextColumns

_BLOCK = 1_000  # pairs processed at a time


class CopySettings(Settings):
    """How many sentences are written for each pair."""

    copies: int = Field(
        20,
        ge=1,
        le=10_000,
        description="Sentences drawn in each direction (ALM: 20, so 40 per pair).",
    )
    monolingual: float = Field(
        0.1,
        ge=0,
        lt=0.5,
        description="Share of unchanged source lines, and of target lines (ALM: 10 % each).",
    )
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
        for kind in switched.kinds[written].tolist():
            self.kinds[switching.KINDS[kind]] += 1
        self.words += int(switched.words[written].sum())
        self.replaced += int(switched.replaced_words[written].sum())
        exchanges = switched.exchanges.take(written[switched.exchanges.rows])
        replaced = exchanges.replaced[:, 1] - exchanges.replaced[:, 0]
        inserted = exchanges.inserted[:, 1] - exchanges.inserted[:, 0]
        self.lengths.update(zip(replaced.tolist(), inserted.tolist(), strict=True))

    def summary(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "pairs": self.pairs,
            "lines": sum(self.kinds.values()),
            "kinds": {kind: self.kinds[kind] for kind in switching.KINDS},
            "switched_words": self.replaced / max(self.words, 1),
            "phrases": {
                f"{replaced}-{inserted}": count
                for (replaced, inserted), count in sorted(self.lengths.items())
            },
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
            block = text.take(np.arange(start, stop))
            yield self._block(block, words.slice(start, stop), links.slice(start, stop))

    def _block(self, text: TextPairs, words: WordPairs, links: Ragged) -> list[str]:
        candidates = self._candidates(text, words, links)
        mixed_lines: list[list[str]] = []  # by pair
        seen: list[set[str]] = []
        for source, target in zip(text.source.lines, text.target.lines, strict=True):
            mixed_lines.append([])
            seen.append({source, target})
        for side, major_source in enumerate((1.0, 0.0)):
            mixed = {"source_share": 0.0, "target_share": 0.0, "major_source": major_source}
            settings = self.code_switching.model_copy(update=mixed)
            counts_before = [len(row) for row in mixed_lines]
            for copy in range(self.copies.copies):
                rng = generator(Purpose.SWITCH, self.copies.seed, words.first, 2 * copy + side)
                switched = switching.switch_phrases(candidates, settings, rng)
                lines = switching.switched_text(candidates, switched).text.lines
                written = np.zeros(len(text), np.bool_)
                for row in np.flatnonzero(switched.kinds >= switching.MONOLINGUAL).tolist():
                    if lines[row] not in seen[row]:
                        seen[row].add(lines[row])
                        mixed_lines[row].append(lines[row])
                        written[row] = True
                self.counts.add(switched, written)
            for row_lines, before in zip(mixed_lines, counts_before, strict=True):
                self.counts.distinct[len(row_lines) - before] += 1
        self._add_monolingual(text, mixed_lines, words.first)
        self.counts.pairs += len(text)
        return list(chain.from_iterable(mixed_lines))

    def _add_monolingual(self, text: TextPairs, lines: list[list[str]], first: int) -> None:
        """Add unchanged sentences in their share of all lines, and both of a pair without mixed lines."""
        share = self.copies.monolingual
        if not share:
            return
        rng = generator(Purpose.SWITCH, self.copies.seed, first, 2 * self.copies.copies)
        mixed = np.array([len(row) for row in lines])
        wanted = mixed[:, None] * share / (1 - 2 * share) + rng.random((len(mixed), 2))
        times = np.floor(wanted).astype(np.int64)  # (pairs, 2)
        times[mixed == 0] = 1
        for kind, side in enumerate((text.source, text.target)):
            times[side.words.lengths == 0, kind] = 0
            self.counts.kinds[switching.KINDS[kind]] += int(times[:, kind].sum())
        for row, (source, target) in enumerate(times.tolist()):
            sources = [text.source.lines[row]] * source
            lines[row][:0] = sources + [text.target.lines[row]] * target

    @cached_property
    def _columns(self) -> PhraseTableColumns:
        return PhraseTableColumns.of(self.table)

    def _candidates(
        self, text: TextPairs, words: WordPairs, links: Ragged
    ) -> switching.SwitchCandidates:
        """Return what may be exchanged; text, words and links are of the same pairs."""
        lines = TextColumns.of(text.source), TextColumns.of(text.target)
        spans = phrase_pairs(words.source.lengths, words.target.lengths, links, self.extraction)
        phrases, entries = self.table.select(words.source, words.target, spans)
        scores = self._columns.scores[entries]
        if self.code_switching.target_choice == "in_pair":
            return switching.SwitchCandidates.of(lines, phrases, scores)
        max_length = self.code_switching.max_phrase_length
        source_index, target_index = self.table.indexes
        known = (
            self._columns.known(0, words.source, source_index, words.target_types, max_length),
            self._columns.known(1, words.target, target_index, words.source_types, max_length),
        )
        return switching.SwitchCandidates.of(lines, phrases, scores, known)
