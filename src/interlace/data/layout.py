"""Rows as a model reads them: specials round one or two sides, padded, with where each subword came from.

Legend: B rows, L longest row; T subwords of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged
    from interlace.data import Pairs, Sentences
    from interlace.data.vocab import Vocab

SPECIALS = 2  # that `sentence_layout` adds to a sentence
MAX_SPECIALS = 4  # subwords that a row's layout may add to its text


@dataclass(frozen=True)
class Layout:
    """Padded rows and their anatomy, all (B, L).

    ids: subwords with specials and padding.
    real: True where there is no padding.
    content: True where a subword of the text stands (no special, no padding, no separator of a stream).
    words: the word each content subword belongs to, in its own side; -1 elsewhere.
    sides: 0 for the first side and its specials, 1 for the second.
    lengths: (B,) real subwords of each row.
    """

    ids: NDArray[np.int64]
    real: NDArray[np.bool_]
    content: NDArray[np.bool_]
    words: NDArray[np.int32]
    sides: NDArray[np.int8]
    lengths: NDArray[np.int64]

    @property
    def tokens(self) -> int:
        """Real subwords, padding left out."""
        return int(self.lengths.sum())

    def positions(self, first: int, *, restart: bool) -> NDArray[np.int64]:
        """(B, L) position ids; with `restart` the second side counts from `first` again (XLM's TLM)."""
        places = np.broadcast_to(np.arange(self.ids.shape[1]), self.ids.shape)
        if restart:
            second = self.sides == 1
            starts = np.where(second.any(axis=1), second.argmax(axis=1), 0)
            places = places - np.where(second, starts[:, None], 0)
        return np.where(self.real, places + first, 0 if first == 0 else first - 1)


def sentence_layout(sentences: Sentences, vocab: Vocab, max_length: int) -> Layout:
    """`[begin] A [end]` a row; what does not fit is cut from the end."""
    ids, words = _cut(sentences, np.minimum(sentences.lengths, max_length - SPECIALS))
    lengths = ids.lengths + SPECIALS
    if len(lengths) and (lengths == lengths[0]).all():  # full streams: no padding, no index arithmetic
        return _block(ids, words, vocab)
    layout = _empty(lengths, vocab.pad)
    _place(layout, ids, words, np.ones(len(lengths), np.int64), side=0)
    layout.ids[:, 0] = vocab.begin
    layout.ids[np.arange(len(lengths)), lengths - 1] = vocab.end
    return layout


def pair_layout(pairs: Pairs, vocab: Vocab, max_length: int) -> Layout:
    """`[begin] A [end] B [end]` (with the vocabulary's own glue between) a row; the longer side is cut first."""
    glue = vocab.separator_ids
    first, second = _fair(pairs.source.lengths, pairs.target.lengths, _room(vocab, max_length))
    a_ids, a_words = _cut(pairs.source, first)
    b_ids, b_words = _cut(pairs.target, second)
    lengths = first + second + 2 + len(glue)
    layout = _empty(lengths, vocab.pad)
    rows = np.arange(len(lengths))
    _place(layout, a_ids, a_words, np.ones(len(rows), np.int64), side=0)
    _place(layout, b_ids, b_words, first + 1 + len(glue), side=1)
    layout.ids[:, 0] = vocab.begin
    for step, token in enumerate(glue):
        layout.ids[rows, first + 1 + step] = token
    layout.sides[rows[:, None], np.minimum(first + 1 + np.arange(1, len(glue) + 1)[:, None], lengths - 1).T] = 1
    layout.ids[rows, lengths - 1] = vocab.end
    layout.sides[rows, lengths - 1] = 1
    return layout


def max_side_length(vocab: Vocab, max_length: int) -> int:
    """Subwords of either side that `pair_layout` has room for, however long the other is."""
    return _room(vocab, max_length) // 2


def _room(vocab: Vocab, max_length: int) -> int:
    """Subwords of both sides together that `pair_layout` has room for."""
    return max_length - SPECIALS - len(vocab.separator_ids)


def _fair(first: NDArray[Any], second: NDArray[Any], room: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lengths of both sides within `room`: a short side keeps all it has, the rest goes to the longer one."""
    half = room // 2
    kept_first = np.minimum(first, np.maximum(room - second, half))
    kept_second = np.minimum(second, room - kept_first)
    return kept_first.astype(np.int64), kept_second.astype(np.int64)


def _cut(sentences: Sentences, lengths: NDArray[np.int64]) -> tuple[Ragged, Ragged]:
    """The first `lengths[i]` subwords of each row."""
    if (lengths == sentences.lengths).all():
        return sentences.ids, sentences.words
    keep = sentences.ids.columns() < np.repeat(lengths, sentences.lengths)
    build = type(sentences.ids).from_lengths
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
    """Write one side's subwords into the padded arrays, each row from its own start."""
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
    """`sentence_layout` for rows of equal length."""
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
