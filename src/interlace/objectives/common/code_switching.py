"""Exchange phrases of a sentence for their translations (ALM, Yang et al. 2020).

`switch_phrases` draws which phrases are exchanged, from spans of words. `switched_text` gathers the lines of its
result. The objective `alm` encodes these lines like any other text and `interlace code-switch` writes them, so both
have the same sentences for the same draws.

Terms: the *matrix* sentence is the one that a switched sentence is made from.
Legend: n pairs; P phrase pairs; k exchanges, phrases with others for their places; W words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from interlace.core.ragged import BoolArray, FloatArray, IntArray, Ragged, begins_run
from interlace.core.randomness import Generator
from interlace.core.settings import Settings
from interlace.data import KnownPhrases
from interlace.objectives.common.exchanges import Exchanges, LineColumns
from interlace.text.columns import TextColumns

_NO_LIMIT = 1 << 30
Numbers = IntArray


def _as_range(value: Any) -> Any:
    """Read one number as both ends of a range; a string may hold one or two, as `--set` passes it."""
    if isinstance(value, str):
        value = [float(part) for part in value.strip("[]() ").split(",")]
        value = value[0] if len(value) == 1 else value
    return (value, value) if isinstance(value, int | float) else value


def _in_order(value: tuple[float, float]) -> tuple[float, float]:
    if not 0 < value[0] <= value[1] <= 1:
        raise ValueError("expected a share in (0, 1], or two in ascending order")
    return value


ShareRange = Annotated[
    tuple[float, float], BeforeValidator(_as_range), AfterValidator(_in_order)
]


class CodeSwitching(Settings):
    """How code-switched sentences are drawn."""

    source_share: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of unchanged source sentences (ALM: 10 %; its alpha = 0).",
    )
    target_share: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of unchanged target sentences (ALM: 10 %; its alpha = 1).",
    )
    major_source: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of mixed sentences made from the source; the others from the target.",
    )
    switch_fraction: ShareRange = Field(
        (0.3, 0.3),
        description="Upper bound, exclusive, of the share of replaced words (ALM, 'Constructing Training Samples': "
        "30 %). Two numbers: the bound is drawn uniformly between them for each sentence.",
    )
    max_phrase_length: int = Field(
        4,
        ge=1,
        le=20,
        description="Maximum number of words of a phrase, on both sides (ALM: less than 5).",
    )
    max_phrases: int = Field(
        0,
        ge=0,
        description="Maximum number of phrases replaced in a sentence; 0: no limit (ALM names none).",
    )
    target_choice: Literal["in_pair", "table_argmax"] = Field(
        "in_pair",
        description="Translation of a phrase: its most probable counterpart in this pair (ALM, 'Code-Switched "
        "Sequence'), or the phrase table's most probable translation ('Constructing Training Samples').",
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that the two shares leave a share of mixed sentences."""
        if self.source_share + self.target_share > 1 + 1e-9:
            total = self.source_share + self.target_share
            raise ValueError(f"source_share + target_share must not exceed 1, found {total:g}")


@dataclass(frozen=True)
class SwitchCandidates:
    """What may be exchanged in n pairs.

    lines: the n source lines, then the n target lines; then, with `known`, its translations of source phrases, and of
        target phrases.
    sides: (lines,) int8, 0 for lines in the source language and 1 for those in the target language.
    phrases: n rows of (a, b, c, d) int32 word spans: source[a:b] translates target[c:d].
    scores: (P, 4) float32: phi(target|source), phi(source|target), and two weights, which decide between equally
        probable translations of a source phrase, and of a target phrase.
    known: translations from the phrase table, which are inserted instead of those in the pair for `table_argmax`.
    """

    lines: TextColumns
    sides: NDArray[np.int8]
    phrases: Ragged
    scores: FloatArray
    known: tuple[KnownPhrases, KnownPhrases] | None = None

    @classmethod
    def of(
        cls,
        text: tuple[TextColumns, TextColumns],
        phrases: Ragged,
        scores: FloatArray | None = None,
        known: tuple[KnownPhrases, KnownPhrases] | None = None,
    ) -> SwitchCandidates:
        """Return the candidates of source and target lines; without scores all phrases are equally probable."""
        parts = [text[0], text[1]]
        if known is not None:
            parts += [known[0].counterparts, known[1].counterparts]
        line_counts = [len(part) for part in parts]
        sides = np.repeat(np.array([0, 1, 1, 0][: len(parts)], np.int8), line_counts)
        if scores is None:
            scores = np.ones((len(phrases.flat), 4), np.float32)
        return cls(TextColumns.concatenate(parts), sides, phrases, scores, known)

    @cached_property
    def columns(self) -> LineColumns:
        """The lines as the kernels read them."""
        from interlace.objectives.common._code_switching_kernels import CHARACTER_KINDS

        characters = self.lines.characters
        words = self.lines.words
        return LineColumns(
            characters=characters.flat,
            kinds=CHARACTER_KINDS.of(characters.flat),
            starts=characters.offsets - characters.offsets[0],
            words=words.flat,
            first_words=words.offsets - words.offsets[0],
            sides=self.sides,
        )


@dataclass(frozen=True)
class SwitchedSentences:
    """n switched sentences: matrix sentences with some phrases exchanged.

    matrix: (n,) 0 if the matrix sentence is the source and 1 if it is the target.
    exchanges: of all sentences.
    words: (n,) words of the matrix sentence. replaced_words: (n,) how many of them are replaced.
    """

    matrix: Numbers
    exchanges: Exchanges
    words: Numbers
    replaced_words: Numbers

    @property
    def is_mixed(self) -> BoolArray:
        """(n,) whether anything is replaced; other sentences are monolingual."""
        return self.replaced_words > 0


def switch_phrases(
    candidates: SwitchCandidates, settings: CodeSwitching, rng: Generator
) -> SwitchedSentences:
    """Draw a switched sentence for every pair.

    The kind of each sentence is drawn first. In a mixed sentence candidate phrases are taken in random order if they
    overlap no earlier one, as long as the replaced words stay strictly below the share.
    """
    from interlace.objectives.common._code_switching_kernels import (
        draw_spans,
        have_same_letters,
    )

    n = len(candidates.phrases)
    kind = rng.random(n)
    major = rng.random(n)
    is_mixed = kind >= settings.source_share + settings.target_share
    is_target = np.where(
        is_mixed, major >= settings.major_source, kind >= settings.source_share
    )
    matrix = is_target.astype(np.int64)
    matrix_lines = np.arange(n) + n * matrix
    words = candidates.lines.words.lengths[matrix_lines]
    low, high = settings.switch_fraction
    shares = low + (high - low) * rng.random(n)
    # strictly less than the share
    max_words = np.ceil(shares * words - 1e-9).astype(np.int64) - 1
    max_words = np.maximum(max_words, 0)

    replaced_side = np.where(is_mixed & (max_words > 0), matrix, -1)
    if settings.target_choice == "table_argmax" and candidates.known is not None:
        exchanges = _exchanges_from_table(candidates.known, settings, replaced_side)
    else:
        exchanges = _exchanges_in_pairs(candidates, settings, replaced_side)
    exchanges = exchanges.take(~have_same_letters(candidates.columns, matrix_lines, exchanges))
    offsets = exchanges.offsets(n)
    max_phrases = settings.max_phrases or _NO_LIMIT
    uniforms = rng.random(len(exchanges.rows))
    is_taken = draw_spans(exchanges.replaced, offsets, max_words, max_phrases, uniforms)
    exchanges = exchanges.take(is_taken)
    lengths = exchanges.replaced[:, 1] - exchanges.replaced[:, 0]
    replaced_words = np.bincount(exchanges.rows, lengths, minlength=n).astype(np.int64)
    return SwitchedSentences(matrix, exchanges, words, replaced_words)


def _exchanges_in_pairs(
    candidates: SwitchCandidates, settings: CodeSwitching, replaced_side: Numbers
) -> Exchanges:
    """Return each phrase with its most probable translation in the pair.

    Equal probabilities are decided by weight, then by order. replaced_side: (n,) whose phrases; -1 for none.
    """
    spans = candidates.phrases.flat.reshape(-1, 2, 2)  # (P, side, start and stop)
    lengths = spans[:, :, 1] - spans[:, :, 0]
    is_short = (lengths <= settings.max_phrase_length).all(axis=1)
    pairs = candidates.phrases.rows()
    phrases = np.flatnonzero(is_short & (replaced_side[pairs] >= 0))
    pairs = pairs[phrases]
    sides = replaced_side[pairs]
    replaced = spans[phrases, sides]
    inserted = spans[phrases, 1 - sides]
    scores = candidates.scores[phrases, sides]
    weights = candidates.scores[phrases, sides + 2]

    max_words = int(replaced.max(initial=0)) + 1
    span_numbers = (pairs * max_words + replaced[:, 0]) * max_words + replaced[:, 1]
    order = np.lexsort((-weights, -scores, span_numbers))
    best = order[begins_run(span_numbers[order])]
    lines = pairs + len(candidates.phrases) * (1 - sides)
    return Exchanges(pairs, replaced, lines, inserted).take(best)


def _exchanges_from_table(
    known: tuple[KnownPhrases, KnownPhrases], settings: CodeSwitching, replaced_side: Numbers
) -> Exchanges:
    """Return each phrase with its translation in the phrase table. replaced_side: (n,) whose phrases; -1 for none."""
    parts = []
    first_line = 2 * len(replaced_side)  # translations follow the lines of the pairs
    for side, phrases in enumerate(known):
        pairs = phrases.spans.rows()
        replaced = phrases.spans.flat
        lengths = phrases.counterparts.words.lengths[phrases.numbers]
        inserted = np.stack([np.zeros_like(lengths), lengths], axis=1).astype(np.int32)
        exchanges = Exchanges(pairs, replaced, first_line + phrases.numbers, inserted)
        fits = (replaced_side[pairs] == side) & (lengths > 0)
        fits &= lengths <= settings.max_phrase_length
        fits &= replaced[:, 1] - replaced[:, 0] <= settings.max_phrase_length
        parts.append(exchanges.take(fits))
        first_line += len(phrases.counterparts)
    columns = [np.concatenate(parts_of_column) for parts_of_column in zip(*parts, strict=True)]
    exchanges = Exchanges(*columns)
    return exchanges.take(np.argsort(exchanges.rows, kind="stable"))


@dataclass(frozen=True)
class SwitchedText:
    """The lines of n switched sentences. sides: (W,) int8, whose language each word is in."""

    text: TextColumns
    sides: NDArray[np.int8]


def switched_text(candidates: SwitchCandidates, switched: SwitchedSentences) -> SwitchedText:
    """Return the lines of switched sentences: phrases are exchanged, and all other characters stay.

    If the words 1:3 and 3:4 of the first line are replaced by those of the second,

        we met Maria here            wir trafen Marie hier

    the line is "we trafen Marie hier", and its words have the sides 0, 1, 1, 1. The space before a phrase is kept,
    removed or added as `needs_space` says.
    """
    from interlace.objectives.common._code_switching_kernels import write_lines

    columns = candidates.columns
    exchanges = switched.exchanges
    n = len(switched.matrix)
    matrix_lines = np.arange(n) + n * switched.matrix
    read_lines = np.concatenate([matrix_lines, exchanges.lines])
    # with added spaces
    max_characters = np.diff(columns.starts)[read_lines].sum() + len(exchanges.rows)
    max_words = np.diff(columns.first_words)[read_lines].sum()
    written = LineColumns(
        characters=np.empty(max_characters, columns.characters.dtype),
        kinds=np.empty(max_characters, np.uint8),
        starts=np.zeros(n + 1, np.int64),
        words=np.empty((max_words, 2), np.int32),
        first_words=np.zeros(n + 1, np.int64),
        sides=np.empty(max_words, np.int8),
    )
    write_lines(columns, matrix_lines, exchanges, exchanges.offsets(n), written)
    characters = Ragged(written.characters[: written.starts[-1]], written.starts)
    words = Ragged(written.words[: written.first_words[-1]], written.first_words)
    return SwitchedText(
        TextColumns(characters, words), written.sides[: written.first_words[-1]]
    )
