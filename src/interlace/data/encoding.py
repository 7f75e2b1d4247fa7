"""From lines to subwords with the word of each; the implementation of `Vocab.encode*`.

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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.text import Text
from interlace.text.scripts import is_unspaced
from interlace.text.subwords import word_at
from interlace.text.word_tokenizers.common.characters import code_points, is_space, line_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

_MAX_ODD_LINES = 0.2  # share of lines encoded twice above which offsets are used from the start
_BLANK = 0x20
_NO_UNIT = 0x10FFFF  # the unit of a subword with unknown spelling: no line holds this noncharacter
_ROUNDS = 8  # a second encoding usually settles a line; each further one makes at least one more cut


@dataclass(frozen=True)
class Surfaces:
    """The spelling of each id of a vocabulary.

    spelled: a row per id of its units without blanks; bytes (uint8) or code points (uint32).
    """

    spelled: Ragged

    @property
    def by_bytes(self) -> bool:
        """Whether units are bytes."""
        return bool(self.spelled.values.dtype == np.uint8)

    def blank(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """(T,) whether a subword is only white space."""
        return np.asarray(np.diff(self.spelled.offsets)[ids] == 0)


def surfaces_of(tokenizer: Tokenizer) -> Surfaces:
    """Return the spelling of every id."""
    state = json.loads(tokenizer.to_str())
    added = {token["id"]: token["content"] for token in state["added_tokens"]}
    by_bytes = '"ByteLevel"' in json.dumps(state["pre_tokenizer"])
    ids = tokenizer.get_vocab(with_added_tokens=True)
    rows: list[Any] = [[]] * (max(ids.values(), default=-1) + 1)
    spelling = _spelling(state["model"], by_bytes=by_bytes)
    for token, number in ids.items():
        rows[number] = _units(added[number], by_bytes=by_bytes) if number in added else spelling(token)
    unknown = tokenizer.token_to_id(state["model"].get("unk_token") or "")
    if unknown is None and state["model"].get("unk_id") is not None:
        unknown = state["model"]["unk_id"]
    if unknown is not None and not by_bytes:
        rows[unknown] = [_NO_UNIT]
    return Surfaces(Ragged.of(rows, dtype=np.uint8 if by_bytes else np.uint32))


def encode_stream(tokenizer: Tokenizer, surfaces: Surfaces, texts: Iterator[Text]) -> Iterator[Sentences]:
    """Yield the subwords of each text, in order."""
    exact = False  # whether to take offsets from the tokenizer

    def encode(text: Text, *, exact: bool) -> list[Encoding]:
        call = tokenizer.encode_batch if exact else tokenizer.encode_batch_fast
        return call(text.lines, add_special_tokens=False)

    with ThreadPoolExecutor(1, "encode") as pool:
        text = next(texts, None)
        pending = None if text is None else (text, exact, pool.submit(encode, text, exact=exact))
        while pending is not None:
            text, has_offsets, future = pending
            encodings = future.result()
            following = next(texts, None)
            pending = None
            if following is not None:
                pending = (following, exact, pool.submit(encode, following, exact=exact))
            if has_offsets:
                yield _by_offsets(text, encodings)
            else:
                sentences, odd = _by_spelling(tokenizer, surfaces, text, encodings)
                exact = exact or odd > _MAX_ODD_LINES * max(len(text), 1)
                yield sentences


def encode_with_offsets(tokenizer: Tokenizer, surfaces: Surfaces, text: Text) -> tuple[Sentences, Ragged]:
    """Return the subwords of a text and their character spans (see `character_spans`)."""
    encodings = tokenizer.encode_batch(text.lines, add_special_tokens=False)
    sentences = _by_offsets(text, encodings)
    return sentences, character_spans(text.lines, encodings, surfaces.blank(sentences.ids.flat))


def encode_phrases(tokenizer: Tokenizer, surfaces: Surfaces, phrases: Text) -> Sentences:
    """Return the subwords of lines that begin with a word, as they are after another word and a blank.

    A blank that is a subword of its own belongs to the first word, unless the word's script has no spaces.
    """
    lines = [f"a {phrase}" for phrase in phrases.lines]
    first = Ragged.of([[(0, 1)]] * len(lines), width=2)
    order = np.argsort(np.concatenate([first.rows(), phrases.words.rows()]), kind="stable")
    spans = np.concatenate([first.flat, phrases.words.flat + np.int32(2)])[order]
    text = Text(phrases.language, lines, Ragged.from_lengths(spans, phrases.words.lengths + 1))
    sentences = next(encode_stream(tokenizer, surfaces, iter([text])))
    unspaced = np.array([bool(phrase) and is_unspaced(phrase[0]) for phrase in phrases.lines], np.bool_)
    words = sentences.words.flat
    blank = surfaces.blank(sentences.ids.flat) & (words == 1) & np.repeat(unspaced, sentences.lengths)
    kept = (words > 0) & ~blank
    lengths = np.bincount(sentences.ids.rows()[kept], minlength=len(lines))
    ids, owners = (Ragged.from_lengths(values[kept], lengths) for values in (sentences.ids.flat, words - np.int32(1)))
    return Sentences(ids, owners, phrases.language)


def encode_words_apart(tokenizer: Tokenizer, surfaces: Surfaces, text: Text) -> Sentences:
    """Return the subwords of each line, encoded so that no subword holds the beginning of two words.

    In scripts without spaces, and with clitics, a subword often runs over the border of two gold words; the second word
    would then have no subword to be tagged by. Only in this case the line is cut before that word and its parts are
    encoded separately, as word-by-word tokenization always does. All other lines keep the ids of the plain line.
    """
    sentences = next(encode_stream(tokenizer, surfaces, iter([text])))
    touching = _touching(text)
    cut = np.zeros(len(touching), np.bool_)
    for _ in range(_ROUNDS):
        new = touching & ~cut & ~_has_subword(sentences, text.words.lengths)
        if not new.any():
            break
        cut |= new
        lines = np.unique(text.words.rows()[new])
        parts = _cut(text, lines, cut)
        encoded = next(encode_stream(tokenizer, surfaces, iter([parts.text])))
        sentences = _replaced(sentences, lines, _rejoined(parts, encoded, len(lines), surfaces))
    return sentences


def character_spans(lines: Sequence[str], encodings: Sequence[Encoding], blank: NDArray[np.bool_]) -> Ragged:
    """Return a row per line of (start, end) characters of each subword, (T, 2) int32, without white space around it.

    Subwords that share a character (bytes of a letter) each have all of it. A subword of white space starts where the
    next one does and ends where the previous one does, at or before its start.

    blank: (T,) whether a subword is only white space. Offsets do not tell: tokenizers that insert a blank before a line
        place it on the line's first character.
    """
    lengths = np.fromiter((len(encoding) for encoding in encodings), np.int64, len(encodings))
    flat = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
    spans = np.fromiter(flat, np.int64, 2 * int(lengths.sum())).reshape(-1, 2)
    spans[blank, 1] = spans[blank, 0]
    return Ragged.from_lengths(_trimmed(spans, np.repeat(np.arange(len(lines)), lengths), lines), lengths)


def subwords_in_span(characters: Ragged, rows: NDArray[np.int64], spans: NDArray[np.int32]) -> NDArray[np.int32]:
    """(q, 2) first and last subword with characters of a span of a line; (-1, -1) if there is none.

    characters: as returned by `character_spans`. rows: (q,) the line of each span. spans: (q, 2) start and end
    characters; a negative start means no span.
    """
    width = 2 + max(int(characters.flat.max(initial=0)), int(spans.max(initial=0)))
    base = characters.rows() * width
    starts, ends = (np.maximum.accumulate(base + characters.flat[:, side]) for side in (0, 1))
    origin = characters.offsets[rows] - characters.offsets[0]
    first = np.searchsorted(ends, rows * width + spans[:, 0], side="right") - origin
    last = np.searchsorted(starts, rows * width + spans[:, 1], side="left") - 1 - origin
    found = (spans[:, 0] >= 0) & (first <= last) & (last < characters.lengths[rows])
    return np.where(found[:, None], np.stack([first, last], axis=1), -1).astype(np.int32)


def _byte_alphabet() -> dict[str, int]:
    """Byte-level character -> byte (Radford et al. 2019): printable Latin-1 is itself, the others follow from 256."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    codes = [*shown, *range(256, 256 + len(hidden))]
    return {chr(code): byte for code, byte in zip(codes, [*shown, *hidden], strict=True)}


BYTES = _byte_alphabet()


def _spelling(model: dict[str, Any], *, by_bytes: bool) -> Callable[[str], list[int]]:
    """Return a function from a token's name to its units."""
    if by_bytes:
        return _byte_units
    prefix = model.get("continuing_subword_prefix") or ""
    suffix = model.get("end_of_word_suffix") or ""

    def spelling(token: str) -> list[int]:
        if len(token) > len(prefix):
            token = token.removeprefix(prefix)
        return _units(token.removesuffix(suffix).replace("▁", ""), by_bytes=False)

    return spelling


def _units(text: str, *, by_bytes: bool) -> list[int]:
    if by_bytes:
        return [byte for byte in text.encode("utf-8") if byte != _BLANK]
    return [ord(character) for character in text if not character.isspace()]


def _byte_units(token: str) -> list[int]:
    """Return the bytes of a byte-level name without blanks; a name outside the alphabet spells itself."""
    try:
        return [byte for byte in map(BYTES.__getitem__, token) if byte != _BLANK]
    except KeyError:
        return _units(token, by_bytes=True)


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


def _by_spelling(
    tokenizer: Tokenizer, surfaces: Surfaces, text: Text, encodings: list[Encoding]
) -> tuple[Sentences, int]:
    """Return sentences with words found by spelling, and the number of lines that were encoded again for offsets."""
    ids = _ids(encodings)
    units = _Units.of(text.lines, by_bytes=surfaces.by_bytes)
    at, odd = _first_units(surfaces, ids, units)
    if len(odd):
        again = tokenizer.encode_batch([text.lines[line] for line in odd], add_special_tokens=False)
        rows = np.repeat(odd, ids.lengths[odd])
        at[np.isin(ids.rows(), odd)] = units.at(rows, _offsets(again, len(rows)))
    return _sentences(text, ids, units, at), len(odd)


def _by_offsets(text: Text, encodings: list[Encoding]) -> Sentences:
    """Return sentences with words found by the tokenizer's offsets."""
    ids = _ids(encodings)
    units = _Units.of(text.lines, by_bytes=False)
    return _sentences(text, ids, units, units.at(ids.rows(), _offsets(encodings, len(ids.flat))))


def _sentences(text: Text, ids: Ragged, units: _Units, at: NDArray[np.int64]) -> Sentences:
    ends = units.at(text.words.rows(), text.words.flat[:, 1])
    words = word_at(at, ends, ids.lengths, text.words.lengths, len(units.values))
    return Sentences(ids, Ragged(words, ids.offsets), text.language)


def _ids(encodings: list[Encoding]) -> Ragged:
    rows = [encoding.ids for encoding in encodings]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return Ragged.from_lengths(np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum())), lengths)


def _offsets(encodings: list[Encoding], total: int) -> NDArray[Any]:
    """(T,) the first character of each subword."""
    flat = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
    return np.fromiter(flat, np.int64, 2 * total)[::2]


def _first_units(surfaces: Surfaces, ids: Ragged, units: _Units) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(T,) the first unit of each subword, and the lines that their subwords do not spell.

    A subword of blanks has no unit; its position is that of the next subword.
    """
    kept = _not_blank(surfaces, units)
    before = np.zeros(len(kept) + 1, np.int64)  # units kept before each unit
    np.cumsum(kept, out=before[1:])
    lengths = np.diff(surfaces.spelled.offsets)[ids.flat]
    spelled = np.zeros(len(lengths) + 1, np.int64)  # units spelled before each subword
    np.cumsum(lengths, out=spelled[1:])
    line_units = np.diff(before[units.starts])
    rows = ids.offsets - ids.offsets[0]
    good = line_units == np.diff(spelled[rows])
    good &= ~_differing(surfaces, ids, units, kept, good)
    shift = before[units.starts[:-1]] - spelled[rows[:-1]]  # between units of lines and units of subwords
    places = np.append(np.flatnonzero(kept), len(kept) - 1)
    at = places[np.minimum(spelled[:-1] + np.repeat(shift, ids.lengths), len(places) - 1)]
    return at, np.flatnonzero(~good)


def _differing(
    surfaces: Surfaces, ids: Ragged, units: _Units, kept: NDArray[np.bool_], candidates: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(n,) candidate lines whose subwords spell as many, but other units."""
    differs = np.zeros(len(ids), np.bool_)
    found = units.values[kept]
    flat = ids.flat
    if not candidates.all():
        flat = flat[np.repeat(candidates, ids.lengths)]
        line_lengths = np.diff(units.starts)
        found = units.values[kept & np.repeat(candidates, line_lengths)]
    wrong = np.flatnonzero(surfaces.spelled.take(flat).values != found)
    if len(wrong):
        per_line = np.add.reduceat(kept, units.starts[:-1], dtype=np.int64) * candidates
        differs[np.searchsorted(np.cumsum(per_line), wrong, side="right")] = True
    return differs


def _not_blank(surfaces: Surfaces, units: _Units) -> NDArray[np.bool_]:
    """(C,) units that subwords spell: bytes other than blanks, characters other than white space."""
    kept = units.values != _BLANK if surfaces.by_bytes else ~is_space(units.values)
    kept[units.starts[1:] - 1] = False
    return kept


def _trimmed(spans: NDArray[np.int64], rows: NDArray[np.int64], lines: Sequence[str]) -> NDArray[np.int32]:
    spaces = is_space(code_points(lines))
    places = np.arange(len(spaces))
    following = np.where(spaces, len(spaces), places)  # the first non-space character at or after each
    following = np.minimum.accumulate(following[::-1])[::-1]
    before = np.zeros(len(spaces) + 1, np.int64)  # the end of the last non-space character before each
    np.maximum.accumulate(np.where(spaces, 0, places + 1), out=before[1:])
    starts = line_starts(lines)
    first, last = starts[rows], starts[rows + 1] - 1  # of the line, without its line feed
    trimmed = np.empty(spans.shape, np.int32)
    trimmed[:, 0] = np.minimum(following[first + spans[:, 0]], last) - first
    trimmed[:, 1] = np.maximum(before[first + spans[:, 1]], first) - first
    return trimmed


def _touching(text: Text) -> NDArray[np.bool_]:
    """(W,) whether a word directly follows another of its line."""
    spans = text.words.flat
    touching = np.zeros(len(spans), np.bool_)
    touching[1:] = (spans[1:, 0] == spans[:-1, 1]) & (np.diff(text.words.rows()) == 0)
    return touching


def _has_subword(sentences: Sentences, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(W,) whether a word has any subword; `counts` are the words per line."""
    starts = np.cumsum(counts) - counts
    found = np.zeros(int(counts.sum()), np.bool_)
    inside = sentences.words.flat >= 0
    found[starts[sentences.words.rows()[inside]] + sentences.words.flat[inside]] = True
    return found


@dataclass(frozen=True)
class _Parts:
    """Lines cut in parts.

    text: a line per part. firsts: the index of each part's first word in its line. owners: the line of each part.
    """

    text: Text
    firsts: NDArray[np.int32]
    owners: NDArray[np.int64]


def _cut(text: Text, lines: NDArray[np.int64], cut: NDArray[np.bool_]) -> _Parts:
    """Cut the given lines before their marked words."""
    parts: list[str] = []
    spans: list[NDArray[np.int32]] = []
    firsts: list[int] = []
    owners: list[int] = []
    for number, line in enumerate(lines.tolist()):
        words = text.words[line]
        begins = np.flatnonzero(cut[text.words.offsets[line] : text.words.offsets[line + 1]])
        places = [0, *words[begins, 0].tolist(), len(text.lines[line])]
        borders = [0, *begins.tolist(), len(words)]
        for part in range(len(borders) - 1):
            parts.append(text.lines[line][places[part] : places[part + 1]])
            spans.append(words[borders[part] : borders[part + 1]] - places[part])
        firsts += borders[:-1]
        owners += [number] * (len(borders) - 1)
    columns = Ragged.from_lengths(np.concatenate(spans), [len(span) for span in spans])
    return _Parts(
        Text(text.language, parts, columns, text.word_tokenizer), np.array(firsts, np.int32), np.array(owners)
    )


def _rejoined(parts: _Parts, encoded: Sentences, count: int, surfaces: Surfaces) -> Sentences:
    """Join the encoded parts of each of the `count` lines.

    Many tokenizers insert a blank before every line. If it is a subword of its own, it is removed inside a line.
    """
    ids, words = encoded.ids.flat, encoded.words.flat + np.repeat(parts.firsts, encoded.lengths)
    inserted = surfaces.blank(ids) & (encoded.ids.columns() == 0) & np.repeat(parts.firsts > 0, encoded.lengths)
    lengths = np.bincount(parts.owners[encoded.ids.rows()[~inserted]], minlength=count)
    ids, words = ids[~inserted], words[~inserted].astype(np.int32)
    build = Ragged.from_lengths
    return Sentences(build(ids, lengths), build(words, lengths), parts.text.language)


def _replaced(sentences: Sentences, rows: NDArray[np.int64], new: Sentences) -> Sentences:
    """Return the sentences with the given rows replaced."""
    order = np.arange(len(sentences))
    order[rows] = len(sentences) + np.arange(len(rows))
    return Sentences.concatenate([sentences, new]).take(order)
