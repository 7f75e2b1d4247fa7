"""Build code-switched sentences as token ids.

Tokens are gathered from both sides of the pairs. Only the first word of a moved phrase may be tokenized again: many
tokenizers mark the space before a word in its first token, and a word at the start of a line may have no such mark
(RoBERTa: "Berlin" there, "▁Berlin" inside). `WordForms` converts between the two forms and caches the words.
`needs_space` decides whether a moved phrase gets a space; `switched_text` uses the same rule.

Legend: n rows; p pieces; T tokens of all switched rows.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.layout import SPECIALS, sentence_layout
from interlace.objectives.common.code_switching import OF_SOURCE, OF_TARGET
from interlace.text.scripts import UNSPACED, is_unspaced, scripts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.data import Pairs
    from interlace.data.encoding import Surfaces
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.objectives.common.code_switching import SwitchedSentences

PUNCTUATION, SPACED, UNSPACED_LETTER, UNKNOWN = range(4)  # kinds of characters; digits and combining marks are letters
_LANGUAGE = np.array([0, 1, 1, 0], np.int8)  # language of a piece, by its origin
_CONVERTED = 4  # origin of converted words
_BLANKS = ("▁", " ", "Ġ")
_REPLACEMENT = "\ufffd"  # stands for bytes that are no character
_MAX_CACHED = 1 << 20  # words; some hundred MB


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
    inside: (vocabulary,) whether a token begins inside a character, as byte tokens may.
    texts: (vocabulary,) a number that tokens with the same text share, spaces ignored.
    """

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self._cached: dict[tuple[bool, bytes], NDArray[np.int32]] = {}
        names = [vocab.tokenizer.id_to_token(number) or "" for number in range(vocab.size)]
        self.blank: NDArray[np.bool_] = np.array([name.startswith(_BLANKS) for name in names], np.bool_)
        self.blank[vocab.special_ids] = False
        self.bare = self.blank & (vocab.surfaces.spelled.lengths == 0)
        self.inside = _begins_inside(vocab.surfaces)
        self.texts = _first_equal(vocab.surfaces.spelled)
        self.opens, self.closes = _character_kinds(vocab.surfaces)
        self._after_space = ("a ", self._encode("a"))  # contexts: a text and its tokens
        self._at_start = ("", self._after_space[1][:0])
        if self._after_space[1].size and self.blank[self._after_space[1][0]]:  # a line begins with a space
            self._at_start = ("(", self._encode("("))

    def converted(self, words: Ragged, blank: NDArray[np.bool_]) -> Ragged:
        """Return the tokens of each word with a space before it or without, as `blank` (n,) says.

        A word that does not survive decoding and encoding is unchanged.
        """
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
        same = len(new) and _REPLACEMENT not in word and self._decode(new).strip() == word
        return new if same else old

    def _encode(self, line: str) -> NDArray[np.int32]:
        return np.array(self._vocab.tokenizer.encode(line, add_special_tokens=False).ids, np.int32)

    def _decode(self, ids: NDArray[np.int32]) -> str:
        text: str = self._vocab.tokenizer.decode(ids.tolist(), skip_special_tokens=False)
        return text


def switched_tokens(pairs: Pairs, switched: SwitchedSentences, forms: WordForms) -> SwitchedTokens:
    """Return the tokens of each switched sentence, as the tokenizer would give them for its text."""
    origin, row, start, stop = switched.pieces.flat.astype(np.int64).T.copy()
    pieces = _Pieces(origin, row, start, stop, switched.pieces.rows(), _LANGUAGE[origin])
    store = _TokenStore.of(pairs, pieces)
    if forms.blank.any():
        pieces, store = _convert_first_words(pairs, switched, pieces, store, forms)
    begin, end = store.bounds(pieces)
    lengths = end - begin
    index = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    words = pieces.stop - pieces.start
    before = np.cumsum(words) - words  # words before each piece, first of all rows, then of its own row
    first = np.searchsorted(pieces.owner, np.arange(len(switched.pieces)))
    before -= np.append(before, 0)[first][pieces.owner]
    numbers = store.words[index] + np.repeat(before - pieces.start, lengths)
    per_row = np.bincount(pieces.owner, lengths, minlength=len(switched.pieces)).astype(np.int64)
    ids = Ragged.from_lengths(store.ids[index], per_row)
    sentences = Sentences(ids, Ragged(numbers.astype(np.int32), ids.offsets), pairs.source.language)
    return SwitchedTokens(sentences, np.repeat(pieces.language, lengths))


def retokenized_share(sentences: Sentences, vocab: Vocab) -> float:
    """Return the share of rows whose text the tokenizer splits differently; rows with unknown tokens are ignored."""
    rows = [row.tolist() for row in sentences.ids]
    again = vocab.tokenizer.encode_batch(_decode_rows(rows, vocab), add_special_tokens=False)
    compared = [(row, new.ids) for row, new in zip(rows, again, strict=True) if vocab.unk not in row]
    return float(sum(row != ids for row, ids in compared) / max(len(compared), 1))


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


@dataclass(frozen=True)
class _Pieces:
    """p pieces. origin: store they come from. row, start, stop: words in it. owner: switched row. language: 0 or 1."""

    origin: NDArray[np.int64]
    row: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    owner: NDArray[np.int64]
    language: NDArray[np.int8]

    def take(self, at: NDArray[np.int64]) -> _Pieces:
        return _Pieces(*(column[at] for column in vars(self).values()))

    def with_heads(self, at: NDArray[np.int64]) -> _Pieces:
        """Insert a converted word before each of the given pieces, which lose their first word."""
        cut = self.take(np.sort(np.concatenate([np.arange(len(self.origin)), at]), kind="stable"))
        heads = at + np.arange(len(at))
        cut.origin[heads], cut.row[heads] = _CONVERTED, np.arange(len(at))
        cut.start[heads], cut.stop[heads] = 0, 1
        cut.start[heads + 1] += 1
        return cut


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
    def of(cls, pairs: Pairs, pieces: _Pieces) -> _TokenStore:
        """Collect both sides, and the phrase table's translations that occur in a piece (which are renumbered)."""
        parts = [pairs.source, pairs.target]
        for origin in (OF_SOURCE, OF_TARGET):
            mine = pieces.origin == origin
            if pairs.known is not None and mine.any():
                parts.append(pairs.known[origin - OF_SOURCE].counterparts.take(pieces.row[mine]))
                pieces.row[mine] = np.arange(mine.sum())
            else:
                parts.append(pairs.source.take([]))
        ids, words = (np.concatenate([getattr(part, name).flat for part in parts]) for name in ("ids", "words"))
        rows = np.repeat(np.arange(sum(map(len, parts))), np.concatenate([part.lengths for part in parts]))
        first = np.cumsum([0, *map(len, parts)])
        width = int(words.max(initial=0)) + 3
        counts = np.bincount(rows * width + words + 2, minlength=int(first[-1]) * width)
        return cls(ids.astype(np.int32), words.astype(np.int32), np.cumsum(counts), first, width)

    def begin(self, origin: NDArray[np.int64], row: NDArray[np.int64], word: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of a word's first token, or where it would be."""
        return np.asarray(self.begins[(self.first[origin] + row) * self.width + word + 1])

    def bounds(self, pieces: _Pieces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (p,) the first token of each piece and the one after its last."""
        row = (self.first[pieces.origin] + pieces.row) * self.width + 1
        return self.begins[row + pieces.start], self.begins[row + pieces.stop]

    def with_words(self, words: Ragged) -> _TokenStore:
        """Add an origin with a single word per row."""
        begins = np.repeat(len(self.ids) + words.offsets[:-1, None], self.width, axis=1)
        begins[:, 2:] = len(self.ids) + words.offsets[1:, None]
        return _TokenStore(
            np.concatenate([self.ids, words.flat]),
            np.concatenate([self.words, np.zeros(len(words.flat), np.int32)]),
            np.concatenate([self.begins[: self.first[-1] * self.width], begins.ravel()]),
            np.append(self.first, self.first[-1] + len(words)),
            self.width,
        )


def _convert_first_words(
    pairs: Pairs, switched: SwitchedSentences, pieces: _Pieces, store: _TokenStore, forms: WordForms
) -> tuple[_Pieces, _TokenStore]:
    """Split inserted pieces into first word and rest where the first word needs its other form."""
    begin, end = store.bounds(pieces)
    at = np.flatnonzero(switched.inserted & (begin < end))
    before = np.maximum(end[at - 1] - 1, 0)  # the preceding token; not used for the first piece of a line
    begin, end = begin[at], end[at]
    wanted = _need_spaces(pairs, switched, pieces, store, forms, (at, before, begin, end))
    other = forms.blank[store.ids[begin]] != wanted
    if not other.any():
        return pieces, store
    at, begin, wanted = at[other], begin[other], wanted[other]
    heads = pieces.take(at)
    lengths = store.begin(heads.origin, heads.row, heads.start + 1) - begin
    words = Ragged.from_lengths(np.zeros(0, np.int32), lengths)
    index = np.repeat(begin - words.offsets[:-1], lengths) + np.arange(words.offsets[-1])
    converted = forms.converted(Ragged(store.ids[index], words.offsets), wanted)
    return pieces.with_heads(at), store.with_words(converted)


def _need_spaces(
    pairs: Pairs,
    switched: SwitchedSentences,
    pieces: _Pieces,
    store: _TokenStore,
    forms: WordForms,
    found: tuple[NDArray[np.int64], ...],
) -> NDArray[np.bool_]:
    """Return whether each inserted piece needs a space before it.

    found: index of each piece, of the token before it, of its first token and of the one after its last.
    """
    at, before, begin, end = found
    places, owner = switched.places.flat[at].astype(np.int64), pieces.owner[at]
    matrix = switched.matrix[owner].astype(np.int64)
    first = np.minimum(store.begin(matrix, owner, places[:, 0]), len(store.ids) - 1)
    place = forms.blank[store.ids[first]]
    phrase = forms.blank[store.ids[begin]] | (pieces.start[at] == 0)
    after = np.minimum(begin + forms.bare[store.ids[begin]], end - 1)
    letters = np.array([_letter_kind(side.language) for side in (pairs.source, pairs.target)], np.int8)
    adjacent = [
        np.where(kinds == UNKNOWN, letters[pieces.language[which]], kinds)
        for kinds, which in ((forms.closes[store.ids[before]], at - 1), (forms.opens[store.ids[after]], at))
    ]
    return np.asarray(np.where(places[:, 0] == 0, place, needs_space(place, phrase, *adjacent)), np.bool_)


def _decode_rows(rows: list[list[int]], vocab: Vocab) -> Sequence[str]:
    """Decode rows; a tokenizer saved without a decoder gets its model's usual one."""
    from tokenizers import decoders

    if vocab.tokenizer.decoder is not None:
        texts: list[str] = vocab.tokenizer.decode_batch(rows, skip_special_tokens=False)
        return texts
    pieces = type(vocab.tokenizer.model).__name__ == "WordPiece"
    decoder = decoders.WordPiece(cleanup=False) if pieces else decoders.Fuse()
    return [decoder.decode(vocab.tokens(row)) for row in rows]


def _first_equal(spelled: Ragged) -> NDArray[np.int32]:
    """Return (n,) the number of the first row equal to each row."""
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(row.tobytes(), number) for number, row in enumerate(spelled)], np.int32)


def _begins_inside(surfaces: Surfaces) -> NDArray[np.bool_]:
    spelled = surfaces.spelled
    inside = np.zeros(len(spelled), np.bool_)
    if surfaces.by_bytes:
        some = spelled.lengths > 0
        inside[some] = spelled.values[spelled.offsets[:-1][some]] >> 6 == 0b10  # a UTF-8 continuation byte
    return inside


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
