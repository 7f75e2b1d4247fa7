"""Padded batches as a model reads them: special tokens around one or two sides, with the origin of each subword.

Shapes: B rows; L longest row; T subwords of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import AnyArray, BoolArray, Int32Array, IntArray, Ragged
from interlace.data import PairLayout, Pairs, Sentences

if TYPE_CHECKING:
    from interlace.data.vocab import Frame, Vocab

SPECIALS = 2  # special tokens that `sentence_layout` adds to a sentence at most
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
    starts: (B,) column of the second side's first subword; None with one side.
    """

    ids: IntArray
    real: BoolArray
    content: BoolArray
    words: Int32Array
    sides: NDArray[np.int8]
    lengths: IntArray
    starts: IntArray | None = None

    @property
    def tokens(self) -> int:
        """Number of tokens without padding."""
        return int(self.lengths.sum())

    def positions(self, first: int, *, restart: bool) -> IntArray:
        """(B, L) position ids from `first`; with `restart`, word k of both sides has the same (XLM's TLM).

        Padding is not counted. A second side without a begin token of its own restarts with `first + 1`.
        """
        places = np.cumsum(self.real, axis=1) - 1
        if restart and self.starts is not None:
            begins = np.take_along_axis(places, self.starts[:, None], axis=1) - 1
            places -= np.where(self.sides == 1, begins, 0)
        of_padding = max(first - 1, 0)
        return np.where(self.real, places + first, of_padding)


def sentence_layout(sentences: Sentences, vocab: Vocab, max_length: int) -> Layout:
    """Return rows `[begin] A [end]`, truncated at the end, or as a published translation model reads a sentence."""
    frame = vocab.frame(sentences.language)
    specials = len(frame.before) + len(frame.after)
    text_lengths = np.minimum(sentences.lengths, max_length - specials)
    layout = _empty(text_lengths + specials, vocab.pad)
    starts = np.full_like(text_lengths, len(frame.before))
    _place(
        layout,
        sentences,
        text_lengths,
        starts,
    )
    _place_frame(layout, np.arange(len(sentences)), frame)
    return layout


def _place_frame(layout: Layout, rows: IntArray, frame: Frame) -> None:
    """Write the special tokens before and after the sentences of some rows."""
    layout.ids[rows, : len(frame.before)] = frame.before
    ends = layout.lengths[rows] - len(frame.after)
    for offset, token in enumerate(frame.after):
        layout.ids[rows, ends + offset] = token


def separate_sides(pairs: Pairs, vocab: Vocab, max_length: int) -> Layout:
    """Return 2B rows, one of each sentence: those of the first side, then those of the second."""
    sentences = Sentences.concatenate((pairs.source, pairs.target))
    layout = sentence_layout(sentences, vocab, max_length)
    second = np.arange(len(pairs), 2 * len(pairs))
    _place_frame(layout, second, vocab.frame(pairs.target.language))
    layout.sides[second] = layout.real[second]
    return layout


def separate_costs(source: AnyArray, target: AnyArray, max_length: int) -> AnyArray:
    """Return (n,) tokens of the two sequences of pairs with sides of these lengths, each as long as the longer side."""
    costs: AnyArray = np.minimum(np.maximum(source, target) + SPECIALS, max_length)
    return 2 * costs


def pair_layout(
    pairs: Pairs,
    vocab: Vocab,
    max_length: int,
    layout: PairLayout | None = None,
    *,
    restart: bool = False,
    inner_padding: bool = False,
) -> Layout:
    """Return rows of both sides; the longer side is truncated first.

        xlm, restart    [begin] A [end] [begin] B [end]     XLM's begin and end are the same: four `</s>`
        xlm             [begin] A [end] B [end]             the inner [end] belongs to the second side, as in XLM's code
        roberta         [begin] A [end] [end] B [end]       the second inner [end] belongs to the second side
        bert            [begin] A [end] B [end]             the inner [end] belongs to the first side

    max_length: maximum tokens of a row, special tokens included.
    layout: default: what the vocabulary's own template says, as fine-tuning and plain transformers lay pairs out.
    restart: whether positions restart on the second side (XLM's code then gives it its own begin token).
    inner_padding: pad the first side to half of `max_length` (Tang et al. 2022, appendix G.3); truncate both to it.
    """
    inner_ids, outer_ids = _separators(vocab, layout, restart=restart)
    inner = len(inner_ids)
    outer = len(outer_ids)
    # (B,) each: subwords of both sides, and the columns behind the first side, where the second begins and ends
    if inner_padding:
        half = max_length // 2
        first = np.minimum(pairs.source.lengths, half - 1 - inner)
        second = np.minimum(pairs.target.lengths, half - 1 - outer)
        first_ends = 1 + first
        second_begins = np.full(len(pairs), half, np.int64)
    else:
        first, second = _fitting(pairs, max_length - SPECIALS - inner - outer)
        first_ends = 1 + first
        second_begins = first_ends + inner
    starts = second_begins + outer
    ends = starts + second
    rows = replace(
        _empty(ends + 1, vocab.pad),
        lengths=first + second + SPECIALS + inner + outer,
        starts=starts,
    )
    columns = np.arange(rows.ids.shape[1])
    is_first = columns < (first_ends + inner)[:, None]  # (B, L)
    is_second = columns >= second_begins[:, None]
    rows.real[...] &= is_first | is_second
    rows.sides[rows.real & is_second] = 1
    _place(
        rows,
        pairs.source,
        first,
        np.ones_like(first),
    )
    _place(
        rows,
        pairs.target,
        second,
        starts,
    )
    numbers = np.arange(len(pairs))
    rows.ids[:, 0] = vocab.begin
    for column, token in enumerate(inner_ids):
        rows.ids[numbers, first_ends + column] = token
    for column, token in enumerate(outer_ids):
        rows.ids[numbers, second_begins + column] = token
    rows.ids[numbers, ends] = vocab.end
    return rows


def pair_specials(vocab: Vocab, layout: PairLayout | None, *, restart: bool) -> int:
    """Return the number of special tokens that `pair_layout` adds to a pair."""
    inner_ids, outer_ids = _separators(vocab, layout, restart=restart)
    return SPECIALS + len(inner_ids) + len(outer_ids)


def _fitting(pairs: Pairs, total: int) -> tuple[IntArray, IntArray]:
    """(B,) each: subwords of both sides, `total` at most; a side that fits in half of them is kept whole.

    With a total of 10, sides of 3 and 9 subwords keep 3 and 7, and sides of 8 and 9 keep 5 and 5.
    """
    source = pairs.source.lengths
    target = pairs.target.lengths
    first = np.minimum(source, np.maximum(total - target, total // 2))
    second = np.minimum(target, total - first)
    return first, second


def _separators(
    vocab: Vocab, layout: PairLayout | None, *, restart: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ids that end the first side, and those that begin the second."""
    end = (vocab.end,)
    if layout is None:
        return vocab.separator_ids[:1], vocab.separator_ids[1:]
    if layout == "roberta":
        return end, end
    if layout == "bert":
        return end, ()
    if restart:
        return end, (vocab.begin,)
    return (), end


def _cut(sentences: Sentences, lengths: IntArray) -> tuple[Ragged, Ragged]:
    """Return the first `lengths[i]` subwords of each row."""
    if (lengths == sentences.lengths).all():
        return sentences.ids, sentences.words
    max_columns = np.repeat(lengths, sentences.lengths)  # (T,)
    keep = sentences.ids.columns() < max_columns
    ids = Ragged.from_lengths(sentences.ids.flat[keep], lengths)
    words = Ragged.from_lengths(sentences.words.flat[keep], lengths)
    return ids, words


def _empty(lengths: IntArray, pad: int) -> Layout:
    shape = (len(lengths), int(lengths.max(initial=0)))
    return Layout(
        ids=np.full(shape, pad, np.int64),
        real=np.arange(shape[1]) < lengths[:, None],
        content=np.zeros(shape, np.bool_),
        words=np.full(shape, -1, np.int32),
        sides=np.zeros(shape, np.int8),
        lengths=lengths,
    )


def _place(
    layout: Layout,
    side: Sentences,
    lengths: IntArray,
    starts: IntArray,
) -> None:
    """Write the first `lengths[i]` subwords of each row of a side into the padded arrays, from column `starts[i]`.

    The rows `a b` and `c` with starts 1 and 2 and a width of 4 go to the cells 1, 2 and 6 of the flattened array.
    """
    ids, words = _cut(side, lengths)
    width = layout.ids.shape[1]
    # (B,) each: where the subwords of a row begin in the flattened arrays, and in `ids.flat`
    row_starts = np.arange(len(lengths)) * width + starts
    flat_starts = ids.offsets[:-1] - ids.offsets[0]
    cells = np.repeat(row_starts - flat_starts, lengths)  # (T,)
    cells += np.arange(len(cells))
    layout.ids.reshape(-1)[cells] = ids.flat
    layout.words.reshape(-1)[cells] = words.flat
    layout.content.reshape(-1)[cells] = words.flat >= 0
