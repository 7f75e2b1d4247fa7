"""Where in its line each subword stands, white space around it left out.

Legend: n lines; T subwords, C characters of all lines; every line is followed by one line feed.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.text.words._characters import code_points, is_space, line_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Encoding


def character_spans(lines: Sequence[str], encodings: Sequence[Encoding], blank: NDArray[np.bool_]) -> Ragged:
    """A row a line of (start, end) characters of each subword, shape (T, 2) int32, in the line as it was given.

    Of subwords that share a character (bytes of a letter) each has all of it. One that is white space only starts where
    the next one does and ends where the one before it does, at or before its start.

    blank: (T,) whether a subword spells nothing but white space. Tokenizers that put a blank before a line say that it
    stands on the line's first character, so offsets do not tell.
    """
    lengths = np.fromiter((len(encoding) for encoding in encodings), np.int64, len(encodings))
    flat = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
    spans = np.fromiter(flat, np.int64, 2 * int(lengths.sum())).reshape(-1, 2)
    spans[blank, 1] = spans[blank, 0]
    return Ragged.from_lengths(_trimmed(spans, np.repeat(np.arange(len(lines)), lengths), lines), lengths)


def _trimmed(spans: NDArray[np.int64], rows: NDArray[np.int64], lines: Sequence[str]) -> NDArray[np.int32]:
    spaces = is_space(code_points(lines))
    places = np.arange(len(spaces))
    following = np.where(spaces, len(spaces), places)  # the first character at or after each that is no space
    following = np.minimum.accumulate(following[::-1])[::-1]
    before = np.zeros(len(spaces) + 1, np.int64)  # the end of the last character before each that is no space
    np.maximum.accumulate(np.where(spaces, 0, places + 1), out=before[1:])
    starts = line_starts(lines)
    first, last = starts[rows], starts[rows + 1] - 1  # of the line, without its line feed
    trimmed = np.empty(spans.shape, np.int32)
    trimmed[:, 0] = np.minimum(following[first + spans[:, 0]], last) - first
    trimmed[:, 1] = np.maximum(before[first + spans[:, 1]], first) - first
    return trimmed


def subwords_in_span(characters: Ragged, rows: NDArray[np.int64], spans: NDArray[np.int32]) -> NDArray[np.int32]:
    """(q, 2) first and last subword that hold characters of a span of a line; (-1, -1) where there is none.

    characters: as `character_spans` gives them. rows: (q,) the line of each span. spans: (q, 2) start and end
    characters; a negative start asks for none.
    """
    width = 2 + max(int(characters.flat.max(initial=0)), int(spans.max(initial=0)))
    base = characters.rows() * width
    starts, ends = (np.maximum.accumulate(base + characters.flat[:, side]) for side in (0, 1))
    origin = characters.offsets[rows] - characters.offsets[0]
    first = np.searchsorted(ends, rows * width + spans[:, 0], side="right") - origin
    last = np.searchsorted(starts, rows * width + spans[:, 1], side="left") - 1 - origin
    found = (spans[:, 0] >= 0) & (first <= last) & (last < characters.lengths[rows])
    return np.where(found[:, None], np.stack([first, last], axis=1), -1).astype(np.int32)
