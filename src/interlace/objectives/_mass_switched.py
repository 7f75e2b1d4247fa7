"""Fragments of code-switched sentences: the words of the original that are hidden, and where they stand when switched.

Legend: n rows; T subwords of all switched rows; words are those of the sentence a row was made from, its matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.objectives._fragments import spans, within
from interlace.objectives._switching import Choices, switch
from interlace.objectives._switching_rows import SwitchedRows, gathered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.randomness import Generator
    from interlace.data import Pairs
    from interlace.objectives._switching import Switched, Switching
    from interlace.objectives._switching_forms import Forms

    Span = tuple[NDArray[np.int64], NDArray[np.int64]]
    _Rows = tuple[SwitchedRows, NDArray[np.bool_]]


@dataclass(frozen=True)
class SwitchedFragments:
    """Switched rows and what is hidden in them.

    rows: n switched rows. hidden: (T,) which of their subwords belong to the fragment.
    matrix: (n,) the side that each row was made from. original: n rows, the subwords of that side.
    span: (n,) start and (n,) stop of the fragment in `original`.
    """

    rows: SwitchedRows
    hidden: NDArray[np.bool_]
    matrix: NDArray[np.int8]
    original: Ragged
    span: Span


def switched_fragments(
    pairs: Pairs, rules: Switching, share: float, at_edge: float, forms: Forms, rng: Generator, room: int
) -> SwitchedFragments:
    """Switch every pair, and choose a fragment of each matrix sentence in whole words.

    A fragment that would cut a replaced phrase in two takes all of it: its words have no places of their own in the
    switched row. A row that phrases make longer than `room` subwords stays as it was: cut, it could lose its fragment.

    Raises:
        DataError: the pairs have no phrases.
    """
    if pairs.phrases is None or (rules.target_choice == "table_argmax" and pairs.known is None):
        raise DataError(
            "mass: switched = true, but the pairs come without phrases; train from a recipe, which finds them"
        )
    switched = switch(Choices.of(pairs, forms.inside, forms.texts), rules, rng)
    span = _whole(spans(switched.words, share, at_edge, rng), switched)
    rows = gathered(pairs, switched, forms)
    places = np.where(switched.matrix == 1, len(pairs), 0) + np.arange(len(pairs))
    original, words = (
        Ragged.concatenate([getattr(side, column) for side in (pairs.source, pairs.target)]).take(places)
        for column in ("ids", "words")
    )
    hidden = _hidden(rows.sentences.words, switched, span)
    span = _subwords(words, span)
    sides = np.repeat(switched.matrix, original.lengths)
    plain = SwitchedRows(Sentences(original, words, pairs.source.language), sides)
    rows, hidden = _fitting((rows, hidden), (plain, within(original, *span)), room)
    return SwitchedFragments(rows, hidden, switched.matrix, original, span)


def _fitting(switched: _Rows, plain: _Rows, room: int) -> _Rows:
    """Switched rows and what is hidden in them; those of more than `room` subwords as they were before."""
    fits = switched[0].sentences.lengths <= room
    if fits.all():
        return switched
    which = np.arange(len(fits)) + np.where(fits, 0, len(fits))
    texts = [rows.sentences for rows, _ in (switched, plain)]
    ids, words = (Ragged.concatenate([getattr(text, name) for text in texts]).take(which) for name in ("ids", "words"))
    offsets = Ragged.concatenate([text.ids for text in texts]).offsets
    sides, hidden = (
        Ragged(np.concatenate(columns), offsets).take(which).values
        for columns in ([rows.sides for rows, _ in (switched, plain)], [hidden for _, hidden in (switched, plain)])
    )
    return SwitchedRows(Sentences(ids, words, texts[0].language), sides), hidden


def _whole(span: Span, switched: Switched) -> Span:
    """The span of words with all of the replaced phrases that its ends lie in."""
    inserted = switched.inserted
    owner, (start, stop) = switched.places.rows()[inserted], switched.places.flat[inserted].T
    starts, stops = (end.copy() for end in span)
    cut = (start < starts[owner]) & (starts[owner] < stop)  # at most one a row: phrases do not overlap
    starts[owner[cut]] = start[cut]
    cut = (start < stops[owner]) & (stops[owner] < stop)
    stops[owner[cut]] = stop[cut]
    return starts, stops


def _hidden(words: Ragged, switched: Switched, span: Span) -> NDArray[np.bool_]:
    """(T,) whether each subword stands where words of the span stood. words: of switched rows, numbered in them."""
    owner = switched.pieces.rows()
    sizes = (switched.pieces.flat[:, 3] - switched.pieces.flat[:, 2]).astype(np.int64)
    before = np.cumsum(sizes) - sizes
    first = before - np.append(before, 0)[switched.pieces.offsets[:-1] - switched.pieces.offsets[0]][owner]
    width = int(max(words.flat.max(initial=0), first.max(initial=0))) + 1
    piece = np.searchsorted(owner * width + first, words.rows() * width + words.flat, side="right") - 1
    moved = np.where(switched.inserted[piece], 0, words.flat - first[piece])
    place = switched.places.flat[piece, 0] + moved
    starts, stops = span
    return np.asarray((place >= starts[words.rows()]) & (place < stops[words.rows()]), np.bool_)


def _subwords(words: Ragged, span: Span) -> Span:
    """The span of words as a span of subwords."""
    rows, count = words.rows(), len(words)
    starts, stops = (np.bincount(rows[words.flat < end[rows]], minlength=count) for end in span)
    return starts, stops
