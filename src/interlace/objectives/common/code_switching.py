"""Exchange phrases of a sentence for their translations (ALM, Yang et al. 2020), and build the tokens of the result.

`switch_phrases` draws which phrases are exchanged, from word spans only. `switched_tokens` gathers the token ids of its
result from both sides; `code_switched_text` writes its lines, so the objective `alm` and `interlace code-switch` have
the same distribution. Only the first word of a moved phrase may be tokenized again: many tokenizers mark the space
before a word in its first token, and a word at the start of a line may have no such mark (RoBERTa: "Berlin" there,
"▁Berlin" inside). `WordForms` converts between the two forms and caches the words.

Terms: the *matrix* sentence is the one that a switched sentence is made from; a *piece* is a span of words of either
side. Legend: n rows (pairs), p pieces, P phrase pairs, T tokens of all switched rows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from interlace.alignment.phrases import PhraseRules, phrase_pairs
from interlace.core.ragged import Ragged, ranges
from interlace.core.randomness import Generator
from interlace.core.settings import Settings
from interlace.data import KnownPhrases, Pairs, Sentences
from interlace.data.encoding import Surfaces
from interlace.data.layout import SPECIALS, Layout, sentence_layout
from interlace.data.vocab import Vocab
from interlace.text.scripts import UNSPACED, is_unspaced, scripts_of

KINDS = ("source", "target", "major source", "major target")
MONOLINGUAL = 2  # kinds below this number are monolingual
SOURCE, TARGET, OF_SOURCE, OF_TARGET = range(4)  # origin of a piece; the last two: the phrase table's translations
PUNCTUATION, SPACED, UNSPACED_LETTER, UNKNOWN = range(4)  # kinds of characters; digits and combining marks are letters
_NO_LIMIT = 1 << 30
_MAX_CACHED = 1 << 20  # words; some hundred MB


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
        description="Upper bound, exclusive, of the share of replaced words (ALM, 'Constructing Training Samples': "
        "30 %). Two numbers: the bound is drawn uniformly between them for each sentence.",
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
            raise ValueError(f"source_share + target_share must not exceed 1, found {found:g}")


@dataclass(frozen=True)
class SwitchCandidates:
    """What may be exchanged in n pairs.

    words: (n, 2) number of words of source and target.
    phrases: n rows of (a, b, c, d) int32 word spans. scores: (phi(t|s), phi(s|t)) float32 of each. weights: of equally
        probable counterparts the one with the higher weight is taken: (lex(t|s), lex(s|t)), or the reversed scores.
    boundaries: by side, a row per sentence: whether it can be cut before each of its words, and True after the last.
    known: the phrase table's translations for each side; only read for `table_argmax`.
    texts: the text of all source and then all target sentences as numbers (of characters or words, without spaces; none
        equals a negative one), to find equal phrases. begins: where each word and each sentence end is in `texts`,
        arranged as `boundaries`. known_texts: by side, a row for each translation, its text.
    """

    words: NDArray[np.int64]
    phrases: Ragged
    scores: NDArray[np.float32]
    weights: NDArray[np.float32]
    boundaries: tuple[Ragged, Ragged]
    known: tuple[KnownPhrases, KnownPhrases] | None = None
    texts: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    begins: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    known_texts: tuple[Ragged, Ragged] | None = None

    @classmethod
    def of(cls, pairs: Pairs, texts: Ragged | None = None) -> SwitchCandidates:
        """Return the stored phrases of tokenized pairs; without scores all are equally probable.

        A token may hold the end of a word and the beginning of the next, above all in scripts without spaces. The
        sentence is not cut there, because a word would be lost or duplicated.

        texts: (vocabulary,) the characters of each token, as numbers; None: phrases are not compared.
        """
        sides = (pairs.source, pairs.target)
        words = np.stack([side.word_counts for side in sides], axis=1)
        phrases = pairs.phrases or Ragged(np.zeros((0, 4), np.int32), np.zeros(len(pairs) + 1, np.int64))
        flat = np.ascontiguousarray(phrases.flat, np.int32)
        scores = np.ones((len(flat), 4), np.float32) if pairs.scores is None else pairs.scores.flat
        phi, lex = (np.ascontiguousarray(half, np.float32) for half in (scores[:, :2], scores[:, 2:]))
        found = cls(
            words,
            Ragged(flat, phrases.offsets - phrases.offsets[0]),
            phi,
            lex,
            _boundaries(pairs, words),
            pairs.known,
        )
        if texts is None:
            return found
        begins, spelled = [], [texts.take(side.ids.flat) for side in sides]
        for side, boundaries, each in zip(sides, found.boundaries, spelled, strict=True):
            at = np.repeat(boundaries.offsets[:-1], side.words.lengths) + side.words.flat + 1
            before = np.bincount(at, each.lengths, minlength=len(boundaries.values))
            begins.append(np.cumsum(before).astype(np.int64))
        begins[1] += len(spelled[0].flat)
        flat = np.concatenate([each.flat for each in spelled]).astype(np.int32)
        known: Any = pairs.known and tuple(_spelled(each.counterparts, texts) for each in pairs.known)
        return replace(found, texts=flat, begins=np.concatenate(begins), known_texts=known)

    def comparing(
        self, texts: tuple[NDArray[np.int32], NDArray[np.int32]], known_texts: tuple[Ragged, Ragged] | None
    ) -> SwitchCandidates:
        """Return these candidates of plain text with the number of each word of both sides, to find equal phrases."""
        begins = [np.arange(len(side.values)) - side.rows() for side in self.boundaries]
        begins[1] += len(texts[0])
        return replace(self, texts=np.concatenate(texts), begins=np.concatenate(begins), known_texts=known_texts)

    @classmethod
    def extracted(cls, pairs: Pairs, rules: PhraseRules, texts: Ragged | None = None) -> SwitchCandidates:
        """Return all phrases that are consistent with the pairs' word alignments.

        Without a phrase table, the score of a phrase pair is the mean, over the words of its inserted side, of each
        word's highest link confidence. Unaligned words lower it, so tight counterparts are preferred.

        texts: see `of`.
        """
        links = pairs.links or Ragged(np.zeros((0, 2), np.int32), np.zeros(len(pairs) + 1, np.int64))
        words = np.stack([pairs.source.word_counts, pairs.target.word_counts], axis=1)
        if (links.flat >= words[links.rows()]).any():  # last words may have no token
            np.maximum.at(words, links.rows(), links.flat.astype(np.int64) + 1)
        links, confidence = rules.confident(links, None if pairs.confidence is None else pairs.confidence.flat)
        phrases = phrase_pairs(words[:, 0], words[:, 1], links, rules, 1, confidence)
        sure = 1.0 if confidence is None else confidence.astype(np.float64)  # `maximum.at` is slow on mixed types
        scores = np.empty((len(phrases.values), 2), np.float32)
        for side in (0, 1):
            starts = np.cumsum(words[:, side]) - words[:, side]
            highest = np.zeros(int(words[:, side].sum()))
            np.maximum.at(highest, starts[links.rows()] + links.flat[:, side], sure)
            sums = np.concatenate([[0.0], np.cumsum(highest)])
            begin, end = phrases.values[:, 2 * side], phrases.values[:, 2 * side + 1]
            first = starts[phrases.rows()]
            scores[:, 1 - side] = (sums[first + end] - sums[first + begin]) / (end - begin)
        weights = np.ascontiguousarray(scores[:, ::-1])
        return replace(cls.of(pairs, texts), phrases=phrases, scores=scores, weights=weights)


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
    from interlace.objectives.common._code_switching_kernels import best_spans, draw_spans

    n = len(candidates.words)
    kind, major = rng.random(n), rng.random(n)
    mixed = kind >= settings.source_share + settings.target_share
    matrix = np.where(mixed, major >= settings.major_source, kind >= settings.source_share).astype(np.int8)
    sizes = candidates.words[np.arange(n), matrix] if n else np.zeros(0, np.int64)
    low, high = settings.switch_fraction
    shares = low + (high - low) * rng.random(n)
    allowed = np.maximum(np.ceil(shares * sizes - 1e-9).astype(np.int64) - 1, 0)  # strictly less, in whole words
    active = np.where(mixed & (allowed > 0), matrix, np.int8(-1)).astype(np.int8)
    from_table = settings.target_choice == "table_argmax" and candidates.known is not None
    phrases, boundaries = candidates.phrases, candidates.boundaries
    if from_table:
        spans = _table_spans(candidates, settings, active)
    else:
        starts = np.stack([boundaries[0].offsets[:-1], boundaries[1].offsets[:-1] + len(boundaries[0].values)], axis=1)
        flat, used, found = best_spans(
            active, phrases.values, candidates.scores, candidates.weights, phrases.offsets, candidates.words,
            np.concatenate([side.values for side in boundaries]), starts, candidates.texts, candidates.begins,
            settings.max_phrase_length, settings.min_probability,
        )  # fmt: skip
        spans = Ragged.from_lengths(flat[:used], found)
    limit = settings.max_phrases or _NO_LIMIT
    chosen = draw_spans(spans.flat, spans.offsets, allowed, limit, rng.random(len(spans.flat)))
    found = np.bincount(spans.rows()[chosen], minlength=n)
    taken = Ragged.from_lengths(spans.flat[chosen], found)
    rows, place = taken.rows(), taken.values[:, 2]
    side = matrix[rows].astype(np.int64)
    if from_table:
        counterparts = np.column_stack([side + OF_SOURCE, place, np.zeros_like(place), taken.values[:, 3]])
    else:
        other = phrases.values[place].reshape(-1, 2, 2)[np.arange(len(rows)), 1 - side]
        counterparts = np.column_stack([1 - side, rows, other])
    pieces, places = _assemble(matrix, sizes, Ragged(taken.values[:, :2], taken.offsets), counterparts)
    replaced = np.bincount(rows, taken.values[:, 1] - taken.values[:, 0], minlength=n).astype(np.int64)
    kinds = (matrix + np.where(found > 0, MONOLINGUAL, 0)).astype(np.int8)
    return SwitchedSentences(pieces, places, kinds, matrix, sizes, replaced)


def _spelled(sentences: Sentences, texts: Ragged) -> Ragged:
    """Return the characters of each row. texts: (vocabulary,) those of each token."""
    found = texts.take(sentences.ids.flat)
    return Ragged.from_lengths(
        found.flat, np.bincount(sentences.ids.rows(), found.lengths, len(sentences)).astype(np.int64)
    )


def _same_texts(
    texts: NDArray[np.int32], begin: NDArray[np.int64], end: NDArray[np.int64], others: Ragged
) -> NDArray[np.bool_]:
    """(m,) whether the text from `begin` to `end` is that of the row of `others`."""
    same: NDArray[np.bool_] = end - begin == others.lengths
    mine, theirs = texts[ranges(begin[same], (end - begin)[same])], others.take(np.flatnonzero(same))
    differs = (mine != theirs.flat) | (mine < 0)
    same[same] = np.bincount(theirs.rows(), differs, minlength=len(theirs)) == 0
    return same


def all_boundaries(words: NDArray[np.int64]) -> tuple[Ragged, Ragged]:
    """Return the boundaries of plain text, which can be cut before every word. words: (n, 2)."""
    source, target = (Ragged.from_lengths(np.ones(int(side.sum()) + len(side), np.bool_), side + 1) for side in words.T)
    return source, target


def _boundaries(pairs: Pairs, words: NDArray[np.int64]) -> tuple[Ragged, Ragged]:
    """Return the boundaries of tokenized pairs, which cannot be cut before joined words. words: (n, 2)."""
    boundaries = all_boundaries(words)
    for side, can_cut in zip((pairs.source, pairs.target), boundaries, strict=True):
        if side.joined is not None:
            can_cut.values[can_cut.offsets[side.joined.rows()] + side.joined.flat] = False
    return boundaries


def _table_spans(candidates: SwitchCandidates, settings: CodeSwitching, active: NDArray[np.int8]) -> Ragged:
    """Return the spans of each matrix side that the phrase table translates: (start, stop, number, words of it)."""
    n, longest, sides = len(active), settings.max_phrase_length, []
    for side, (phrases, boundaries) in enumerate(zip(candidates.known or (), candidates.boundaries, strict=False)):
        lengths, rows = phrases.counterparts.word_counts, phrases.spans.rows()
        start, stop = phrases.spans.flat.astype(np.int32).T
        fits = (stop - start <= longest) & (lengths <= longest) & (lengths > 0)
        fits &= (phrases.scores >= settings.min_probability) & (active[rows] == side)
        fits &= stop <= candidates.words[rows, side]
        first = boundaries.offsets[:-1][rows]
        fits[fits] &= boundaries.values[first[fits] + start[fits]] & boundaries.values[first[fits] + stop[fits]]
        if candidates.known_texts is not None:
            at = first[fits] + side * len(candidates.boundaries[0].values)
            spans = candidates.begins[at + start[fits]], candidates.begins[at + stop[fits]]
            others = candidates.known_texts[side].take(np.flatnonzero(fits))
            fits[fits] = ~_same_texts(candidates.texts, *spans, others)
        kept = np.stack([start, stop, np.arange(len(start)), lengths], axis=1)[fits].astype(np.int32)
        sides.append(Ragged.from_lengths(kept, np.bincount(rows[fits], minlength=n)))
    return Ragged.concatenate(sides).take(np.where(active == 1, n, 0) + np.arange(n))


def _assemble(
    matrix: NDArray[np.int8], sizes: NDArray[np.int64], spans: Ragged, counterparts: NDArray[Any]
) -> tuple[Ragged, Ragged]:
    """Return the pieces of each switched sentence, and the words of the matrix sentence that each replaces.

    matrix, sizes: (n,) side and words of each matrix sentence. spans: n rows of replaced (start, stop), ascending.
    counterparts: (side, row, start, stop) of each.
    """
    n, rows, owner, total = len(matrix), np.arange(len(matrix)), spans.rows(), len(spans.values)
    start, stop = spans.values.T
    pieces, places = np.empty((2 * total + n, 4), np.int32), np.empty((2 * total + n, 2), np.int32)
    at, last = 2 * np.arange(total) + owner, 2 * spans.offsets[1:] + rows  # gap before each span; end of each row
    stops = np.append(0, stop)  # of the span before; 0 before the first of a row
    begin = np.where(np.arange(total) == spans.offsets[:-1][owner], 0, stops[:-1])
    tail = np.where(spans.lengths > 0, stops[spans.offsets[1:]], 0)
    for where, row, first, end in ((at, owner, begin, start), (last, rows, tail, sizes)):
        pieces[where] = np.column_stack([matrix[row], row, first, end])
        places[where] = np.column_stack([first, end])
    pieces[at + 1], places[at + 1] = counterparts, spans.values
    real = places[:, 0] < places[:, 1]
    owners = np.repeat(rows, 2 * spans.lengths + 1)[real]
    found = Ragged.from_lengths(pieces[real], np.bincount(owners, minlength=n))
    return found, Ragged(places[real], found.offsets)


@dataclass(frozen=True)
class SwitchedTokens:
    """Tokens of switched sentences.

    sentences: n rows, with words numbered in the switched sentence.
    sides: (T,) int8, the side whose language each token is in.
    """

    sentences: Sentences
    sides: NDArray[np.int8]

    def layout(self, vocab: Vocab, max_length: int) -> Layout:
        """Return `[begin] row [end]` with the side of each token; special tokens have their neighbor's."""
        layout = sentence_layout(self.sentences, vocab, max_length)
        sides = np.zeros(layout.ids.shape, np.int8)
        sides[layout.content] = self.sides[self.sentences.ids.columns() < max_length - SPECIALS]
        sides[:, 0] = sides[:, 1]
        rows, last = np.arange(len(sides)), layout.lengths - 1
        sides[rows, last] = sides[rows, last - 1]
        return replace(layout, sides=sides)


class WordForms:
    """Converts words of one vocabulary between their forms with and without a space before them.

    blank: (vocabulary,) whether a token begins with a space.
    bare: (vocabulary,) whether it is only a space.
    opens, closes: (vocabulary,) kind of its first and last character.
    texts: (vocabulary,) the characters or bytes of each token, without spaces; -1 for tokens without text.
    """

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self._cached: dict[tuple[bool, bytes], NDArray[np.int32]] = {}
        names = [vocab.tokenizer.id_to_token(number) or "" for number in range(vocab.size)]
        spelled = vocab.surfaces.spelled
        self.blank: NDArray[np.bool_] = np.array([name.startswith(("▁", " ", "Ġ")) for name in names], np.bool_)
        self.blank[vocab.special_ids] = False
        self.bare = self.blank & (spelled.lengths == 0)
        empty = (spelled.lengths == 0) & ~self.bare
        lengths = spelled.lengths + empty
        self.texts = Ragged.from_lengths(np.full(lengths.sum(), -1, np.int32), lengths)
        self.texts.values[np.repeat(~empty, self.texts.lengths)] = spelled.flat
        self.opens, self.closes = _character_kinds(vocab.surfaces)
        self._after_space = ("a ", self._encode("a"))  # contexts: a text and its tokens
        self._at_start = ("", self._after_space[1][:0])
        if self._after_space[1].size and self.blank[self._after_space[1][0]]:  # a line begins with a space
            self._at_start = ("(", self._encode("("))

    def converted(self, words: Ragged, blank: NDArray[np.bool_]) -> Ragged:
        """Return words' tokens with or without a space, (n,) `blank`; unchanged if they do not survive decoding."""
        data, ends = words.flat.astype(np.int32).tobytes(), (4 * (words.offsets - words.offsets[0])).tolist()
        keys = [(one, data[a:b]) for one, a, b in zip(blank.tolist(), ends[:-1], ends[1:], strict=True)]
        for key in dict.fromkeys(keys):
            if key not in self._cached:
                self._cached[key] = self._convert(np.frombuffer(key[1], np.int32), blank=key[0])
        found = [self._cached[key] for key in keys]
        flat = np.concatenate([np.zeros(0, np.int32), *found])
        if len(self._cached) > _MAX_CACHED:
            self._cached.clear()
        return Ragged.from_lengths(flat, [len(ids) for ids in found])

    def _convert(self, old: NDArray[np.int32], *, blank: bool) -> NDArray[np.int32]:
        word = self._decode(old).strip()
        text, before = self._after_space if blank else self._at_start
        ids = self._encode(text + word)
        separate = len(ids) > len(before) and (ids[: len(before)] == before).all()
        new = ids[len(before) :] if separate else ids[:0]
        same = len(new) and "\ufffd" not in word and self._decode(new).strip() == word
        return new if same else old

    def _encode(self, line: str) -> NDArray[np.int32]:
        return np.array(self._vocab.tokenizer.encode(line, add_special_tokens=False).ids, np.int32)

    def _decode(self, ids: NDArray[np.int32]) -> str:
        text: str = self._vocab.tokenizer.decode(ids.tolist(), skip_special_tokens=False)
        return text


def switched_tokens(pairs: Pairs, switched: SwitchedSentences, forms: WordForms) -> SwitchedTokens:
    """Return the tokens of each switched sentence, as the tokenizer would give them for its text."""
    origin, row, start, stop = switched.pieces.flat.astype(np.int64).T.copy()
    store = _TokenStore.of(pairs, origin, row, int(stop.max(initial=0)))
    ids, words = store.ids, store.words
    begin, end = store.token(origin, row, start), store.token(origin, row, stop)
    owner, size = switched.pieces.rows(), stop - start
    before = np.cumsum(size) - size  # words before each piece, first of all rows, then of its own row
    before -= np.append(before, 0)[np.searchsorted(owner, np.arange(len(switched.pieces)))][owner]
    language = np.array([0, 1, 1, 0])[origin]
    pieces = np.stack([begin, end, owner, language, before - start])
    if forms.blank.any():
        at = np.flatnonzero(switched.inserted & (begin < end))
        blank = _need_spaces(pairs, switched, store, forms, pieces, at)
        other = forms.blank[ids[begin[at]]] != blank
        at, blank = at[other], blank[other]
        # The first word of these pieces becomes a piece by itself, of a word in its other form.
        rest = store.token(origin[at], row[at], start[at] + 1)
        old = Ragged.from_lengths(ids[ranges(begin[at], rest - begin[at])], rest - begin[at])
        converted = forms.converted(old, blank)
        pieces = np.insert(pieces, at, pieces[:, at], axis=1)
        heads = at + np.arange(len(at))
        pieces[0, heads + 1] = rest
        pieces[0, heads], pieces[1, heads] = len(ids) + converted.offsets[:-1], len(ids) + converted.offsets[1:]
        ids = np.concatenate([ids, converted.flat])
        words = np.concatenate([words, np.repeat(start[at], converted.lengths)])
    begin, end, owner, language, shift = pieces
    lengths = end - begin
    index = ranges(begin, lengths)
    per_row = np.bincount(owner, lengths, minlength=len(switched.pieces)).astype(np.int64)
    rows = Ragged.from_lengths(ids[index], per_row)
    numbers = (words[index] + np.repeat(shift, lengths)).astype(np.int32)
    sentences = Sentences(rows, Ragged(numbers, rows.offsets), pairs.source.language)
    return SwitchedTokens(sentences, np.repeat(language, lengths).astype(np.int8))


@dataclass(frozen=True)
class _TokenStore:
    """Sentences of all origins as flat columns.

    first: by origin, the number of its first row; the last entry is the number of rows.
    begins: (rows x width,) for each row and word number plus one, the number of tokens before that word.
    """

    ids: NDArray[np.int32]
    words: NDArray[np.int32]
    begins: NDArray[np.int64]
    first: NDArray[np.int64]
    width: int

    @classmethod
    def of(cls, pairs: Pairs, origin: NDArray[np.int64], row: NDArray[np.int64], word_count: int) -> _TokenStore:
        """Collect both sides, and the phrase table's translations that occur in a piece (`row` is renumbered).

        word_count: of the longest sentence, whose last words may have no token.
        """
        parts = [pairs.source, pairs.target]
        for of in (OF_SOURCE, OF_TARGET):
            mine = origin == of
            if pairs.known is not None and mine.any():
                parts.append(pairs.known[of - OF_SOURCE].counterparts.take(row[mine]))
                row[mine] = np.arange(mine.sum())
            else:
                parts.append(pairs.source.take([]))
        ids, words = (np.concatenate([getattr(part, name).flat for part in parts]) for name in ("ids", "words"))
        rows = np.repeat(np.arange(sum(map(len, parts))), np.concatenate([part.lengths for part in parts]))
        first = np.cumsum([0, *map(len, parts)])
        width = max(int(words.max(initial=0)) + 1, word_count) + 2
        counts = np.bincount(rows * width + words + 2, minlength=int(first[-1]) * width)
        return cls(ids.astype(np.int32), words.astype(np.int32), np.cumsum(counts), first, width)

    def token(self, origin: NDArray[np.int64], row: NDArray[np.int64], word: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of a word's first token, or where it would be."""
        return np.asarray(self.begins[(self.first[origin] + row) * self.width + word + 1])


def _need_spaces(
    pairs: Pairs,
    switched: SwitchedSentences,
    store: _TokenStore,
    forms: WordForms,
    pieces: NDArray[np.int64],
    at: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return whether each of the inserted pieces `at` needs a space before it."""
    begin, end, owner, language, _ = pieces[:, at]
    places = switched.places.flat[at].astype(np.int64)
    matrix = switched.matrix[owner].astype(np.int64)
    first = np.minimum(store.token(matrix, owner, places[:, 0]), len(store.ids) - 1)
    place = forms.blank[store.ids[first]]
    phrase = forms.blank[store.ids[begin]] | (switched.pieces.flat[at, 2] == 0)
    before = np.maximum(pieces[1, at - 1] - 1, 0)  # the preceding token; not used for the first piece of a line
    after = np.minimum(begin + forms.bare[store.ids[begin]], end - 1)
    letters = np.array([_letter_kind(side) for side in pairs.languages], np.int8)
    adjacent = [
        np.where(kinds == UNKNOWN, letters[of], kinds)
        for kinds, of in (
            (forms.closes[store.ids[before]], pieces[3, at - 1]),
            (forms.opens[store.ids[after]], language),
        )
    ]
    return np.asarray(np.where(places[:, 0] == 0, place, needs_space(place, phrase, *adjacent)), np.bool_)


def needs_space(place: Any, phrase: Any, before: Any, after: Any) -> Any:
    """Return whether a moved phrase has a space before it; for one phrase or arrays.

    If place and phrase agree, that decides. Otherwise the adjacent characters do: "young, white" whose ", white"
    becomes "weiße" needs a space; a place after a bracket needs none, nor do letters of a script without spaces.

    place: whether a space precedes the words that are replaced. phrase: whether one precedes the phrase in its own
        sentence, or would before a line's first word. before, after: kinds of the adjacent characters.
    """
    between_letters = (before == SPACED) & (after == SPACED)
    return (place & (phrase | (after != PUNCTUATION))) | (phrase & between_letters)


@lru_cache(maxsize=1 << 16)
def character_kind(character: str) -> int:
    """Return PUNCTUATION, SPACED or UNSPACED_LETTER."""
    if unicodedata.category(character)[0] not in "LNM":
        return PUNCTUATION
    return UNSPACED_LETTER if is_unspaced(character) else SPACED


@lru_cache(maxsize=256)
def _letter_kind(language: str) -> int:
    """Return the kind of a language's letters, for tokens whose characters are unknown."""
    return UNSPACED_LETTER if scripts_of(language) & UNSPACED else SPACED


def _character_kinds(surfaces: Surfaces) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the kind of each token's first and last character; UNKNOWN if there is none or only part of one."""
    spelled = surfaces.spelled
    first, last = (np.full(len(spelled), UNKNOWN, np.int8) for _ in range(2))
    some = np.flatnonzero(spelled.lengths > 0)
    if surfaces.by_bytes:
        texts = [bytes(spelled[number]).decode("utf-8", "replace") for number in some.tolist()]
        first[some] = [_known_kind(text[0]) for text in texts]
        last[some] = [_known_kind(text[-1]) for text in texts]
        return first, last
    for kinds, at in ((first, spelled.offsets[:-1]), (last, spelled.offsets[1:] - 1)):
        points, places = np.unique(spelled.values[at[some]], return_inverse=True)
        kinds[some] = np.array([_known_kind(chr(point)) for point in points.tolist()], np.int8)[places]
    return first, last


def _known_kind(character: str) -> int:
    return UNKNOWN if character in "\ufffd\U0010ffff" else character_kind(character)


def retokenized_share(sentences: Sentences, vocab: Vocab) -> float:
    """Return the share of rows whose text the tokenizer splits differently; rows with unknown tokens are ignored."""
    from tokenizers import decoders

    rows = [row.tolist() for row in sentences.ids]
    if vocab.tokenizer.decoder is not None:
        texts: Sequence[str] = vocab.tokenizer.decode_batch(rows, skip_special_tokens=False)
    else:  # a tokenizer saved without a decoder gets its model's usual one
        pieces = type(vocab.tokenizer.model).__name__ == "WordPiece"
        decoder = decoders.WordPiece(cleanup=False) if pieces else decoders.Fuse()
        texts = [decoder.decode(vocab.tokens(row)) for row in rows]
    again = vocab.tokenizer.encode_batch(texts, add_special_tokens=False)
    compared = [(row, new.ids) for row, new in zip(rows, again, strict=True) if vocab.unk not in row]
    return float(sum(row != ids for row, ids in compared) / max(len(compared), 1))
