"""Write code-switched text: many distinct sentences of each pair (ALM, Yang et al. 2020).

The sentences have the same distribution as those of the objective `alm`. Each pair gives a number of sentences in each
direction, repeated sentences are dropped, and a share of monolingual sentences is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pydantic import Field

from interlace.alignment import WordPairs
from interlace.alignment.phrase_rules import TableRules
from interlace.alignment.phrase_table import PhraseTable
from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import IntArray, Ragged
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


@dataclass(frozen=True)
class SwitchedBlock:
    """The lines of some pairs. mixed_counts: (pairs,) how many distinct ones are in both languages."""

    lines: list[str]
    mixed_counts: IntArray


@dataclass(frozen=True)
class CodeSwitchedText:
    """Draws code-switched lines of aligned text, chunk by chunk.

    table: phrases of the whole text, extracted from its alignments by the rules `extraction`.
    """

    table: PhraseTable
    extraction: TableRules
    code_switching: switching.CodeSwitching
    copies: CopySettings

    def blocks(
        self, text: TextPairs, words: WordPairs, links: Ragged
    ) -> Iterator[SwitchedBlock]:
        """Yield the lines of pairs in blocks, those of a pair consecutive; text, words and links are of the same."""
        for start in range(0, len(text), _BLOCK):
            stop = min(start + _BLOCK, len(text))
            block = text.take(np.arange(start, stop))
            yield self._block(block, words.slice(start, stop), links.slice(start, stop))

    def _block(self, text: TextPairs, words: WordPairs, links: Ragged) -> SwitchedBlock:
        candidates = self._candidates(text, words, links)
        # by pair, distinct and in the order of the draws
        mixed_lines: list[dict[str, None]] = []
        for _ in range(len(text)):
            mixed_lines.append({})
        for side, major_source in enumerate((1.0, 0.0)):
            mixed = {"source_share": 0.0, "target_share": 0.0, "major_source": major_source}
            settings = self.code_switching.model_copy(update=mixed)
            for copy in range(self.copies.copies):
                rng = generator(Purpose.SWITCH, self.copies.seed, words.first, 2 * copy + side)
                switched = switching.switch_phrases(candidates, settings, rng)
                lines = switching.switched_text(candidates, switched).text.lines
                for row in np.flatnonzero(switched.is_mixed).tolist():
                    mixed_lines[row][lines[row]] = None
        for row, pair in enumerate(zip(text.source.lines, text.target.lines, strict=True)):
            for line in pair:
                mixed_lines[row].pop(line, None)
        mixed_counts = np.array([len(row) for row in mixed_lines])
        repeats = self._monolingual_repeats(text, mixed_counts, words.first)
        written: list[str] = []
        for row, (source_repeats, target_repeats) in enumerate(repeats.tolist()):
            written += [text.source.lines[row]] * source_repeats
            written += [text.target.lines[row]] * target_repeats
            written += mixed_lines[row]
        return SwitchedBlock(written, mixed_counts)

    def _monolingual_repeats(
        self, text: TextPairs, mixed_counts: IntArray, first: int
    ) -> IntArray:
        """(pairs, 2) how often source and target are written unchanged: both once for a pair without mixed lines."""
        share = self.copies.monolingual
        if not share:
            return np.zeros((len(text), 2), np.int64)
        rng = generator(Purpose.SWITCH, self.copies.seed, first, 2 * self.copies.copies)
        expected = mixed_counts[:, None] * share / (1 - 2 * share)
        repeats = np.floor(expected + rng.random((len(text), 2))).astype(np.int64)
        repeats[mixed_counts == 0] = 1
        for column, side in enumerate((text.source, text.target)):
            repeats[side.words.lengths == 0, column] = 0
        return repeats

    @cached_property
    def _columns(self) -> PhraseTableColumns:
        return PhraseTableColumns.of(self.table)

    def _candidates(
        self, text: TextPairs, words: WordPairs, links: Ragged
    ) -> switching.SwitchCandidates:
        """Return what may be exchanged; text, words and links are of the same pairs."""
        spans = phrase_pairs(words.source.lengths, words.target.lengths, links, self.extraction)
        phrases, entries = self.table.select(words.source, words.target, spans)
        columns = self._columns
        known = None
        if self.code_switching.target_choice == "table_argmax":
            max_length = self.code_switching.max_phrase_length
            source_index, target_index = self.table.indexes
            known = (
                columns.known(0, words.source, source_index, words.target_types, max_length),
                columns.known(1, words.target, target_index, words.source_types, max_length),
            )
        lines = (TextColumns.of(text.source), TextColumns.of(text.target))
        return switching.SwitchCandidates.of(lines, phrases, columns.scores[entries], known)
