"""How much text there is: the words and characters that a perplexity per word and bits a character are taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.data import Sentences
from interlace.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab


def known_subwords(text: Sentences, vocab: Vocab) -> NDArray[np.bool_]:
    """(total,) which subwords of the text are predicted: all but the unknown one and other specials."""
    return ~np.isin(text.ids.flat, vocab.specials)


def sizes_of(text: Sentences, vocab: Vocab) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) words of each sentence with a subword that is predicted, and (n,) characters of what they spell.

    Characters are those of the normalised text, without unknown subwords.
    """
    known = known_subwords(text, vocab) & (text.words.flat >= 0)
    words = np.unique(np.stack([text.ids.rows()[known], text.words.flat[known]]), axis=1)
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
