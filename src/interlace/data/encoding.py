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
from concurrent.futures import Future, ThreadPoolExecutor
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
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.text.word_tokenizers.common.characters import code_points, is_space, line_starts

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_MAX_ODD_LINES = 0.2  # share of lines encoded twice above which offsets are used from the start
_BLANK = 0x20
_NO_UNIT = 0x10FFFF  # the unit of a subword with unknown spelling: no line holds this noncharacter
_UNSPELLED = "\U000f0000"  # a private character, for which no piece stands
_ROUNDS = 8  # a second encoding usually settles a line; each further one makes at least one cut


def _byte_alphabet() -> dict[str, int]:
    """Byte-level character -> byte (Radford et al. 2019): printable Latin-1 is itself, the others follow from 256."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {chr(byte): byte for byte in printable}
    for byte in range(256):
        if byte not in printable:
            alphabet[chr(256 + len(alphabet) - len(printable))] = byte
    return alphabet


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
        added = {token["id"]: token["content"] for token in state["added_tokens"]}
        ids = tokenizer.get_vocab(with_added_tokens=True)
        rows: list[list[int]] = [[]] * (max(ids.values(), default=-1) + 1)
        for token, number in ids.items():
            if number in added:
                rows[number] = _units_of(added[number], by_bytes=by_bytes)
            elif by_bytes and all(character in BYTES for character in token):
                units = [BYTES[character] for character in token]
                rows[number] = [byte for byte in units if byte != _BLANK]
            elif by_bytes:  # a name outside the alphabet spells itself
                rows[number] = _units_of(token, by_bytes=True)
            else:
                rows[number] = _units_of(_bare(token, model), by_bytes=False)
        unknown = tokenizer.token_to_id(model.get("unk_token") or "")
        if unknown is None:
            unknown = model.get("unk_id")
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


def _units_of(text: str, *, by_bytes: bool) -> list[int]:
    if by_bytes:
        return [byte for byte in text.encode("utf-8") if byte != _BLANK]
    return [ord(character) for character in text if not character.isspace()]


def _bare(token: str, model: dict[str, Any]) -> str:
    """Return a token without the marks of its place in a word, such as `##`."""
    prefix = model.get("continuing_subword_prefix") or ""
    if len(token) > len(prefix):
        token = token.removeprefix(prefix)
    return token.removesuffix(model.get("end_of_word_suffix") or "").replace("▁", "")


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
    def _unknown_id(self) -> int | None:
        """The id of characters that a Unigram model cannot spell; None if it can spell all."""
        ids = self.tokenizer.encode(_UNSPELLED, add_special_tokens=False).ids
        return ids[-1] if ids and self.tokenizer.id_to_token(ids[-1]) != _UNSPELLED else None

    @cached_property
    def _control_ids(self) -> list[int]:
        """The ids of special tokens that text could spell, because they are pieces of a Unigram model."""
        from tokenizers.models import Unigram

        if not isinstance(self.tokenizer.model, Unigram):
            return []
        added = self.tokenizer.get_added_tokens_decoder()
        special_ids = {number for number, token in added.items() if token.special}
        return sorted(special_ids - {self._unknown_id})

    @cached_property
    def _unmatched(self) -> Tokenizer:
        """The same tokenizer for text, without templates, in which no text can spell a special token."""
        state = json.loads(self.tokenizer.to_str())
        pieces = state["model"]["vocab"]
        text_tokens = []
        for token in state["added_tokens"]:
            if not token["special"]:
                text_tokens.append(token)
            elif token["id"] < len(pieces):
                pieces[token["id"]][0] = f"{chr(_NO_UNIT)}{token['content']}"
        state["added_tokens"] = text_tokens
        state["post_processor"] = None
        return type(self.tokenizer).from_str(json.dumps(state))

    def _encodings(self, lines: Sequence[str], *, offsets: bool) -> tuple[list[Encoding], Ragged]:
        """Return the encodings of lines and their ids; without `offsets`, those are undefined, which is faster."""
        if offsets:
            encode = self.tokenizer.encode_batch
        else:
            encode = self.tokenizer.encode_batch_fast
        with tokenizer_errors():
            encodings = encode(lines, add_special_tokens=False)
        ids = _ids(encodings)
        if not self._control_ids:
            return encodings, ids
        matched = set(ids.rows()[np.isin(ids.flat, self._control_ids)].tolist())
        if self._unknown_id is not None:
            unknown = str(self.tokenizer.id_to_token(self._unknown_id))
            matched |= {number for number, line in enumerate(lines) if unknown in line}
        for number in matched:
            encodings[number] = self._unmatched.encode(lines[number], add_special_tokens=False)
        return encodings, _ids(encodings) if matched else ids

    @cached_property
    def surfaces(self) -> Surfaces:
        """The spelling of each id."""
        return Surfaces.of(self.tokenizer)

    def encode(
        self, lines: Sequence[str], word_tokenizer: str = "whitespace", language: str = ""
    ) -> Sentences:
        """Return the subwords of plain lines and the word of each; see `word_at`; checks as `check_lines`."""
        check_lines(lines)
        tokenizer = WORD_TOKENIZERS.build(word_tokenizer)
        words = tokenizer.of(language).split(lines)
        return self.encode_text(Text(language, list(lines), words, tokenizer.name))

    def encode_text(self, text: Text) -> Sentences:
        """Return the subwords of a text's lines and the word of each."""
        _, ids = self._encodings(text.lines, offsets=False)
        sentences, _ = self._by_spelling(text, ids)
        return sentences

    def encode_texts(self, texts: Iterable[Text]) -> Iterator[Sentences]:
        """Yield the same for each chunk; a thread encodes the next one meanwhile."""
        by_offsets = False  # whether to take offsets from the tokenizer
        pending: tuple[Text, bool, Future[tuple[list[Encoding], Ragged]]] | None = None
        with ThreadPoolExecutor(1, "encode") as pool:
            for next_text in chain(texts, [None]):
                current = pending
                if next_text is not None:
                    future = pool.submit(self._encodings, next_text.lines, offsets=by_offsets)
                    pending = (next_text, by_offsets, future)
                if current is None:
                    continue
                text, has_offsets, future = current
                encodings, ids = future.result()
                if has_offsets:
                    yield self._by_offsets(text, encodings, ids)
                else:
                    sentences, odd_lines = self._by_spelling(text, ids)
                    by_offsets = by_offsets or odd_lines > _MAX_ODD_LINES * max(len(text), 1)
                    yield sentences

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
        spans = [[(0, 1), (2, len(line))] if len(line) > 2 else [(0, 1)] for line in lines]
        sentences = self.encode_text(Text("", lines, Ragged.of(spans, width=2)))
        ids = sentences.ids.flat
        unspaced = np.array([bool(word) and is_unspaced(word[0]) for word in words], np.bool_)
        is_blank = self.surfaces.blank(ids) & np.repeat(unspaced, sentences.lengths)
        of_word = (sentences.words.flat == 1) & ~is_blank
        lengths = np.bincount(sentences.ids.rows()[of_word], minlength=len(lines))
        return Ragged.from_lengths(ids[of_word], lengths)

    def encode_words_apart(self, text: Text) -> Sentences:
        """Return the subwords of each line, encoded so that no subword holds the beginning of two words.

        In scripts without spaces, and with clitics, a subword often runs over the border of two gold words; the second
        word would then have no subword to be tagged by. Only in this case the line is cut before that word and its
        parts are encoded separately, as word-by-word tokenization always does. Other lines keep the ids of the plain
        line.
        """
        sentences = self.encode_text(text)
        spans = text.words.flat  # (W, 2)
        line_of_word = text.words.rows()  # (W,)
        first_words = text.words.offsets[:-1] - text.words.offsets[0]  # (n,)
        touches = np.zeros(len(spans), np.bool_)  # whether a word directly follows another
        touches[1:] = (spans[1:, 0] == spans[:-1, 1]) & (line_of_word[1:] == line_of_word[:-1])
        cut = np.zeros(len(spans), np.bool_)
        for _ in range(_ROUNDS):
            word_numbers = np.repeat(first_words, sentences.lengths) + sentences.words.flat  # (T,)
            has_subword = np.zeros(len(spans), np.bool_)
            has_subword[word_numbers[sentences.words.flat >= 0]] = True
            new_cuts = touches & ~cut & ~has_subword
            if not new_cuts.any():
                break
            cut |= new_cuts
            lines = np.unique(line_of_word[new_cuts])
            order = np.arange(len(sentences))
            order[lines] = len(sentences) + np.arange(len(lines))
            both = [sentences, self._encode_cut(text, lines, cut)]
            sentences = Sentences.concatenate(both).take(order)
        return sentences

    def _encode_cut(
        self, text: Text, lines: NDArray[np.int64], cut: NDArray[np.bool_]
    ) -> Sentences:
        """Return the given lines, encoded in parts that are cut before the marked words."""
        parts: list[str] = []
        part_spans: list[NDArray[np.int32]] = []
        words_before: list[int] = []  # of its line, for each part
        spans = text.words.values
        for line in lines.tolist():
            first, stop = text.words.offsets[line : line + 2].tolist()
            cuts = first + np.flatnonzero(cut[first:stop])
            for word, next_word in pairwise([first, *cuts.tolist(), stop]):
                start = spans[word, 0] if word > first else 0
                end = spans[next_word, 0] if next_word < stop else None
                parts.append(text.lines[line][start:end])
                part_spans.append(spans[word:next_word] - start)
                words_before.append(word - first)
        words = Ragged.from_lengths(np.concatenate(part_spans), map(len, part_spans))
        encoded = self.encode_text(Text(text.language, parts, words, text.word_tokenizer))
        # Many tokenizers insert a blank before every line; as a subword of its own it is removed inside a line.
        before = np.repeat(np.array(words_before, np.int32), encoded.lengths)  # (T,)
        is_blank = self.surfaces.blank(encoded.ids.flat)
        kept = ~is_blank | (encoded.ids.columns() > 0) | (before == 0)
        line_of_part = np.cumsum(np.array(words_before) == 0) - 1
        lengths = np.bincount(line_of_part[encoded.ids.rows()[kept]], minlength=len(lines))
        ids = Ragged.from_lengths(encoded.ids.flat[kept], lengths)
        owners = Ragged.from_lengths((encoded.words.flat + before)[kept], lengths)
        return Sentences(ids, owners, text.language)

    def _by_spelling(self, text: Text, ids: Ragged) -> tuple[Sentences, int]:
        """Return sentences with words found by spelling, and the number of lines that were encoded with offsets."""
        units = _Units.of(text.lines, by_bytes=self.surfaces.by_bytes)
        starts, odd_lines = _first_units(self.surfaces, ids, units)
        if len(odd_lines):
            lines = [text.lines[line] for line in odd_lines]
            encodings, odd_ids = self._encodings(lines, offsets=True)
            characters = self._characters(lines, encodings, odd_ids)
            starts[np.isin(ids.rows(), odd_lines)] = units.at(
                odd_lines[odd_ids.rows()], characters[:, 0]
            )
        return _sentences(text, ids, units, starts), len(odd_lines)

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
        numbers = chain.from_iterable(chain.from_iterable(row.offsets for row in encodings))
        spans = np.fromiter(numbers, np.int64, 2 * len(ids.flat)).reshape(-1, 2)
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
    starts = np.maximum.accumulate(base + characters.flat[:, 0])
    ends = np.maximum.accumulate(base + characters.flat[:, 1])
    origin = characters.offsets[rows] - characters.offsets[0]
    first = np.searchsorted(ends, rows * width + spans[:, 0], side="right") - origin
    last = np.searchsorted(starts, rows * width + spans[:, 1], side="left") - 1 - origin
    exists = (spans[:, 0] >= 0) & (first <= last) & (last < characters.lengths[rows])
    return np.where(exists[:, None], np.stack([first, last], axis=1), -1).astype(np.int32)


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
        positions = self.character_starts[lines] + characters
        if self.characters is not None:
            positions = self.characters[positions]
        return np.asarray(positions, np.int64)


def _sentences(text: Text, ids: Ragged, units: _Units, starts: NDArray[np.int64]) -> Sentences:
    """Return sentences of subwords with the given first unit."""
    word_ends = units.at(text.words.rows(), text.words.flat[:, 1])
    words = word_at(starts, word_ends, ids.lengths, text.words.lengths, len(units.values))
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
    words_ended = np.zeros(length + 1, np.int32)
    words_ended[ends] = 1
    np.cumsum(words_ended, out=words_ended)  # number of words that end at or before each position
    stop = np.cumsum(words)
    first = np.repeat(stop - words, subwords)  # (T,) of the line
    last = np.repeat(stop - 1, subwords)
    return np.asarray(np.clip(words_ended[at], first, last) - first, np.int32)


def _ids(encodings: list[Encoding]) -> Ragged:
    rows = [encoding.ids for encoding in encodings]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    values = np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum()))
    return Ragged.from_lengths(values, lengths)


def _first_units(
    surfaces: Surfaces, ids: Ragged, units: _Units
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(T,) the first unit of each subword, of blanks that of the next, and lines that their subwords do not spell."""
    # Subwords spell bytes other than blanks, characters other than white space.
    if surfaces.by_bytes:
        is_spelled = units.values != _BLANK
    else:
        is_spelled = ~is_space(units.values)
    is_spelled[units.starts[1:] - 1] = False
    units_before = np.zeros(len(is_spelled) + 1, np.int64)  # spelled units before each unit
    np.cumsum(is_spelled, out=units_before[1:])
    subword_lengths = np.diff(surfaces.spelled.offsets)[ids.flat]
    subwords_before = np.zeros(len(subword_lengths) + 1, np.int64)  # units before each subword
    np.cumsum(subword_lengths, out=subwords_before[1:])
    line_offsets = ids.offsets - ids.offsets[0]

    line_units = np.diff(units_before[units.starts])  # (n,)
    is_good = line_units == np.diff(subwords_before[line_offsets])
    compared = is_spelled
    compared_ids = ids.flat
    if not is_good.all():
        compared = is_spelled & np.repeat(is_good, np.diff(units.starts))
        compared_ids = ids.flat[np.repeat(is_good, ids.lengths)]
    differs = surfaces.spelled.take(compared_ids).values != units.values[compared]
    compared_ends = np.cumsum(line_units * is_good)
    is_good[np.searchsorted(compared_ends, np.flatnonzero(differs), side="right")] = False

    # of each line: spelled units before it, minus those that subwords before it spell
    shift = units_before[units.starts[:-1]] - subwords_before[line_offsets[:-1]]
    positions = np.append(np.flatnonzero(is_spelled), len(is_spelled) - 1)
    numbers = subwords_before[:-1] + np.repeat(shift, ids.lengths)
    return positions[np.minimum(numbers, len(positions) - 1)], np.flatnonzero(~is_good)


def _trimmed(
    spans: NDArray[np.int64], rows: NDArray[np.int64], lines: Sequence[str]
) -> NDArray[np.int32]:
    """(T, 2) spans of characters of the given lines without white space around."""
    spaces = is_space(code_points(lines))
    positions = np.arange(len(spaces))
    # (C,) the first non-space character at or after each
    next_character = np.where(spaces, len(spaces), positions)
    next_character = np.minimum.accumulate(next_character[::-1])[::-1]
    # (C + 1,) the end of the last non-space character before each
    previous_end = np.zeros(len(spaces) + 1, np.int64)
    np.maximum.accumulate(np.where(spaces, 0, positions + 1), out=previous_end[1:])
    starts = line_starts(lines)
    line_start = starts[rows]
    line_end = starts[rows + 1] - 1  # without its line feed
    trimmed = np.empty(spans.shape, np.int32)
    trimmed[:, 0] = np.minimum(next_character[line_start + spans[:, 0]], line_end) - line_start
    trimmed[:, 1] = np.maximum(previous_end[line_start + spans[:, 1]], line_start) - line_start
    return trimmed
