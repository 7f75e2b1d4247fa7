"""How much text there is: the words and characters that a perplexity per word and bits a character are taken over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.apart import concatenated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.text import Text


@dataclass(frozen=True)
class Spelt(Sentences):
    """Sentences that know how much of their text each subword is, which not every vocabulary gives back by decoding.

    characters: n rows of int32, what each subword adds to its line, with the blank before it; of bytes of one
    character the first adds it.
    """

    characters: Ragged

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Spelt:
        """The named rows, copied."""
        return Spelt(self.ids.take(rows), self.words.take(rows), self.language, self.characters.take(rows))


def spelt(texts: Iterable[Text], vocab: Vocab) -> Spelt:
    """Chunks of text as one column."""
    parts = [vocab.encode_with_offsets(text) for text in texts]
    sentences, spans = concatenated([one for one, _ in parts]), Ragged.concatenate([each for _, each in parts])
    return Spelt(sentences.ids, sentences.words, sentences.language, _added(spans))


def shortened(text: Sentences, length: int) -> Sentences:
    """The first `length` subwords of each sentence."""
    keep, kept = text.ids.columns() < length, np.minimum(text.lengths, length)
    ids, words = (Ragged.from_lengths(side.flat[keep], kept) for side in (text.ids, text.words))
    if isinstance(text, Spelt):
        return Spelt(ids, words, text.language, Ragged.from_lengths(text.characters.flat[keep], kept))
    return Sentences(ids, words, text.language)


def _added(spans: Ragged) -> Ragged:
    """Of (start, end) characters of each subword, how far each goes beyond all before it in its line."""
    flat, rows, first = spans.flat.astype(np.int64), spans.rows(), spans.columns() == 0
    origins = np.repeat(flat[first, 0], spans.lengths[spans.lengths > 0])  # where each line's text begins
    base = rows * (1 + int(flat.max(initial=0)))
    reached = np.maximum.accumulate(base + np.maximum(flat[:, 1], origins))
    before = np.concatenate([[0], reached[:-1]])
    before[first] = (base + origins)[first]
    return Ragged.from_lengths((reached - before).astype(np.int32), spans.lengths)


def known_subwords(text: Sentences, vocab: Vocab) -> NDArray[np.bool_]:
    """(total,) which subwords of the text are predicted: all but the unknown one and other specials."""
    return ~np.isin(text.ids.flat, vocab.special_ids)


def sizes_of(text: Sentences, vocab: Vocab) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) words of each sentence with a subword that is predicted, and (n,) characters of what they spell.

    Characters are those of the line, without unknown subwords; where that is not known, of what subwords decode to.
    """
    known = known_subwords(text, vocab) & (text.words.flat >= 0)
    rows = text.ids.rows()[known]
    words = np.unique(np.stack([rows, text.words.flat[known]]), axis=1)
    if isinstance(text, Spelt):
        characters = np.bincount(rows, text.characters.flat[known], len(text)).astype(np.int64)
    else:
        characters = np.array([len(vocab.decode(row)) for row in text.ids], np.int64)
    return np.bincount(words[0], minlength=len(text)).astype(np.int64), characters


def size_of(text: Sentences, vocab: Vocab) -> tuple[int, int]:
    """The same of all sentences together."""
    words, characters = sizes_of(text, vocab)
    return int(words.sum()), int(characters.sum())


def size_of_rows(rows: Sentences, vocab: Vocab) -> tuple[int, int]:
    """The same of running text, where an end of a sentence counts as a word and as a character.

    A word or sentence that a row's edge cuts in two is one in each row.
    """
    inside = rows.words.flat >= 0
    begins = inside & ~np.concatenate([[False], inside[:-1]])
    begins |= inside & (rows.ids.columns() == 0)
    lengths = np.bincount(np.cumsum(begins)[inside] - 1) if inside.any() else np.zeros(0, np.int64)
    ids, words = (Ragged.from_lengths(side.flat[inside], lengths) for side in (rows.ids, rows.words))
    size, ends = size_of(Sentences(ids, words, rows.language), vocab), int((~inside).sum())
    return size[0] + ends, size[1] + ends
