"""Padded batches as a model reads them: special tokens around one or two sides, with the origin of each subword.

Shapes: B rows; L longest row; T subwords of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from interlace.data import Pairs, Sentences
    from interlace.data.vocab import Vocab

SPECIALS = 2  # special tokens that `sentence_layout` adds to a sentence
MAX_SPECIALS = 4  # special tokens that a layout adds to a row at most


@dataclass(frozen=True)
class Layout:
    """Padded rows, all (B, L).

    ids: subwords with special tokens and padding.
    real: True except for padding.
    content: True for subwords of the text (no special token, padding, or separator of a stream).
    words: the word index of each content subword in its own side; -1 elsewhere.
    sides: 0 for the first side and its special tokens, 1 for the second.
    lengths: (B,) tokens per row without padding.
    """

    ids: NDArray[np.int64]
    real: NDArray[np.bool_]
    content: NDArray[np.bool_]
    words: NDArray[np.int32]
    sides: NDArray[np.int8]
    lengths: NDArray[np.int64]

    @property
    def tokens(self) -> int:
        """Number of tokens without padding."""
        return int(self.lengths.sum())

    def positions(self, first: int, *, restart: bool) -> NDArray[np.int64]:
        """(B, L) position ids; with `restart` the second side begins with `first` again (XLM's TLM)."""
        places = np.broadcast_to(np.arange(self.ids.shape[1]), self.ids.shape)
        if restart:
            second = self.sides == 1
            starts = np.where(second.any(axis=1), second.argmax(axis=1), 0)
            places = places - np.where(second, starts[:, None], 0)
        return np.where(self.real, places + first, 0 if first == 0 else first - 1)


def sentence_layout(sentences: Sentences, vocab: Vocab, max_length: int) -> Layout:
    """Return rows `[begin] A [end]`, truncated at the end."""
    ids, words = _cut(sentences, np.minimum(sentences.lengths, max_length - SPECIALS))
    lengths = ids.lengths + SPECIALS
    if len(lengths) and (lengths == lengths[0]).all():  # full streams need no padding or index arithmetic
        return _block(ids, words, vocab)
    layout = _empty(lengths, vocab.pad)
    _place(layout, ids, words, np.ones(len(lengths), np.int64), side=0)
    layout.ids[:, 0] = vocab.begin
    layout.ids[np.arange(len(lengths)), lengths - 1] = vocab.end
    return layout


def pair_layout(pairs: Pairs, vocab: Vocab, max_length: int) -> Layout:
    """Return rows `[begin] A [end] B [end]`, with the vocabulary's separator; the longer side is truncated first."""
    separator = vocab.separator_ids
    # The shorter side is kept whole if it fits in half of the text.
    total, source, target = max_length - SPECIALS - len(separator), pairs.source.lengths, pairs.target.lengths
    first = np.minimum(source, np.maximum(total - target, total // 2))
    second = np.minimum(target, total - first)
    a_ids, a_words = _cut(pairs.source, first)
    b_ids, b_words = _cut(pairs.target, second)
    lengths = first + second + 2 + len(separator)
    layout = _empty(lengths, vocab.pad)
    rows = np.arange(len(lengths))
    _place(layout, a_ids, a_words, np.ones(len(rows), np.int64), side=0)
    _place(layout, b_ids, b_words, first + 1 + len(separator), side=1)
    layout.ids[:, 0] = vocab.begin
    for step, token in enumerate(separator):
        layout.ids[rows, first + 1 + step] = token
    layout.sides[rows[:, None], np.minimum(first + 1 + np.arange(1, len(separator) + 1)[:, None], lengths - 1).T] = 1
    layout.ids[rows, lengths - 1] = vocab.end
    layout.sides[rows, lengths - 1] = 1
    return layout


def max_side_length(vocab: Vocab, max_length: int) -> int:
    """Return the length up to which `pair_layout` truncates neither side."""
    return (max_length - SPECIALS - len(vocab.separator_ids)) // 2


def _cut(sentences: Sentences, lengths: NDArray[np.int64]) -> tuple[Ragged, Ragged]:
    """Return the first `lengths[i]` subwords of each row."""
    if (lengths == sentences.lengths).all():
        return sentences.ids, sentences.words
    keep = sentences.ids.columns() < np.repeat(lengths, sentences.lengths)
    build = Ragged.from_lengths
    return build(sentences.ids.flat[keep], lengths), build(sentences.words.flat[keep], lengths)


def _empty(lengths: NDArray[np.int64], pad: int) -> Layout:
    shape = (len(lengths), int(lengths.max(initial=0)))
    return Layout(
        ids=np.full(shape, pad, np.int64),
        real=np.arange(shape[1]) < lengths[:, None],
        content=np.zeros(shape, np.bool_),
        words=np.full(shape, -1, np.int32),
        sides=np.zeros(shape, np.int8),
        lengths=lengths,
    )


def _place(layout: Layout, ids: Ragged, words: Ragged, starts: NDArray[np.int64], *, side: int) -> None:
    """Write one side's subwords into the padded arrays, each row from its own start index."""
    width = layout.ids.shape[1]
    lengths = ids.lengths
    shift = np.arange(len(lengths)) * width + starts - (ids.offsets[:-1] - ids.offsets[0])
    where = np.repeat(shift, lengths) + np.arange(len(ids.flat))
    layout.ids.reshape(-1)[where] = ids.flat
    layout.words.reshape(-1)[where] = words.flat
    layout.content.reshape(-1)[where] = words.flat >= 0
    if side:
        layout.sides.reshape(-1)[where] = side


def _block(ids: Ragged, words: Ragged, vocab: Vocab) -> Layout:
    """Return `sentence_layout` for rows of equal length."""
    rows, width = len(ids), int(ids.lengths[0])
    block = np.empty((rows, width + 2), np.int64)
    block[:, 0], block[:, -1] = vocab.begin, vocab.end
    block[:, 1:-1] = ids.flat.reshape(rows, width)
    owner = np.full((rows, width + 2), -1, np.int32)
    owner[:, 1:-1] = words.flat.reshape(rows, width)
    shape = block.shape
    return Layout(
        block, np.ones(shape, np.bool_), owner >= 0, owner, np.zeros(shape, np.int8), np.full(rows, width + 2, np.int64)
    )
