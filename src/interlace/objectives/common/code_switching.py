"""Draw which phrases of a sentence are exchanged for their translations (ALM, Yang et al. 2020).

`switch_phrases` works on word spans only. `switched_tokens` builds token ids from its result, `switched_text` lines of
text, so the objective `alm` and `interlace code-switch` have the same distribution.

Terms: the *matrix* sentence is the one that a switched sentence is made from; a *piece* is a span of words of either
side. Legend: n rows (pairs).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from interlace.alignment.phrases import PhraseRules
    from interlace.core.randomness import Generator
    from interlace.data import KnownPhrases, Pairs, Sentences

    Counterparts = Callable[[Ragged], NDArray[np.int32]]

KINDS = ("source", "target", "major source", "major target")
MONOLINGUAL = 2  # kinds below this number are monolingual
SOURCE, TARGET, OF_SOURCE, OF_TARGET = range(4)  # origin of a piece; the last two: the phrase table's translations
NO_LIMIT = 1 << 30


def _as_range(value: Any) -> Any:
    """Read one number as both ends of a range; a string may hold one or two, as `--set` passes it."""
    if isinstance(value, str):
        value = [float(part) for part in value.strip("[]() ").split(",")]
        value = value[0] if len(value) == 1 else value
    return (value, value) if isinstance(value, int | float) else value


def _in_order(value: tuple[float, float]) -> tuple[float, float]:
    if not 0 < value[0] <= value[1] <= 1:
        message = "expected a share in (0, 1], or two in ascending order"
        raise ValueError(message)
    return value


ShareRange = Annotated[tuple[float, float], BeforeValidator(_as_range), AfterValidator(_in_order)]


class CodeSwitching(Settings):
    """How code-switched sentences are drawn."""

    source_share: float = Field(
        0.1, ge=0, le=1, description="Share of unchanged source sentences (ALM: 10 %; its alpha = 0)."
    )
    target_share: float = Field(
        0.1, ge=0, le=1, description="Share of unchanged target sentences (ALM: 10 %; its alpha = 1)."
    )
    major_source: float = Field(
        0.5, ge=0, le=1, description="Share of mixed sentences made from the source; the others from the target."
    )
    switch_fraction: ShareRange = Field(
        (0.3, 0.3),
        description="Replaced words are strictly less than this share of the matrix sentence's words (ALM, "
        "'Constructing Training Samples': 30 %). Two numbers: drawn uniformly between them for each sentence.",
    )
    max_phrase_length: int = Field(
        4, ge=1, le=20, description="Maximum number of words of a phrase, on both sides (ALM: less than 5)."
    )
    max_phrases: int = Field(
        0, ge=0, description="Maximum number of phrases replaced in a sentence; 0: no limit (ALM names none)."
    )
    target_choice: Literal["in_pair", "table_argmax"] = Field(
        "in_pair",
        description="Translation of a phrase: its most probable counterpart in this pair (ALM, 'Code-Switched "
        "Sequence'), or the phrase table's most probable translation ('Constructing Training Samples').",
    )
    min_probability: float = Field(
        0.0, ge=0, le=1, description="Minimum phi(inserted | replaced) of a phrase that may be replaced."
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that the two shares leave a share of mixed sentences."""
        if self.source_share + self.target_share > 1 + 1e-9:
            found = self.source_share + self.target_share
            message = f"source_share + target_share must not exceed 1, found {found:g}"
            raise ValueError(message)


@dataclass(frozen=True)
class SwitchCandidates:
    """What may be exchanged in n pairs.

    words: (n, 2) number of words of source and target.
    phrases: n rows of (a, b, c, d) int32 word spans. scores: (phi(t|s), phi(s|t)) float32 of each.
    boundaries: by side, a row per sentence: whether it can be cut before each of its words, and True after the last.
    known: the phrase table's translations for each side; only read for `table_argmax`.
    texts: a number for the text of each token, of all source and then all target sentences, to find equal phrases.
    begins: where each word and each sentence end is in `texts`, arranged as `boundaries`.
    """

    words: NDArray[np.int64]
    phrases: Ragged
    scores: NDArray[np.float32]
    boundaries: tuple[Ragged, Ragged]
    known: tuple[KnownPhrases, KnownPhrases] | None = None
    texts: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    begins: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def of(
        cls, pairs: Pairs, inside: NDArray[np.bool_] | None = None, texts: NDArray[np.int32] | None = None
    ) -> SwitchCandidates:
        """Return the stored phrases of tokenized pairs; without scores all are equally probable.

        A token may hold the end of a word and the beginning of the next, above all in scripts without spaces. The
        sentence is not cut there, because a word would be lost or duplicated.

        inside: (vocabulary,) tokens that begin inside a character, as byte tokens may.
        texts: (vocabulary,) a number that tokens of the same text share; None: phrases are not compared.
        """
        words = np.stack([word_counts(pairs.source), word_counts(pairs.target)], axis=1)
        phrases = pairs.phrases or Ragged(np.zeros((0, 4), np.int32), np.zeros(len(pairs) + 1, np.int64))
        flat = np.ascontiguousarray(phrases.flat, np.int32)
        scores = np.ones((len(flat), 2), np.float32) if pairs.scores is None else pairs.scores.flat
        boundaries = (
            _boundaries(pairs.source, words[:, 0], inside),
            _boundaries(pairs.target, words[:, 1], inside),
        )
        phrases = Ragged(flat, phrases.offsets - phrases.offsets[0])
        scores = np.ascontiguousarray(scores, np.float32)
        if texts is None:
            return cls(words, phrases, scores, boundaries, pairs.known)
        begins = [_begins(side, where) for side, where in zip((pairs.source, pairs.target), boundaries, strict=True)]
        begins[1] += len(pairs.source.ids.flat)
        ids = np.concatenate([pairs.source.ids.flat, pairs.target.ids.flat])
        return cls(words, phrases, scores, boundaries, pairs.known, texts[ids], np.concatenate(begins))

    @classmethod
    def extracted(
        cls,
        pairs: Pairs,
        rules: PhraseRules,
        inside: NDArray[np.bool_] | None = None,
        texts: NDArray[np.int32] | None = None,
    ) -> SwitchCandidates:
        """Return all phrases that are consistent with the pairs' word alignments.

        Without a phrase table, the score of a phrase pair is the mean, over the words of its inserted side, of each
        word's highest link confidence. Unaligned words lower it, so tight counterparts are preferred.

        inside, texts: see `of`.
        """
        links = pairs.links or Ragged(np.zeros((0, 2), np.int32), np.zeros(len(pairs) + 1, np.int64))
        words = np.stack([word_counts(pairs.source), word_counts(pairs.target)], axis=1)
        if (links.flat >= words[links.rows()]).any():  # last words may have no token
            np.maximum.at(words, links.rows(), links.flat.astype(np.int64) + 1)
        links, confidence = rules.confident(links, None if pairs.confidence is None else pairs.confidence.flat)
        phrases = phrase_pairs(words[:, 0], words[:, 1], links, rules, 1, confidence)
        scores = _mean_confidence(links, confidence, words, phrases)
        return replace(cls.of(pairs, inside, texts), phrases=phrases, scores=scores[:, ::-1].astype(np.float32))


@dataclass(frozen=True)
class SwitchedSentences:
    """n switched sentences as pieces of the two sides.

    pieces: n rows of (side, row, start, stop): words start to stop of that row of SOURCE or TARGET, or of the phrase
        table's translations OF_SOURCE or OF_TARGET phrases.
    places: n rows of (start, stop) per piece: the words of the matrix sentence that it replaces.
    kinds: (n,) int8 index into KINDS. A sentence in which nothing was replaced is monolingual.
    matrix: (n,) int8 side of the matrix sentence.
    words: (n,) words of the matrix sentence. replaced: (n,) how many of them are replaced.
    """

    pieces: Ragged
    places: Ragged
    kinds: NDArray[np.int8]
    matrix: NDArray[np.int8]
    words: NDArray[np.int64]
    replaced: NDArray[np.int64]

    @property
    def inserted(self) -> NDArray[np.bool_]:
        """(pieces,) whether a piece is not from the matrix sentence."""
        return np.asarray(self.pieces.flat[:, 0] != np.repeat(self.matrix, self.pieces.lengths), np.bool_)


def switch_phrases(candidates: SwitchCandidates, settings: CodeSwitching, rng: Generator) -> SwitchedSentences:
    """Draw a switched sentence for every pair.

    The kind of each sentence is drawn first. In a mixed sentence candidate phrases are taken in random order if they
    overlap no earlier one, as long as the replaced words stay strictly below the share.
    """
    from interlace.objectives.common._code_switching_kernels import assemble, draw_spans

    n = len(candidates.words)
    matrix, mixed = _draw_kinds(n, settings, rng)
    sizes = candidates.words[np.arange(n), matrix] if n else np.zeros(0, np.int64)
    low, high = settings.switch_fraction
    shares = low + (high - low) * rng.random(n)
    allowed = np.maximum(np.ceil(shares * sizes - 1e-9).astype(np.int64) - 1, 0)  # strictly less, in whole words
    active = np.where(mixed & (allowed > 0), matrix, np.int8(-1)).astype(np.int8)
    if settings.target_choice == "table_argmax" and candidates.known is not None:
        spans, counterparts = _table_spans(candidates.known, candidates, settings, active)
    else:
        spans, counterparts = _pair_spans(candidates, settings, active)
    limit = settings.max_phrases or NO_LIMIT
    chosen = draw_spans(spans.flat, spans.offsets, allowed, limit, rng.random(len(spans.flat)))
    found = np.bincount(spans.rows()[chosen], minlength=n)
    taken = Ragged.from_lengths(spans.flat[chosen], found)
    pieces, places, used, lengths = assemble(matrix, sizes, taken.values, counterparts(taken), taken.offsets)
    replaced = np.bincount(taken.rows(), taken.values[:, 1] - taken.values[:, 0], minlength=n).astype(np.int64)
    kinds = (matrix + np.where(found > 0, MONOLINGUAL, 0)).astype(np.int8)
    rows = Ragged.from_lengths(pieces[:used], lengths)
    return SwitchedSentences(rows, Ragged(places[:used], rows.offsets), kinds, matrix, sizes, replaced)


def word_counts(sentences: Sentences) -> NDArray[np.int64]:
    """Return (n,) the number of words of each row."""
    ends = sentences.words.offsets[1:]
    lengths = sentences.words.lengths
    if not len(sentences.words.values):
        return np.zeros(len(lengths), np.int64)
    return np.where(lengths > 0, sentences.words.values[ends - 1] + np.int64(1), 0)


def all_boundaries(words: NDArray[np.int64]) -> tuple[Ragged, Ragged]:
    """Return the boundaries of plain text, which can be cut before every word. words: (n, 2)."""
    source, target = (Ragged.from_lengths(np.ones(int(side.sum()) + len(side), np.bool_), side + 1) for side in words.T)
    return source, target


def _boundaries(sentences: Sentences, counts: NDArray[np.int64], inside: NDArray[np.bool_] | None) -> Ragged:
    """Return whether a token begins with each word; a word without a token begins inside one."""
    begun = Ragged.from_lengths(np.zeros(int(counts.sum()) + len(counts), np.bool_), counts + 1)
    words = sentences.words.flat
    at = np.repeat(begun.offsets[:-1], sentences.words.lengths) + words
    first = words >= 0
    first[1:] &= at[1:] != at[:-1]
    begun.values[at[first]] = True if inside is None else ~inside[sentences.ids.flat[first]]
    begun.values[begun.offsets[1:] - 1] = True
    return begun


def _begins(sentences: Sentences, boundaries: Ragged) -> NDArray[np.int64]:
    """Return the number of tokens before each word and each sentence end, arranged as `boundaries`."""
    at = np.repeat(boundaries.offsets[:-1], sentences.words.lengths) + sentences.words.flat + 1
    return np.cumsum(np.bincount(at, minlength=len(boundaries.values)))


def _mean_confidence(
    links: Ragged, confidence: NDArray[np.float32] | None, words: NDArray[np.int64], phrases: Ragged
) -> NDArray[np.float64]:
    """Return (P, 2), by side the mean over a phrase's words of each word's highest confidence; 0 if unaligned."""
    sure = 1.0 if confidence is None else confidence.astype(np.float64)  # `maximum.at` is slow on mixed types
    means = np.empty((len(phrases.values), 2))
    of_links, of_phrases = links.rows(), phrases.rows()
    for side in (0, 1):
        starts = np.cumsum(words[:, side]) - words[:, side]
        highest = np.zeros(int(words[:, side].sum()))
        np.maximum.at(highest, starts[of_links] + links.flat[:, side], sure)
        sums = np.concatenate([[0.0], np.cumsum(highest)])
        begin, end = phrases.values[:, 2 * side], phrases.values[:, 2 * side + 1]
        first = starts[of_phrases]
        means[:, side] = (sums[first + end] - sums[first + begin]) / (end - begin)
    return means


def _draw_kinds(n: int, settings: CodeSwitching, rng: Generator) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Draw (n,) the matrix side of each row, and whether it is mixed."""
    kind, major = rng.random(n), rng.random(n)
    mixed = kind >= settings.source_share + settings.target_share
    target = np.where(mixed, major >= settings.major_source, kind >= settings.source_share)
    return target.astype(np.int8), mixed


def _pair_spans(
    candidates: SwitchCandidates, settings: CodeSwitching, active: NDArray[np.int8]
) -> tuple[Ragged, Counterparts]:
    """Return the candidate spans (start, stop, phrase) of each matrix side, and a function to their counterparts."""
    from interlace.objectives.common._code_switching_kernels import best_spans

    phrases, (source, target) = candidates.phrases, candidates.boundaries
    boundaries = np.concatenate([source.values, target.values])
    starts = np.stack([source.offsets[:-1], target.offsets[:-1] + len(source.values)], axis=1)
    spans, used, found = best_spans(
        active, phrases.values, candidates.scores, phrases.offsets, candidates.words, boundaries, starts,
        candidates.texts, candidates.begins, settings.max_phrase_length, settings.min_probability,
    )  # fmt: skip

    def counterparts(taken: Ragged) -> NDArray[np.int32]:
        rows = taken.rows()
        other = 1 - active[rows].astype(np.int64)
        spans = phrases.values[taken.values[:, 2]].reshape(-1, 2, 2)[np.arange(len(rows)), other]
        return np.column_stack([other, rows, spans]).astype(np.int32)

    return Ragged.from_lengths(spans[:used], found), counterparts


def _table_spans(
    known: tuple[KnownPhrases, KnownPhrases],
    candidates: SwitchCandidates,
    settings: CodeSwitching,
    active: NDArray[np.int8],
) -> tuple[Ragged, Counterparts]:
    """Return the same for the phrase table's translations; a phrase is the number of its translation."""
    n, counts = len(active), [word_counts(side.counterparts) for side in known]
    longest = settings.max_phrase_length
    sides = []
    for side, (phrases, lengths) in enumerate(zip(known, counts, strict=True)):
        spans, rows = phrases.spans.flat.astype(np.int32), phrases.spans.rows()
        fits = (spans[:, 1] - spans[:, 0] <= longest) & (lengths <= longest) & (lengths > 0)
        fits &= (phrases.scores >= settings.min_probability) & (active[rows] == side)
        fits &= spans[:, 1] <= candidates.words[rows, side]
        boundaries = candidates.boundaries[side]
        first = boundaries.offsets[:-1][rows]
        fits[fits] &= boundaries.values[first[fits] + spans[fits, 0]] & boundaries.values[first[fits] + spans[fits, 1]]
        places = np.arange(len(spans), dtype=np.int32)
        kept = np.column_stack([spans, places])[fits]
        sides.append(Ragged.from_lengths(kept, np.bincount(rows[fits], minlength=n)))
    found = Ragged.concatenate(sides).take(np.where(active == 1, n, 0) + np.arange(n))

    def counterparts(taken: Ragged) -> NDArray[np.int32]:
        side, places = active[taken.rows()].astype(np.int64), taken.values[:, 2]
        lengths = np.zeros(len(places), np.int64)
        for one in (0, 1):
            lengths[side == one] = counts[one][places[side == one]]
        return np.column_stack([side + OF_SOURCE, places, np.zeros(len(places)), lengths]).astype(np.int32)

    return found, counterparts
