"""From lines to subwords and words, chunk after chunk; what `Vocab.encode*` do.

The tokenizer works in Rust, on all cores and without Python's lock. Turning its results into arrays needs the lock, so
one thread encodes the next chunk while this one is turned.

Legend: n lines; T subwords of all lines.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data._places import character_spans
from interlace.data._surfaces import Units, concatenated, first_units
from interlace.text import Text
from interlace.text.scripts import is_unspaced
from interlace.text.subwords import word_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from interlace.data._surfaces import Surfaces

_MANY = 0.2  # share of lines whose spelling differs above which offsets are asked for at once


def encode_stream(tokenizer: Tokenizer, surfaces: Surfaces, texts: Iterator[Text]) -> Iterator[Sentences]:
    """Sentences of each text, in order."""
    exact = False  # whether to take offsets from the tokenizer from the start

    def encode(text: Text, *, exact: bool) -> list[Encoding]:
        call = tokenizer.encode_batch if exact else tokenizer.encode_batch_fast
        return call(text.lines, add_special_tokens=False)

    with ThreadPoolExecutor(1, "encode") as pool:
        text = next(texts, None)
        pending = None if text is None else (text, exact, pool.submit(encode, text, exact=exact))
        while pending is not None:
            text, asked, future = pending
            encodings = future.result()
            following = next(texts, None)
            pending = None
            if following is not None:
                pending = (following, exact, pool.submit(encode, following, exact=exact))
            if asked:
                yield _with_offsets(text, encodings)
            else:
                sentences, odd = _by_spelling(tokenizer, surfaces, text, encodings)
                exact = exact or odd > _MANY * max(len(text), 1)
                yield sentences


def encode_with_offsets(tokenizer: Tokenizer, surfaces: Surfaces, text: Text) -> tuple[Sentences, Ragged]:
    """Sentences of a text, and the characters at which each subword stands."""
    encodings = tokenizer.encode_batch(text.lines, add_special_tokens=False)
    sentences = _with_offsets(text, encodings)
    blank = np.diff(surfaces.spelled.offsets)[sentences.ids.flat] == 0
    return sentences, character_spans(text.lines, encodings, blank)


def words_in_context(tokenizer: Tokenizer, surfaces: Surfaces, words: Sequence[str]) -> Ragged:
    """A row a word of its subwords after another word and a blank."""
    spans = Ragged.of([[(0, len(word))] if word else [] for word in words], width=2)
    return phrases_in_context(tokenizer, surfaces, Text("", list(words), spans)).ids


def phrases_in_context(tokenizer: Tokenizer, surfaces: Surfaces, phrases: Text) -> Sentences:
    """A row a line, which begins with a word: its subwords after another word and a blank, and its word of each.

    A blank that is a subword of its own belongs to the word, but not where the word's script writes none.
    """
    lines = [f"a {phrase}" for phrase in phrases.lines]
    first = Ragged.of([[(0, 1)]] * len(lines), width=2)
    order = np.argsort(np.concatenate([first.rows(), phrases.words.rows()]), kind="stable")
    spans = np.concatenate([first.flat, phrases.words.flat + np.int32(2)])[order]
    text = Text(phrases.language, lines, Ragged.from_lengths(spans, phrases.words.lengths + 1))
    sentences = next(encode_stream(tokenizer, surfaces, iter([text])))
    unspaced = np.array([bool(phrase) and is_unspaced(phrase[0]) for phrase in phrases.lines], np.bool_)
    blank = np.diff(surfaces.spelled.offsets)[sentences.ids.flat] == 0
    words = sentences.words.flat
    mine = (words > 0) & ~(blank & (words == 1) & np.repeat(unspaced, sentences.lengths))
    lengths = np.bincount(sentences.ids.rows()[mine], minlength=len(lines))
    ids, owners = (Ragged.from_lengths(values[mine], lengths) for values in (sentences.ids.flat, words - np.int32(1)))
    return Sentences(ids, owners, phrases.language)


def _by_spelling(
    tokenizer: Tokenizer, surfaces: Surfaces, text: Text, encodings: list[Encoding]
) -> tuple[Sentences, int]:
    """Words from what the subwords spell, and how many lines had to be encoded again for their offsets."""
    ids = _ids(encodings)
    units = Units.of(text.lines, by_bytes=surfaces.by_bytes)
    at, odd = first_units(surfaces, ids, units)
    if len(odd):
        again = tokenizer.encode_batch([text.lines[line] for line in odd], add_special_tokens=False)
        rows = np.repeat(odd, ids.lengths[odd])
        at[np.isin(ids.rows(), odd)] = units.at(rows, _offsets(again, len(rows)))
    return _sentences(text, ids, units, at), len(odd)


def _with_offsets(text: Text, encodings: list[Encoding]) -> Sentences:
    """Words from the tokenizer's offsets."""
    ids = _ids(encodings)
    units = Units.of(text.lines, by_bytes=False)
    return _sentences(text, ids, units, units.at(ids.rows(), _offsets(encodings, len(ids.flat))))


def _sentences(text: Text, ids: Ragged, units: Units, at: NDArray[np.int64]) -> Sentences:
    ends = units.at(text.words.rows(), text.words.flat[:, 1])
    words = word_at(at, ends, ids.lengths, text.words.lengths, len(units.values))
    return Sentences(ids, Ragged(words, ids.offsets), text.language)


def _ids(encodings: list[Encoding]) -> Ragged:
    rows = [encoding.ids for encoding in encodings]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return Ragged.from_lengths(concatenated(rows, int(lengths.sum())), lengths)


def _offsets(encodings: list[Encoding], total: int) -> NDArray[Any]:
    """(T,) the character at which each subword begins."""
    flat = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
    return np.fromiter(flat, np.int64, 2 * total)[::2]
