"""Exchange phrases of a sentence for their translations (ALM, Yang et al. 2020).

`switch_phrases` draws which phrases are exchanged, from spans of words. `switched_text` gathers the lines of its
result. The objective `alm` encodes these lines like any other text and `interlace code-switch` writes them, so both
have the same sentences for the same draws.

Terms: the *matrix* sentence is the one that a switched sentence is made from.
Legend: n pairs; P phrase pairs; k exchanges, phrases with others for their places; W words.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from interlace.alignment.phrases import PhraseRules, phrase_pairs
from interlace.core.ragged import Ragged, ranges
from interlace.core.randomness import Generator
from interlace.core.settings import Settings
from interlace.data import KnownPhrases
from interlace.text.columns import TextColumns
from interlace.text.scripts import is_unspaced
from interlace.text.word_tokenizers.common.characters import CharacterClasses, is_space

KINDS = ("source", "target", "major source", "major target")
MONOLINGUAL = 2  # kinds below this number are monolingual
PUNCTUATION = 1  # kinds of characters; digits and combining marks are letters
SPACED = 2
UNSPACED_LETTER = 3
_NO_LIMIT = 1 << 30
Numbers = NDArray[np.int64]


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


ShareRange = Annotated[tuple[float, float], BeforeValidator(_as_range), AfterValidator(_in_order)]


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
    min_probability: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Minimum phi(inserted | replaced) of a phrase that may be replaced.",
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that the two shares leave a share of mixed sentences."""
        if self.source_share + self.target_share > 1 + 1e-9:
            found = self.source_share + self.target_share
            raise ValueError(f"source_share + target_share must not exceed 1, found {found:g}")


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
    scores: NDArray[np.float32]
    known: tuple[KnownPhrases, KnownPhrases] | None = None

    @classmethod
    def of(
        cls,
        text: tuple[TextColumns, TextColumns],
        phrases: Ragged,
        scores: NDArray[np.float32] | None = None,
        known: tuple[KnownPhrases, KnownPhrases] | None = None,
    ) -> SwitchCandidates:
        """Return the candidates of source and target lines; without scores all phrases are equally probable."""
        parts = [text[0], text[1]]
        if known is not None:
            parts += [known[0].counterparts, known[1].counterparts]
        sides = np.repeat(
            np.array([0, 1, 1, 0][: len(parts)], np.int8), [len(part) for part in parts]
        )
        if scores is None:
            scores = np.ones((len(phrases.flat), 4), np.float32)
        return cls(TextColumns.concatenate(parts), sides, phrases, scores, known)

    @classmethod
    def extracted(
        cls,
        text: tuple[TextColumns, TextColumns],
        links: Ragged,
        confidence: NDArray[np.float32] | None,
        rules: PhraseRules,
    ) -> SwitchCandidates:
        """Return all phrases of source and target lines that are consistent with their word alignments.

        Without a phrase table, the score of a phrase pair is the mean, over the words of its inserted side, of each
        word's highest link confidence. Unaligned words lower it, so tight counterparts are preferred.
        """
        words = np.stack([side.words.lengths for side in text], axis=1)
        links, confidence = rules.confident(links, confidence)
        phrases = phrase_pairs(words[:, 0], words[:, 1], links, rules, 1, confidence)
        sure = (
            1.0 if confidence is None else confidence.astype(np.float64)
        )  # `maximum.at` is slow on mixed types
        scores = np.empty((len(phrases.flat), 4), np.float32)
        for side in (0, 1):
            first_words = np.cumsum(words[:, side]) - words[:, side]
            highest = np.zeros(int(words[:, side].sum()))
            np.maximum.at(highest, first_words[links.rows()] + links.flat[:, side], sure)
            sums = np.append(0.0, np.cumsum(highest))
            begin = phrases.flat[:, 2 * side]
            end = phrases.flat[:, 2 * side + 1]
            first = first_words[phrases.rows()]
            scores[:, 1 - side] = (sums[first + end] - sums[first + begin]) / (end - begin)
        scores[:, 2] = scores[:, 1]
        scores[:, 3] = scores[:, 0]
        return cls.of(text, phrases, scores)


@dataclass(frozen=True)
class Exchanges:
    """k phrases of matrix sentences, each with a phrase for its place; sorted by pair and span.

    rows: (k,) the pair of each. replaced: (k, 2) int32, its (start, stop) words of the matrix sentence.
    lines: (k,) the line of the inserted phrase among those of the candidates. inserted: (k, 2) int32, its words there.
    """

    rows: Numbers
    replaced: NDArray[np.int32]
    lines: Numbers
    inserted: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: NDArray[Any]) -> Exchanges:
        """Return a copy of some exchanges, by number or boolean mask."""
        return Exchanges(
            self.rows[index], self.replaced[index], self.lines[index], self.inserted[index]
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
    def kinds(self) -> NDArray[np.int8]:
        """(n,) index into KINDS. A sentence in which nothing is replaced is monolingual."""
        return np.asarray(self.matrix + MONOLINGUAL * (self.replaced_words > 0), np.int8)

    @property
    def matrix_lines(self) -> Numbers:
        """(n,) the line of each matrix sentence among those of the candidates."""
        return np.asarray(np.arange(len(self.matrix)) + len(self.matrix) * self.matrix, np.int64)


def switch_phrases(
    candidates: SwitchCandidates, settings: CodeSwitching, rng: Generator
) -> SwitchedSentences:
    """Draw a switched sentence for every pair.

    The kind of each sentence is drawn first. In a mixed sentence candidate phrases are taken in random order if they
    overlap no earlier one, as long as the replaced words stay strictly below the share.
    """
    from interlace.objectives.common._code_switching_kernels import draw_spans

    n = len(candidates.phrases)
    kind = rng.random(n)
    major = rng.random(n)
    is_mixed = kind >= settings.source_share + settings.target_share
    matrix = np.where(
        is_mixed, major >= settings.major_source, kind >= settings.source_share
    ).astype(np.int64)
    words = candidates.lines.words.lengths[np.arange(n) + n * matrix]
    low, high = settings.switch_fraction
    shares = low + (high - low) * rng.random(n)
    max_words = np.maximum(
        np.ceil(shares * words - 1e-9).astype(np.int64) - 1, 0
    )  # strictly less, in whole words

    side = np.where(is_mixed & (max_words > 0), matrix, -1)  # whose phrases are exchanged
    if settings.target_choice == "table_argmax" and candidates.known is not None:
        exchanges = _exchanges_from_table(candidates.known, settings, side)
    else:
        exchanges = _exchanges_in_pairs(candidates, settings, side)
    exchanges = exchanges.take(
        ~_is_same_text(candidates, exchanges, exchanges.rows + n * side[exchanges.rows])
    )
    offsets = np.searchsorted(exchanges.rows, np.arange(n + 1))
    max_phrases = settings.max_phrases or _NO_LIMIT
    is_taken = draw_spans(
        exchanges.replaced, offsets, max_words, max_phrases, rng.random(len(exchanges))
    )
    exchanges = exchanges.take(is_taken)
    lengths = exchanges.replaced[:, 1] - exchanges.replaced[:, 0]
    replaced_words = np.bincount(exchanges.rows, lengths, minlength=n).astype(np.int64)
    return SwitchedSentences(matrix, exchanges, words, replaced_words)


def _exchanges_in_pairs(
    candidates: SwitchCandidates, settings: CodeSwitching, side: Numbers
) -> Exchanges:
    """Return each phrase with its most probable translation in the pair. side: (n,) whose phrases; -1 for none."""
    rows = candidates.phrases.rows()
    spans = candidates.phrases.flat.reshape(-1, 2, 2)  # (P, side, start and stop)
    is_short = ((spans[:, :, 1] - spans[:, :, 0]) <= settings.max_phrase_length).all(axis=1)
    phrases = np.flatnonzero(is_short & (side[rows] >= 0))
    scores = candidates.scores[phrases, side[rows[phrases]]]
    phrases = phrases[scores >= settings.min_probability]

    rows = rows[phrases]
    side = side[rows]
    replaced = spans[phrases, side]
    best = _best_of_each_span(
        candidates.lines.words.offsets[rows + len(candidates.phrases) * side] + replaced[:, 0],
        replaced[:, 1] - replaced[:, 0],
        candidates.scores[phrases, side],
        candidates.scores[phrases, side + 2],
    )
    best = best[
        np.argsort(rows[best], kind="stable")
    ]  # of all matrix sentences, sources and targets
    other_side = 1 - side[best]
    lines = rows[best] + len(candidates.phrases) * other_side
    return Exchanges(rows[best], replaced[best], lines, spans[phrases[best], other_side])


def _best_of_each_span(
    words: Numbers,
    lengths: NDArray[np.int32],
    scores: NDArray[np.float32],
    weights: NDArray[np.float32],
) -> Numbers:
    """Return the numbers of the phrases with the highest score of each span, in the order of spans.

    Equal scores are decided by weight, then by order. All arguments are by phrase: the number of its first word among
    all words, its words, score and weight.
    """
    max_length = int(lengths.max(initial=0))
    span = words * max_length + lengths - 1
    span_count = int(span.max(initial=-1)) + 1
    is_best = np.ones(len(span), np.bool_)
    for values in (scores, weights):
        highest = np.full(span_count, -np.inf, np.float32)
        np.maximum.at(highest, span[is_best], values[is_best])
        is_best &= values == highest[span]
    best = np.flatnonzero(is_best)
    first = np.full(span_count, len(span))
    np.minimum.at(first, span[best], best)
    return first[first < len(span)]


def _exchanges_from_table(
    known: tuple[KnownPhrases, KnownPhrases], settings: CodeSwitching, side: Numbers
) -> Exchanges:
    """Return each phrase with its translation in the phrase table. side: (n,) whose phrases; -1 for none."""
    rows = np.concatenate([phrases.spans.rows() for phrases in known])
    sides = np.repeat([0, 1], [len(phrases.spans.flat) for phrases in known])
    replaced = np.concatenate([phrases.spans.flat for phrases in known])
    scores = np.concatenate([phrases.scores for phrases in known])
    lengths = np.concatenate(
        [phrases.counterparts.words.lengths[phrases.numbers] for phrases in known]
    )
    inserted = np.stack([np.zeros_like(lengths), lengths], axis=1).astype(np.int32)
    source_lines = 2 * len(side) + known[0].numbers  # after those of the pairs
    target_lines = 2 * len(side) + len(known[0].counterparts) + known[1].numbers
    lines = np.concatenate([source_lines, target_lines])
    fits = (side[rows] == sides) & (scores >= settings.min_probability)
    fits &= (lengths > 0) & (lengths <= settings.max_phrase_length)
    fits &= replaced[:, 1] - replaced[:, 0] <= settings.max_phrase_length
    exchanges = Exchanges(rows, replaced, lines, inserted).take(fits)
    return exchanges.take(np.argsort(exchanges.rows, kind="stable"))


def _is_same_text(
    candidates: SwitchCandidates, exchanges: Exchanges, matrix_lines: Numbers
) -> NDArray[np.bool_]:
    """(k,) whether both phrases are the same text (a name, a full stop), whatever is between words.

    matrix_lines: (k,) the line of each replaced phrase.
    """
    words = candidates.lines.words
    spans = _spans_in_all_lines(candidates.lines)
    lengths = spans[:, 1] - spans[:, 0]
    letters = candidates.lines.characters.flat[ranges(spans[:, 0], lengths)]
    first_letters = np.append(0, np.cumsum(lengths))  # of each word
    replaced = first_letters[words.offsets[matrix_lines][:, None] + exchanges.replaced]  # (k, 2)
    inserted = first_letters[words.offsets[exchanges.lines][:, None] + exchanges.inserted]
    counts = replaced[:, 1] - replaced[:, 0]
    is_same = counts == inserted[:, 1] - inserted[:, 0]
    compared = np.flatnonzero(is_same)
    first = letters[ranges(replaced[compared, 0], counts[compared])]
    second = letters[ranges(inserted[compared, 0], counts[compared])]
    is_same[np.repeat(compared, counts[compared])[first != second]] = False
    return np.asarray(is_same, np.bool_)


def _spans_in_all_lines(lines: TextColumns) -> Numbers:
    """(W, 2) the first character and the end of each word among the characters of all lines."""
    return np.asarray(
        lines.words.flat + lines.characters.offsets[lines.words.rows()][:, None], np.int64
    )


@dataclass(frozen=True)
class SwitchedText:
    """The lines of n switched sentences. sides: (W,) int8, whose language each word is in."""

    text: TextColumns
    sides: NDArray[np.int8]


def switched_text(candidates: SwitchCandidates, switched: SwitchedSentences) -> SwitchedText:
    r"""Return the lines of switched sentences: phrases are exchanged, and all other characters stay.

    Lines are gathered in pieces. There is one for each exchange, with three parts: the matrix sentence up to the
    replaced phrase, a space if one must be added, and the inserted phrase. Another one is the rest of the line. If in

        we met Maria here            wir trafen Marie hier

    the words 1:3 and 3:4 are replaced by 1:3 and 3:4 of the other side, the pieces are

        matrix sentence  space  phrase          words              sides
        "we "            ""     "trafen Marie"  we, trafen, Marie  0, 1, 1
        " "              ""     "hier"          hier               1
        "\n"             ""     ""

    and the line is "we trafen Marie hier". A part of the matrix sentence ends before the space in front of the replaced
    phrase if the inserted phrase has none there; see `needs_space`.
    """
    lines = candidates.lines
    exchanges = switched.exchanges
    matrix_lines = switched.matrix_lines
    pieces = _Pieces.of(exchanges.rows, len(matrix_lines))

    first_words = lines.words.offsets
    replaced_words = (
        first_words[matrix_lines[exchanges.rows]][:, None] + exchanges.replaced
    )  # (k, 2), of all lines
    inserted_words = first_words[exchanges.lines][:, None] + exchanges.inserted
    words = pieces.parts(
        first_words[matrix_lines], first_words[matrix_lines + 1], replaced_words, inserted_words
    )

    spans = _spans_in_all_lines(lines)
    replaced = np.stack(
        [spans[replaced_words[:, 0], 0], spans[replaced_words[:, 1] - 1, 1]], axis=1
    )
    inserted = np.stack(
        [spans[inserted_words[:, 0], 0], spans[inserted_words[:, 1] - 1, 1]], axis=1
    )
    replaced[:, 0], has_new_space = _spaces(lines.characters.flat, exchanges, replaced, inserted)
    first_characters = lines.characters.offsets
    characters = pieces.parts(
        first_characters[matrix_lines], first_characters[matrix_lines + 1], replaced, inserted
    )
    everything = np.append(lines.characters.flat, lines.characters.flat.dtype.type(ord(" ")))
    space = len(everything) - 1
    characters.starts[:, 1] = space
    characters.stops[:, 1] = space
    characters.stops[pieces.of_exchanges, 1] += has_new_space

    new_stops = np.cumsum(characters.lengths).reshape(-1, 3)
    line_offsets = np.append(0, new_stops[pieces.last, 2])
    moved_by = words.repeated(new_stops - characters.stops)  # of each word
    words_by_line = np.bincount(
        pieces.rows, words.lengths.sum(axis=1), minlength=len(matrix_lines)
    ).astype(np.int64)
    new_spans = (
        spans[words.index] + (moved_by - np.repeat(line_offsets[:-1], words_by_line))[:, None]
    )

    sides = np.zeros((len(pieces.rows), 3), np.int8)
    sides[:, 0] = switched.matrix[pieces.rows]
    sides[pieces.of_exchanges, 2] = candidates.sides[exchanges.lines]
    new_characters = Ragged(everything[characters.index], line_offsets)
    new_words = Ragged.from_lengths(new_spans.astype(np.int32), words_by_line)
    return SwitchedText(TextColumns(new_characters, new_words), words.repeated(sides))


@dataclass(frozen=True)
class _Parts:
    """Ranges of characters or words. starts, stops: (pieces, 3), of the matrix sentence, the space and the phrase."""

    starts: Numbers
    stops: Numbers

    @property
    def lengths(self) -> Numbers:
        """(pieces, 3) characters or words of each part."""
        return self.stops - self.starts

    @property
    def index(self) -> Numbers:
        """The numbers of all characters or words, in order."""
        return ranges(self.starts.ravel(), self.lengths.ravel())

    def repeated(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the value of its part for each character or word. values: (pieces, 3)."""
        return np.repeat(values.ravel(), self.lengths.ravel())


@dataclass(frozen=True)
class _Pieces:
    """The pieces of n lines: one for each exchange, and one for the rest of each line.

    rows: (pieces,) the line of each. of_exchanges: (k,) the piece of each exchange. first, last: (n,) of each line.
    """

    rows: Numbers
    of_exchanges: Numbers
    first: Numbers
    last: Numbers

    @classmethod
    def of(cls, rows: Numbers, n: int) -> _Pieces:
        """Return the pieces of n lines. rows: (k,) the line of each exchange, ascending."""
        counts = np.bincount(rows, minlength=n) + 1
        ends = np.cumsum(counts)
        return cls(
            np.repeat(np.arange(n), counts), np.arange(len(rows)) + rows, ends - counts, ends - 1
        )

    def parts(
        self, line_starts: Numbers, line_stops: Numbers, replaced: Numbers, inserted: Numbers
    ) -> _Parts:
        """Return the parts of each piece, without spaces.

        line_starts, line_stops: (n,) of the matrix sentences. replaced, inserted: (k, 2) of the phrases.
        """
        starts = np.zeros((len(self.rows), 3), np.int64)
        stops = np.zeros((len(self.rows), 3), np.int64)
        starts[self.first, 0] = line_starts
        starts[self.of_exchanges + 1, 0] = replaced[:, 1]
        stops[self.of_exchanges, 0] = replaced[:, 0]
        stops[self.last, 0] = line_stops
        starts[self.of_exchanges, 2] = inserted[:, 0]
        stops[self.of_exchanges, 2] = inserted[:, 1]
        return _Parts(starts, stops)


def _spaces(
    characters: NDArray[Any], exchanges: Exchanges, replaced: Numbers, inserted: Numbers
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return (k,) where the matrix sentence stops before each replaced phrase, and (k,) whether a space follows.

    characters: of all lines. replaced, inserted: (k, 2) those of the phrases.
    """
    is_blank = is_space(characters)
    positions = np.arange(1, len(characters) + 1)
    text_ends = np.maximum.accumulate(
        np.where(is_blank, 0, positions)
    )  # of the text up to each character
    text_ends = text_ends[replaced[:, 0] - 1]  # before each replaced phrase
    before = characters[text_ends - 1]
    follows = (
        np.flatnonzero(text_ends[1:] == replaced[:-1, 1]) + 1
    )  # directly after another exchange
    before[follows] = characters[inserted[follows - 1, 1] - 1]

    has_space = text_ends < replaced[:, 0]
    phrase_has_space = (exchanges.inserted[:, 0] == 0) | is_blank[inserted[:, 0] - 1]
    kind_before = _CHARACTER_KINDS.of(before)
    kind_after = _CHARACTER_KINDS.of(characters[inserted[:, 0]])
    needed = needs_space(has_space, phrase_has_space, kind_before, kind_after)
    is_inside = exchanges.replaced[:, 0] > 0  # nothing changes at the beginning of a line
    stops = np.where(is_inside & has_space & ~needed, text_ends, replaced[:, 0])
    return np.asarray(stops, np.int64), is_inside & needed & ~has_space


def needs_space(place: Any, phrase: Any, before: Any, after: Any) -> Any:
    """Return whether a moved phrase has a space before it; for one phrase or arrays.

    If place and phrase agree, that decides. Otherwise the adjacent characters do: "young, white" whose ", white"
    becomes "weiße" needs a space; a place after a bracket needs none, nor do letters of a script without spaces.

    place: whether a space precedes the words that are replaced. phrase: whether one precedes the phrase in its own
        sentence, or would before a line's first word. before, after: kinds of the adjacent characters.
    """
    between_letters = (before == SPACED) & (after == SPACED)
    return (place & (phrase | (after != PUNCTUATION))) | (phrase & between_letters)


def character_kind(character: str) -> int:
    """Return PUNCTUATION, SPACED or UNSPACED_LETTER."""
    if unicodedata.category(character)[0] not in "LNM":
        return PUNCTUATION
    return UNSPACED_LETTER if is_unspaced(character) else SPACED


_CHARACTER_KINDS = CharacterClasses(character_kind)
