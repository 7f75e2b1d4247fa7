"""Fragments of sentences: where they lie, and how a decoder is shown one (MASS, Song et al. 2019, section 3.2).

Legend: B rows, T subwords of the longest that is written, N predictions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.objectives._seq2seq import Writing

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from interlace.core.randomness import Generator
    from interlace.data.vocab import Vocab

    Span = tuple[NDArray[np.int64], NDArray[np.int64]]


def spans(lengths: NDArray[Any], share: float, at_edge: float, rng: Generator) -> Span:
    """(B,) where a fragment of each row starts and stops: `share` of the row, at least one place of a row that has any.

    at_edge: share of rows whose fragment begins the row or ends it, evenly; the others' start anywhere.
    """
    sizes = np.minimum(np.maximum(np.rint(share * lengths), 1), lengths).astype(np.int64)
    edge, anywhere = rng.random(len(lengths)), rng.random(len(lengths))
    room = lengths - sizes
    starts = np.floor(anywhere * (room + 1)).astype(np.int64)
    starts = np.where(edge < at_edge, np.where(edge < at_edge / 2, 0, room), starts).astype(np.int64)
    return starts, starts + sizes


def within(rows: Ragged, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(total,) whether each value stands between the start and the stop of its row."""
    columns = rows.columns()
    return np.asarray((columns >= np.repeat(starts, rows.lengths)) & (columns < np.repeat(stops, rows.lengths)))


def written_fragments(
    ids: Ragged, span: Span, targets: NDArray[np.int64], vocab: Vocab, *, masked: bool, placed: bool
) -> Writing:
    """What predicts the fragment: `[target] x_u .. x_(v-1)`; where it ends its sentence, the end is predicted too.

    Args:
        ids: whole rows.
        span: (B,) start and (B,) stop of each fragment.
        targets: (B,) the token of each row's language.
        vocab: whose mask and padding are shown.
        masked: put a mask for every subword before the fragment, so that each of its subwords stands at its own place
            (Song et al. 2019, figure 1); what is behind the fragment is seen by no prediction and left out.
        placed: say from which place on the fragment stands, in place of the masks (section 4.1).
    """
    starts, stops = span
    stops = stops + ((stops == ids.lengths) & (starts < stops))  # the end is a place like any other
    before = starts if masked else np.zeros_like(starts)
    ends = before + stops - starts
    lengths = np.maximum(ends, 1)
    shown = np.full((len(ids), int(lengths.max(initial=1))), vocab.pad, np.int64)
    columns = np.arange(shown.shape[1])
    if masked:
        shown[columns < lengths[:, None]] = vocab.mask
    shown[:, 0] = targets
    whole = _ended(ids, vocab.end)
    labels = whole.flat[within(whole, starts, stops)].astype(np.int64)
    asked = (columns >= before[:, None]) & (columns < ends[:, None])
    rows, places = np.nonzero(asked)
    inner = places + 1 < ends[rows]  # the last one is not read by any prediction
    shown[rows[inner], places[inner] + 1] = labels[inner]
    first = starts.astype(np.int64) if placed else None
    return Writing(shown, lengths, (rows, places), labels, np.zeros(len(ids), np.int8), first)


def _ended(ids: Ragged, end: int) -> Ragged:
    """The rows, each with its end."""
    return Ragged.from_lengths(np.insert(ids.flat, ids.offsets[1:] - ids.offsets[0], end), ids.lengths + 1)
