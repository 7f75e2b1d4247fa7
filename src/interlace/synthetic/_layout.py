"""Derived lines: from an order of words, or from new spellings, to text with its labels and exact links.

Legend: L lines, W words of all lines, C characters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.ragged import Ragged
from interlace.synthetic import Derived
from interlace.synthetic._answers import moved_answers
from interlace.synthetic._parts import same_words
from interlace.synthetic._tags import moved_heads, moved_tags
from interlace.text.words._characters import code_points, line_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text


@dataclass(frozen=True)
class Layout:
    """The characters of a text and where its lines and words stand in them."""

    text: Text

    @cached_property
    def codes(self) -> NDArray[Any]:
        """(C,) code points of all lines, each followed by a line feed; bytes where all is ASCII, else uint32."""
        return code_points(self.text.lines)

    @cached_property
    def lines(self) -> NDArray[np.int64]:
        """(L + 1,) where each line begins in `codes`."""
        return line_starts(self.text.lines)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """(L + 1,) the number of the first word of each line."""
        offsets: NDArray[np.int64] = self.text.words.offsets - self.text.words.offsets[0]
        return offsets

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(W,) the line of each word."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def spans(self) -> NDArray[np.int64]:
        """(W, 2) where each word begins and ends in `codes`."""
        spans: NDArray[np.int64] = self.text.words.flat + self.lines[:-1][self.rows][:, None]
        return spans

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(W,) where each word begins in `codes`."""
        return np.ascontiguousarray(self.spans[:, 0])

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """(W,) where each word ends in `codes`."""
        return np.ascontiguousarray(self.spans[:, 1])


def reordered(layout: Layout, order: NDArray[np.int64]) -> Derived:
    """The words of each line in another order, all labels with them.

    order: (W,) the word, counted over all lines, that comes to stand at each place; no word leaves its line.
    """
    text = layout.text
    lines, spans = _written(layout, order, layout.codes, layout.starts, layout.ends, len(layout.codes))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    base = np.repeat(layout.offsets[:-1], np.diff(layout.offsets))
    own = np.arange(len(order)) - base
    to = places - base
    links = np.stack([own, to], axis=1).astype(np.int32)
    tags, notes = moved_tags(text, layout.offsets, order)
    words = Ragged(spans, layout.offsets)
    answers, more = moved_answers(text, words, to.astype(np.int64))
    derived = replace(
        text, lines=lines, words=words, tags=tags, answers=answers, notes=_added(text.notes, notes, more),
        heads=moved_heads(text.heads, order, to),
    )  # fmt: skip
    return Derived(derived, Ragged(links, layout.offsets))


def respelt(layout: Layout, types: NDArray[np.int32], spellings: list[str]) -> Derived:
    """Words spelt anew, in their order.

    types: (W,) the type of each word. spellings: how each type is written now, without white space at its ends.
    """
    text = layout.text
    joined = "\n".join([*spellings, ""])
    spelt = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    bounds = line_starts(spellings)
    starts, ends = bounds[:-1][types], bounds[1:][types] - 1
    total = len(layout.codes) + int((ends - starts).sum() - (layout.ends - layout.starts).sum())
    order = np.arange(len(types))
    wide = replace(layout)  # the same text; gaps must be as wide as words
    wide.__dict__["codes"] = layout.codes.astype(np.uint32, copy=False)
    lines, spans = _written(wide, order, spelt, starts, ends, total)
    words = Ragged(spans, layout.offsets)
    own = order - np.repeat(layout.offsets[:-1], np.diff(layout.offsets))
    answers, notes = moved_answers(text, words, own)
    derived = replace(text, lines=lines, words=words, answers=answers, notes=_added(text.notes, notes))
    return Derived(derived, same_words(text))


def _written(
    layout: Layout,
    order: NDArray[np.int64],
    spelt: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    total: int,
) -> tuple[list[str], NDArray[np.int32]]:
    """The lines, and the span of the word at each place."""
    from interlace.synthetic._layout_kernels import write_lines

    out = np.empty(total, spelt.dtype)
    spans = np.empty((len(order), 2), np.int32)
    places = (layout.lines, layout.offsets, layout.starts, layout.ends)
    write_lines(layout.codes, *places, order, spelt, starts, ends, out, spans)
    narrow = out.dtype == np.uint8
    data = out.tobytes()
    whole = data.decode("ascii") if narrow else data.decode("utf-32-le", "surrogatepass")
    return whole.split("\n")[:-1], spans


def _added(*notes: dict[str, int]) -> dict[str, int]:
    """Notes of several steps in one; what never came up is left out."""
    sums: dict[str, int] = {}
    for some in notes:
        for what, count in some.items():
            sums[what] = sums.get(what, 0) + count
    return {what: count for what, count in sums.items() if count}
