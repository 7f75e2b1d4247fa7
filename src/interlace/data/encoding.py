"""From lines to subwords with the word of each.

The tokenizer works in Rust, on all cores and without Python's lock. Its results are turned into arrays under the lock,
so one thread encodes the next chunk meanwhile.

To know the word of a subword one needs its position in the line. Asking the tokenizer for offsets takes a third of its
time. But the subwords of a line, concatenated, usually spell the line without its white space, so the position of each
follows from the lengths of those before it. This is checked character by character; lines for which it does not hold
(an unknown subword, a normalizer that rewrites) are encoded again with offsets.

Byte-level tokenizers spell bytes, all others characters; "units" below are either.

Shapes: n lines; T subwords, C units, W words of all lines; each line is followed by a line feed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.tokenizer_files import tokenizer_errors
from interlace.text import Text, check_lines
from interlace.text.scripts import is_unspaced
from interlace.text.word_tokenizers import WORD_TOKENIZERS, WordTokenizer
from interlace.text.word_tokenizers.common.characters import code_points, is_space, line_starts

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_MAX_ODD_LINES = 0.2  # share of lines encoded twice above which offsets are used from the start
_BLANK = 0x20
_NO_UNIT = 0x10FFFF  # the unit of a subword with unknown spelling: no line holds this noncharacter
_UNSPELLED = "\U000f0000"  # a private character, for which no piece stands
_ROUNDS = (
    8  # a second encoding usually settles a line; each further one makes at least one more cut
)


def _byte_alphabet() -> dict[str, int]:
    """Byte-level character -> byte (Radford et al. 2019): printable Latin-1 is itself, the others follow from 256."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    codes = [*shown, *range(256, 256 + len(hidden))]
    return {chr(code): byte for code, byte in zip(codes, [*shown, *hidden], strict=True)}


BYTES = _byte_alphabet()


@dataclass(frozen=True)
class Surfaces:
    """The spelling of each id of a vocabulary: a row of bytes (uint8) or code points (uint32) without blanks."""

    spelled: Ragged

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Surfaces:
        """Return the spelling of every id of a tokenizer."""
        state = json.loads(tokenizer.to_str())
        model = state["model"]
        by_bytes = '"ByteLevel"' in json.dumps(state["pre_tokenizer"])
        prefix, suffix = (
            model.get(key) or "" for key in ("continuing_subword_prefix", "end_of_word_suffix")
        )

        def units(text: str) -> list[int]:
            if by_bytes:
                return [byte for byte in text.encode("utf-8") if byte != _BLANK]
            return [ord(character) for character in text if not character.isspace()]

        def spelling(token: str) -> list[int]:
            if by_bytes:  # a name outside the alphabet spells itself
                known = all(character in BYTES for character in token)
                if known:
                    return [BYTES[char] for char in token if BYTES[char] != _BLANK]
                return units(token)
            if len(token) > len(prefix):
                bare = token.removeprefix(prefix)
            else:
                bare = token
            return units(bare.removesuffix(suffix).replace("▁", ""))

        added = {token["id"]: token["content"] for token in state["added_tokens"]}
        ids = tokenizer.get_vocab(with_added_tokens=True)
        rows: list[Any] = [[]] * (max(ids.values(), default=-1) + 1)
        for token, number in ids.items():
            rows[number] = units(added[number]) if number in added else spelling(token)
        unknown = tokenizer.token_to_id(model.get("unk_token") or "")
        unknown = model.get("unk_id") if unknown is None else unknown
        if unknown is not None and not by_bytes:
            rows[unknown] = [_NO_UNIT]
        return cls(Ragged.of(rows, dtype=np.uint8 if by_bytes else np.uint32))

    @property
    def by_bytes(self) -> bool:
        """Whether units are bytes."""
        return bool(self.spelled.values.dtype == np.uint8)

    def blank(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """(T,) whether a subword is only white space."""
        return np.asarray(np.diff(self.spelled.offsets)[ids] == 0)


class Encoder:
    """A fast tokenizer that gives the word of each subword.

    Text is text: a special token that a line spells, such as `</s>`, is encoded by ordinary subwords.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer

    @cached_property
    def _matching_ids(self) -> frozenset[int]:
        """The ids of special tokens that text could spell, because they are pieces of a Unigram model."""
        from tokenizers.models import Unigram

        if not isinstance(self.tokenizer.model, Unigram):
            return frozenset()
        added = self.tokenizer.get_added_tokens_decoder()
        return frozenset(number for number, token in added.items() if token.special)

    @cached_property
    def _unknown_id(self) -> int | None:
        """The id of characters that a Unigram model cannot spell; None if it can spell all."""
        ids = self.tokenizer.encode(_UNSPELLED, add_special_tokens=False).ids
        return ids[-1] if ids and ids[-1] in self._matching_ids else None

    @cached_property
    def _unmatched(self) -> Tokenizer:
        """The same tokenizer for text, without templates, in which no text can spell a special token."""
        content = json.loads(self.tokenizer.to_str())
        pieces = content["model"]["vocab"]
        for number in self._matching_ids:
            if number < len(pieces):
                pieces[number][0] = f"{chr(_NO_UNIT)}{pieces[number][0]}"
        content["added_tokens"] = [
            token for token in content["added_tokens"] if not token["special"]
        ]
        content["post_processor"] = None
        return type(self.tokenizer).from_str(json.dumps(content))

    def _encodings(self, lines: Sequence[str], *, offsets: bool) -> tuple[list[Encoding], Ragged]:
        """Return the encodings of lines and their ids; without `offsets`, those are undefined, which is faster."""
        if offsets:
            encode = self.tokenizer.encode_batch
        else:
            encode = self.tokenizer.encode_batch_fast
        with tokenizer_errors():
            encodings = encode(lines, add_special_tokens=False)
        ids = _ids(encodings)
        if not self._matching_ids:
            return encodings, ids
        matched = np.unique(ids.rows()[np.isin(ids.flat, list(self._matching_ids))]).tolist()
        unknown = self._unknown_id
        again = []
        for number in matched:
            is_control = not self._matching_ids.isdisjoint(set(ids[number].tolist()) - {unknown})
            if is_control or (
                unknown is not None and self.tokenizer.id_to_token(unknown) in lines[number]
            ):
                again.append(number)
        for number in again:
            encodings[number] = self._unmatched.encode(lines[number], add_special_tokens=False)
        return encodings, _ids(encodings) if again else ids

    @cached_property
    def surfaces(self) -> Surfaces:
        """The spelling of each id."""
        return Surfaces.of(self.tokenizer)

    def encode(
        self,
        lines: Sequence[str],
        word_tokenizer: WordTokenizer | str = "whitespace",
        language: str = "",
    ) -> Sentences:
        """Return the subwords of plain lines and the word of each; see `word_at`; checks as `check_lines`."""
        check_lines(lines)
        if isinstance(word_tokenizer, str):
            tokenizer = WORD_TOKENIZERS.build(word_tokenizer)
        else:
            tokenizer = word_tokenizer
        return self.encode_text(
            Text(language, list(lines), tokenizer.of(language).split(lines), tokenizer.name)
        )

    def encode_text(self, text: Text) -> Sentences:
        """Return the subwords of a text's lines and the word of each."""
        _, ids = self._encodings(text.lines, offsets=False)
        sentences, _ = self._by_spelling(text, ids)
        return sentences

    def encode_texts(self, texts: Iterable[Text]) -> Iterator[Sentences]:
        """Yield the same for each chunk; a thread encodes the next one meanwhile."""
        exact = False  # whether to take offsets from the tokenizer
        pending = None
        with ThreadPoolExecutor(1, "encode") as pool:
            for text in chain(texts, [None]):
                following = None
                if text is not None:
                    following = (
                        text,
                        exact,
                        pool.submit(self._encodings, text.lines, offsets=exact),
                    )
                if pending is not None:
                    chunk, has_offsets, future = pending
                    encodings, ids = future.result()
                    if has_offsets:
                        yield self._by_offsets(chunk, encodings, ids)
                    else:
                        sentences, odd = self._by_spelling(chunk, ids)
                        exact = exact or odd > _MAX_ODD_LINES * max(len(chunk), 1)
                        yield sentences
                pending = following

    def encode_with_offsets(self, text: Text) -> tuple[Sentences, Ragged]:
        """Return the subwords, and a row per line of their (start, end) characters without white space around.

        Subwords that share a character (bytes of a letter) each have all of it. A subword of white space starts where
        the next one does and ends where the previous one does, at or before its start.
        """
        encodings, ids = self._encodings(text.lines, offsets=True)
        sentences = self._by_offsets(text, encodings, ids)
        return sentences, Ragged(self._characters(text.lines, encodings, ids), ids.offsets)

    def encode_words(self, words: Sequence[str]) -> Ragged:
        """Return a row per word of its subwords inside a line, after another word and a blank.

        A blank that is a subword of its own belongs to the word, unless the word's script has no spaces.
        """
        lines = [f"a {word}" for word in words]
        spans = Ragged.of(
            [[(0, 1), (2, len(line))] if len(line) > 2 else [(0, 1)] for line in lines], width=2
        )
        sentences = self.encode_text(Text("", lines, spans))
        ids = sentences.ids.flat
        word_numbers = sentences.words.flat
        unspaced = np.array([bool(word) and is_unspaced(word[0]) for word in words], np.bool_)
        is_blank = self.surfaces.blank(ids) & np.repeat(unspaced, sentences.lengths)
        kept = (word_numbers == 1) & ~is_blank
        return Ragged.from_lengths(
            ids[kept], np.bincount(sentences.ids.rows()[kept], minlength=len(lines))
        )

    def encode_words_apart(self, text: Text) -> Sentences:
        """Return the subwords of each line, encoded so that no subword holds the beginning of two words.

        In scripts without spaces, and with clitics, a subword often runs over the border of two gold words; the second
        word would then have no subword to be tagged by. Only in this case the line is cut before that word and its
        parts are encoded separately, as word-by-word tokenization always does. Other lines keep the ids of the plain
        line.
        """
        sentences = self.encode_text(text)
        spans = text.words.flat
        counts = text.words.lengths
        touching = np.zeros(
            len(spans), np.bool_
        )  # whether a word directly follows another of its line
        touching[1:] = (spans[1:, 0] == spans[:-1, 1]) & (np.diff(text.words.rows()) == 0)
        cut = np.zeros(len(spans), np.bool_)
        for _ in range(_ROUNDS):
            inside = sentences.words.flat >= 0
            firsts = np.repeat(np.cumsum(counts) - counts, sentences.lengths)
            found = np.zeros(len(spans), np.bool_)  # whether a word has any subword
            found[(firsts + sentences.words.flat)[inside]] = True
            new = touching & ~cut & ~found
            if not new.any():
                break
            cut |= new
            lines = np.unique(text.words.rows()[new])
            order = np.arange(len(sentences))
            order[lines] = len(sentences) + np.arange(len(lines))
            sentences = Sentences.concatenate([sentences, self._encode_cut(text, lines, cut)]).take(
                order
            )
        return sentences

    def _encode_cut(
        self, text: Text, lines: NDArray[np.int64], cut: NDArray[np.bool_]
    ) -> Sentences:
        """Return the given lines, encoded in parts that are cut before the marked words."""
        parts: list[str] = []
        spans: list[NDArray[np.int32]] = []
        firsts: list[int] = []  # the index of each part's first word in its line
        for line in lines.tolist():
            words = text.words[line]
            begins = np.flatnonzero(cut[text.words.offsets[line] : text.words.offsets[line + 1]])
            places = pairwise([0, *words[begins, 0].tolist(), len(text.lines[line])])
            borders = pairwise([0, *begins.tolist(), len(words)])
            for (start, end), (first, last) in zip(places, borders, strict=True):
                parts.append(text.lines[line][start:end])
                spans.append(words[first:last] - start)
                firsts.append(first)
        columns = Ragged.from_lengths(np.concatenate(spans), [len(span) for span in spans])
        encoded = self.encode_text(Text(text.language, parts, columns, text.word_tokenizer))
        before = np.repeat(
            np.array(firsts, np.int32), encoded.lengths
        )  # words of the line before each part
        # Many tokenizers insert a blank before every line; as a subword of its own it is removed inside a line.
        inserted = (
            self.surfaces.blank(encoded.ids.flat) & (encoded.ids.columns() == 0) & (before > 0)
        )
        owners = np.cumsum(np.array(firsts) == 0) - 1  # the line of each part
        lengths = np.bincount(owners[encoded.ids.rows()[~inserted]], minlength=len(lines))
        ids = encoded.ids.flat[~inserted]
        words = (encoded.words.flat + before)[~inserted]
        return Sentences(
            Ragged.from_lengths(ids, lengths), Ragged.from_lengths(words, lengths), text.language
        )

    def _by_spelling(self, text: Text, ids: Ragged) -> tuple[Sentences, int]:
        """Return sentences with words found by spelling, and the number of lines that were encoded with offsets."""
        units = _Units.of(text.lines, by_bytes=self.surfaces.by_bytes)
        start, odd = _first_units(self.surfaces, ids, units)
        if len(odd):
            lines = [text.lines[line] for line in odd]
            again, odd_ids = self._encodings(lines, offsets=True)
            characters = self._characters(lines, again, odd_ids)
            start[np.isin(ids.rows(), odd)] = units.at(odd[odd_ids.rows()], characters[:, 0])
        return _sentences(text, ids, units, start), len(odd)

    def _by_offsets(self, text: Text, encodings: list[Encoding], ids: Ragged) -> Sentences:
        """Return sentences with words found by the tokenizer's offsets."""
        units = _Units.of(text.lines, by_bytes=False)
        characters = self._characters(text.lines, encodings, ids)
        return _sentences(text, ids, units, units.at(ids.rows(), characters[:, 0]))

    def _characters(
        self, lines: Sequence[str], encodings: list[Encoding], ids: Ragged
    ) -> NDArray[np.int32]:
        """(T, 2) the characters of each subword by the tokenizer's offsets, as `encode_with_offsets` returns them."""
        # Offsets do not tell white space: tokenizers that insert a blank before a line place it on its first character.
        spans = _offsets(encodings, len(ids.flat))
        blank = self.surfaces.blank(ids.flat)
        spans[blank, 1] = spans[blank, 0]
        return _trimmed(spans, ids.rows(), lines)


def subwords_in_span(
    characters: Ragged, rows: NDArray[np.int64], spans: NDArray[np.int32]
) -> NDArray[np.int32]:
    """(q, 2) first and last subword with characters of a span of a line; (-1, -1) if there is none.

    characters: as returned by `Encoder.encode_with_offsets`. rows: (q,) the line of each span. spans: (q, 2) start and
    end characters; a negative start means no span.
    """
    width = 2 + max(int(characters.flat.max(initial=0)), int(spans.max(initial=0)))
    base = characters.rows() * width
    starts, ends = (np.maximum.accumulate(base + characters.flat[:, side]) for side in (0, 1))
    origin = characters.offsets[rows] - characters.offsets[0]
    first = np.searchsorted(ends, rows * width + spans[:, 0], side="right") - origin
    last = np.searchsorted(starts, rows * width + spans[:, 1], side="left") - 1 - origin
    found = (spans[:, 0] >= 0) & (first <= last) & (last < characters.lengths[rows])
    return np.where(found[:, None], np.stack([first, last], axis=1), -1).astype(np.int32)


@dataclass(frozen=True)
class _Units:
    """Lines as units.

    values: (C,) bytes or code points, each line followed by a line feed.
    starts: (n + 1,) the first unit of each line.
    characters: the first unit of each character, or None if units are characters.
    character_starts: (n + 1,) the first character of each line.
    """

    values: NDArray[Any]
    starts: NDArray[np.int64]
    characters: NDArray[np.int64] | None
    character_starts: NDArray[np.int64]

    @classmethod
    def of(cls, lines: Sequence[str], *, by_bytes: bool) -> _Units:
        starts = line_starts(lines)
        points = code_points(lines)
        if not by_bytes or points.dtype == np.uint8:
            return cls(points, starts, None, starts)
        data = np.frombuffer("\n".join([*lines, ""]).encode("utf-8"), np.uint8)
        characters = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
        return cls(data, characters[starts], characters, starts)

    def at(self, lines: NDArray[Any], characters: NDArray[Any]) -> NDArray[np.int64]:
        """Return the first unit of the given characters of the given lines."""
        places = self.character_starts[lines] + characters
        return np.asarray(places if self.characters is None else self.characters[places], np.int64)


def _sentences(text: Text, ids: Ragged, units: _Units, start: NDArray[np.int64]) -> Sentences:
    """Return sentences of subwords with the given first unit."""
    word_ends = units.at(text.words.rows(), text.words.flat[:, 1])
    words = word_at(start, word_ends, ids.lengths, text.words.lengths, len(units.values))
    return Sentences(ids, Ragged(words, ids.offsets), text.language, text.words.lengths)


def word_at(
    at: NDArray[Any], ends: NDArray[Any], subwords: NDArray[Any], words: NDArray[Any], length: int
) -> NDArray[np.int32]:
    """(T,) word of each subword, from positions in the concatenated lines.

    A subword belongs to the word of its first non-space character; if that is outside of all words, or the subword is
    white space only, to the next word of the line; if none follows, to the last word; on a line without words, to none
    (-1). Words never begin or end with white space, so this is the word that contains the *first* character of the
    subword, or else the next one. Positions count characters or bytes, the same for words and subwords.

    at: (T,) first character of each subword. ends: (W,) end of each word. subwords, words: (n,) numbers by line.
    length: C, greater than every position.
    """
    ended = np.zeros(length + 1, np.int32)
    ended[ends] = 1
    np.cumsum(ended, out=ended)  # number of words that end at or before each position
    last = np.cumsum(words)
    first = last - words
    found = np.clip(
        ended[at], np.repeat(first, subwords), np.repeat(last - 1, subwords)
    ) - np.repeat(first, subwords)
    return np.asarray(found, np.int32)


def _ids(encodings: list[Encoding]) -> Ragged:
    rows = [encoding.ids for encoding in encodings]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return Ragged.from_lengths(
        np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum())), lengths
    )


def _offsets(encodings: list[Encoding], total: int) -> NDArray[np.int64]:
    """(T, 2) the start and end character of each subword."""
    flat = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
    return np.fromiter(flat, np.int64, 2 * total).reshape(-1, 2)


def _first_units(
    surfaces: Surfaces, ids: Ragged, units: _Units
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(T,) the first unit of each subword, of blanks that of the next, and lines that their subwords do not spell."""
    # Subwords spell bytes other than blanks, characters other than white space.
    if surfaces.by_bytes:
        kept = units.values != _BLANK
    else:
        kept = ~is_space(units.values)
    kept[units.starts[1:] - 1] = False
    before = np.zeros(len(kept) + 1, np.int64)  # units kept before each unit
    np.cumsum(kept, out=before[1:])
    lengths = np.diff(surfaces.spelled.offsets)[ids.flat]
    spelled = np.zeros(len(lengths) + 1, np.int64)  # units spelled before each subword
    np.cumsum(lengths, out=spelled[1:])
    line_units = np.diff(before[units.starts])
    rows = ids.offsets - ids.offsets[0]
    good = line_units == np.diff(spelled[rows])
    good &= ~_differing(surfaces, ids, units, kept, good)
    shift = (
        before[units.starts[:-1]] - spelled[rows[:-1]]
    )  # between units of lines and units of subwords
    places = np.append(np.flatnonzero(kept), len(kept) - 1)
    at = places[np.minimum(spelled[:-1] + np.repeat(shift, ids.lengths), len(places) - 1)]
    return at, np.flatnonzero(~good)


def _differing(
    surfaces: Surfaces,
    ids: Ragged,
    units: _Units,
    kept: NDArray[np.bool_],
    candidates: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """(n,) candidate lines whose subwords spell as many, but other units."""
    differs = np.zeros(len(ids), np.bool_)
    found = units.values[kept]
    flat = ids.flat
    if not candidates.all():
        flat = flat[np.repeat(candidates, ids.lengths)]
        found = units.values[kept & np.repeat(candidates, np.diff(units.starts))]
    wrong = np.flatnonzero(surfaces.spelled.take(flat).values != found)
    if len(wrong):
        per_line = np.add.reduceat(kept, units.starts[:-1], dtype=np.int64) * candidates
        differs[np.searchsorted(np.cumsum(per_line), wrong, side="right")] = True
    return differs


def _trimmed(
    spans: NDArray[np.int64], rows: NDArray[np.int64], lines: Sequence[str]
) -> NDArray[np.int32]:
    """(T, 2) spans of characters of the given lines without white space around."""
    spaces = is_space(code_points(lines))
    places = np.arange(len(spaces))
    following = np.where(
        spaces, len(spaces), places
    )  # the first non-space character at or after each
    following = np.minimum.accumulate(following[::-1])[::-1]
    before = np.zeros(
        len(spaces) + 1, np.int64
    )  # the end of the last non-space character before each
    np.maximum.accumulate(np.where(spaces, 0, places + 1), out=before[1:])
    starts = line_starts(lines)
    first = starts[rows]  # of the line, without its line feed
    last = starts[rows + 1] - 1
    trimmed = np.empty(spans.shape, np.int32)
    trimmed[:, 0] = np.minimum(following[first + spans[:, 0]], last) - first
    trimmed[:, 1] = np.maximum(before[first + spans[:, 1]], first) - first
    return trimmed
