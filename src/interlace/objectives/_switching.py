"""Code-switching: which phrases of a sentence are exchanged for their translation (ALM, Yang et al. 2020).

`switch` draws it on word spans alone. The objective `alm` gathers subwords by what it returns, `interlace code-switch` the
characters of lines; so both have one distribution.

Legend: n rows (pairs).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from interlace.core.ragged import Ragged
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.randomness import Generator
    from interlace.data import KnownPhrases, Pairs, Sentences

KINDS = ("source", "target", "major source", "major target")
MONOLINGUAL = 2  # kinds below this number are of one language
SOURCE, TARGET, OF_SOURCE, OF_TARGET = range(4)  # where a piece comes from; the last two: translations the table knows
NO_LIMIT = 1 << 30


def _pair(value: Any) -> Any:
    """One number stands for both ends of a range; a string may hold both, as `--set` gives it."""
    if isinstance(value, str):
        value = [float(part) for part in value.strip("[]() ").split(",")]
        value = value[0] if len(value) == 1 else value
    return (value, value) if isinstance(value, int | float) else value


def _in_order(value: tuple[float, float]) -> tuple[float, float]:
    if not 0 < value[0] <= value[1] <= 1:
        message = "expected a share in (0, 1], or two in ascending order"
        raise ValueError(message)
    return value


Fraction = Annotated[tuple[float, float], BeforeValidator(_pair), AfterValidator(_in_order)]


class Switching(Settings):
    """How code-switched sentences are drawn."""

    source_share: float = Field(
        0.1, ge=0, le=1, description="Share of rows that are the source as it is (ALM: 10 %; its alpha = 0)."
    )
    target_share: float = Field(
        0.1, ge=0, le=1, description="Share of rows that are the target as it is (ALM: 10 %; its alpha = 1)."
    )
    major_source: float = Field(
        0.5, ge=0, le=1, description="Share of mixed rows that are mostly source, the others being mostly target."
    )
    switch_fraction: Fraction = Field(
        (0.3, 0.3),
        description="The replaced words are strictly less than this share of the matrix sentence's words (ALM, "
        "'Constructing Training Samples': 30 %). Two numbers: drawn evenly between them for each row.",
    )
    longest: int = Field(4, ge=1, le=20, description="Most words of a phrase, on both sides (ALM: less than 5).")
    most_phrases: int = Field(0, ge=0, description="Most phrases replaced in a row; 0: no limit (ALM names none).")
    target_choice: Literal["in_pair", "table_argmax"] = Field(
        "in_pair",
        description="What stands in for a phrase: its likeliest counterpart in this pair (ALM, 'Code-Switched "
        "Sequence'), or the phrase table's likeliest translation, wherever from ('Constructing Training Samples').",
    )
    least_probability: float = Field(
        0.0, ge=0, le=1, description="Least phi(other side | matrix side) of a phrase that may be replaced."
    )

    def model_post_init(self, _context: Any) -> None:
        """What is not of one language is mixed, so the two shares leave room."""
        if self.source_share + self.target_share > 1 + 1e-9:
            found = self.source_share + self.target_share
            message = f"source_share + target_share must not exceed 1, found {found:g}"
            raise ValueError(message)


@dataclass(frozen=True)
class Choices:
    """What may be switched in n pairs.

    words: (n, 2) words of source and target.
    phrases: n rows of (a, b, c, d) int32 word spans. scores: as many (phi(t|s), phi(s|t)) float32.
    borders: by side, a row a sentence: whether it can be cut before each of its words, and True behind its last.
    texts: what tells equal phrases: a number a subword, of all source sentences and then of all target sentences.
    begins: where each word begins in `texts`, and each sentence ends, in the layout of `borders`.
    known: what the phrase table knows of each side; only read for `table_argmax`.
    """

    words: NDArray[np.int64]
    phrases: Ragged
    scores: NDArray[np.float32]
    borders: tuple[Ragged, Ragged]
    known: tuple[KnownPhrases, KnownPhrases] | None = None
    texts: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    begins: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def of(
        cls, pairs: Pairs, inside: NDArray[np.bool_] | None = None, texts: NDArray[np.int32] | None = None
    ) -> Choices:
        """From pairs of subwords with phrases; without scores all phrases are equally likely.

        A subword may hold the end of a word and the beginning of the next, in scripts without blanks above all. The
        sentence is not cut there, for a word would be lost or said twice.

        inside: (vocabulary,) subwords that begin inside a character, as those of bytes may.
        texts: (vocabulary,) a number that subwords of the same text share; without, no phrase is its own translation.
        """
        words = np.stack([word_counts(pairs.source), word_counts(pairs.target)], axis=1)
        phrases = pairs.phrases or Ragged(np.zeros((0, 4), np.int32), np.zeros(len(pairs) + 1, np.int64))
        flat = np.ascontiguousarray(phrases.flat, np.int32)
        scores = np.ones((len(flat), 2), np.float32) if pairs.scores is None else pairs.scores.flat
        borders = _begun(pairs.source, words[:, 0], inside), _begun(pairs.target, words[:, 1], inside)
        phrases = Ragged(flat, phrases.offsets - phrases.offsets[0])
        scores = np.ascontiguousarray(scores, np.float32)
        if texts is None:
            return cls(words, phrases, scores, borders, pairs.known)
        begins = [_begins(side, border) for side, border in zip((pairs.source, pairs.target), borders, strict=True)]
        begins[1] += len(pairs.source.ids.flat)
        ids = np.concatenate([pairs.source.ids.flat, pairs.target.ids.flat])
        return cls(words, phrases, scores, borders, pairs.known, texts[ids], np.concatenate(begins))


@dataclass(frozen=True)
class Switched:
    """n switched sentences as pieces of the two sides.

    pieces: n rows of (side, row, start, stop): words start to stop of that row, of SOURCE or TARGET, or of the
        counterparts that the table knows of phrases OF_SOURCE or OF_TARGET.
    places: n rows of (start, stop), one a piece: the words of the matrix sentence whose place it takes.
    kinds: (n,) int8, which of KINDS. A sentence in which nothing was replaced is of one language.
    matrix: (n,) int8, the side that the sentence is made from.
    words: (n,) words of the matrix sentence. replaced: (n,) how many of them were replaced.
    """

    pieces: Ragged
    places: Ragged
    kinds: NDArray[np.int8]
    matrix: NDArray[np.int8]
    words: NDArray[np.int64]
    replaced: NDArray[np.int64]

    @property
    def inserted(self) -> NDArray[np.bool_]:
        """(pieces,) whether a piece is not of the matrix sentence."""
        return np.asarray(self.pieces.flat[:, 0] != np.repeat(self.matrix, self.pieces.lengths), np.bool_)


def switch(choices: Choices, rules: Switching, rng: Generator) -> Switched:
    """Draw a switched sentence for every pair.

    A row's kind is drawn first. In a mixed row candidate phrases are taken in random order, each that overlaps none
    before it, as long as the replaced words stay strictly below the share.
    """
    from interlace.objectives._switching_kernels import assemble, draw

    n = len(choices.words)
    matrix, mixed = _kinds(n, rules, rng)
    sizes = choices.words[np.arange(n), matrix] if n else np.zeros(0, np.int64)
    low, high = rules.switch_fraction
    shares = low + (high - low) * rng.random(n)
    allowed = np.maximum(np.ceil(shares * sizes - 1e-9).astype(np.int64) - 1, 0)  # strictly less, in whole words
    active = np.where(mixed & (allowed > 0), matrix, np.int8(-1)).astype(np.int8)
    candidates, counterparts = _candidates(choices, rules, active)
    most = rules.most_phrases or NO_LIMIT
    spans = candidates.flat
    chosen = draw(spans, candidates.offsets, allowed, most, rng.random(len(spans)))
    found = np.bincount(candidates.rows()[chosen], minlength=n)
    taken = Ragged.from_lengths(spans[chosen], found)
    pieces, places, used, lengths = assemble(matrix, sizes, taken.values, counterparts(taken), taken.offsets)
    replaced = np.bincount(taken.rows(), taken.values[:, 1] - taken.values[:, 0], minlength=n).astype(np.int64)
    kinds = (matrix + np.where(found > 0, MONOLINGUAL, 0)).astype(np.int8)
    rows = Ragged.from_lengths(pieces[:used], lengths)
    return Switched(rows, Ragged(places[:used], rows.offsets), kinds, matrix, sizes, replaced)


def word_counts(sentences: Sentences) -> NDArray[np.int64]:
    """(n,) words of each row; words of a row are numbered in order."""
    ends = sentences.words.offsets[1:]
    lengths = sentences.words.lengths
    if not len(sentences.words.values):
        return np.zeros(len(lengths), np.int64)
    return np.where(lengths > 0, sentences.words.values[ends - 1] + np.int64(1), 0)


def all_borders(words: NDArray[np.int64]) -> tuple[Ragged, Ragged]:
    """Borders of text, which can be cut before every word. words: (n, 2) of source and target."""
    source, target = (Ragged.from_lengths(np.ones(int(side.sum()) + len(side), np.bool_), side + 1) for side in words.T)
    return source, target


def _begun(sentences: Sentences, counts: NDArray[np.int64], inside: NDArray[np.bool_] | None) -> Ragged:
    """Whether a subword begins with each word, as far as the subwords tell: a word that has none begins inside one."""
    begun = Ragged.from_lengths(np.zeros(int(counts.sum()) + len(counts), np.bool_), counts + 1)
    words = sentences.words.flat
    at = np.repeat(begun.offsets[:-1], sentences.words.lengths) + words
    first = words >= 0
    first[1:] &= at[1:] != at[:-1]
    begun.values[at[first]] = True if inside is None else ~inside[sentences.ids.flat[first]]
    begun.values[begun.offsets[1:] - 1] = True
    return begun


def _begins(sentences: Sentences, borders: Ragged) -> NDArray[np.int64]:
    """How many subwords come before each word, and before the end of each sentence, in the layout of `borders`."""
    at = np.repeat(borders.offsets[:-1], sentences.words.lengths) + sentences.words.flat + 1
    return np.cumsum(np.bincount(at, minlength=len(borders.values)))


def _kinds(n: int, rules: Switching, rng: Generator) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """(n,) the matrix side of each row, and whether it is to be mixed."""
    kind, major = rng.random(n), rng.random(n)
    mixed = kind >= rules.source_share + rules.target_share
    target = np.where(mixed, major >= rules.major_source, kind >= rules.source_share)
    return target.astype(np.int8), mixed


def _candidates(choices: Choices, rules: Switching, active: NDArray[np.int8]) -> tuple[Ragged, Any]:
    """Candidates of each row's matrix side, and a function from the chosen ones to their counterparts."""
    if rules.target_choice == "table_argmax" and choices.known is not None:
        return _known(choices.known, choices, rules, active)
    from interlace.objectives._switching_kernels import likeliest_spans

    phrases, (source, target) = choices.phrases, choices.borders
    borders = np.concatenate([source.values, target.values])
    starts = np.stack([source.offsets[:-1], target.offsets[:-1] + len(source.values)], axis=1)
    candidates, used, found = likeliest_spans(
        active, phrases.values, choices.scores, phrases.offsets, choices.words, borders, starts, choices.texts,
        choices.begins, rules.longest, rules.least_probability,
    )  # fmt: skip

    def counterparts(taken: Ragged) -> NDArray[np.int32]:
        rows = taken.rows()
        other = 1 - active[rows].astype(np.int64)
        spans = phrases.values[taken.values[:, 2]].reshape(-1, 2, 2)[np.arange(len(rows)), other]
        return np.column_stack([other, rows, spans]).astype(np.int32)

    return Ragged.from_lengths(candidates[:used], found), counterparts


def _known(
    known: tuple[KnownPhrases, KnownPhrases], choices: Choices, rules: Switching, active: NDArray[np.int8]
) -> tuple[Ragged, Any]:
    """The same of what the table knows; a place is a counterpart's number on the side of its phrase."""
    n, counts = len(active), [word_counts(side.counterparts) for side in known]
    sides = []
    for side, (what, lengths) in enumerate(zip(known, counts, strict=True)):
        spans = what.spans.flat.astype(np.int32)
        fits = (spans[:, 1] - spans[:, 0] <= rules.longest) & (lengths <= rules.longest) & (lengths > 0)
        fits &= (what.scores >= rules.least_probability) & (active[what.spans.rows()] == side)
        fits &= spans[:, 1] <= choices.words[what.spans.rows(), side]
        borders = choices.borders[side]
        first = borders.offsets[:-1][what.spans.rows()]
        fits[fits] &= borders.values[first[fits] + spans[fits, 0]] & borders.values[first[fits] + spans[fits, 1]]
        places = np.arange(len(spans), dtype=np.int32)
        kept = np.column_stack([spans, places])[fits]
        sides.append(Ragged.from_lengths(kept, np.bincount(what.spans.rows()[fits], minlength=n)))
    candidates = Ragged.concatenate(sides).take(np.where(active == 1, n, 0) + np.arange(n))

    def counterparts(taken: Ragged) -> NDArray[np.int32]:
        side, places = active[taken.rows()].astype(np.int64), taken.values[:, 2]
        lengths = np.zeros(len(places), np.int64)
        for one in (0, 1):
            lengths[side == one] = counts[one][places[side == one]]
        return np.column_stack([side + OF_SOURCE, places, np.zeros(len(places)), lengths]).astype(np.int32)

    return candidates, counterparts
