"""Derived lines: from an order of words, or from new spellings, to text with its labels and exact links.

Legend: L lines, W words of all lines, C characters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from interlace.core.ragged import Ragged
from interlace.derived import Derived
from interlace.derived._answers import moved_answers
from interlace.derived._borders import CLOSER, EXTENDS, LETTER, MARK, RUN, TIGHT, at_ends, at_starts
from interlace.derived._parts import same_words
from interlace.derived._tags import moved_heads, moved_tags
from interlace.text.words._characters import code_points, line_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.text import Text


class Gaps(NamedTuple):
    """What stands around words, as the first five arguments of `_layout_kernels.write_lines`."""

    codes: NDArray[Any]
    lines: NDArray[np.int64]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


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
    def bases(self) -> NDArray[np.int64]:
        """(W,) the number of the first word of each word's line."""
        return self.offsets[:-1][self.rows]

    @cached_property
    def gaps(self) -> Gaps:
        """What stands around the words."""
        return Gaps(self.codes, self.lines, self.offsets, self.starts, self.ends)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(W,) where each word begins in `codes`."""
        return self.text.words.flat[:, 0] + self._begins

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """(W,) where each word ends in `codes`."""
        return self.text.words.flat[:, 1] + self._begins

    @cached_property
    def _begins(self) -> NDArray[np.int64]:
        """(W,) where each word's line begins in `codes`."""
        return np.repeat(self.lines[:-1], np.diff(self.offsets))


def reordered(layout: Layout, order: NDArray[np.int64], left_out: NDArray[np.bool_]) -> Derived:
    """The words of each line in another order, all labels with them.

    Words touch only where they did so in this order before, where both are of a script without blanks, or where the
    second is an end mark that was left out of the order.

    order: (W,) the word, counted over all lines, that comes to stand at each place; no word leaves its line.
    left_out: (W,) words that had to stay at their place; others may have come to stand there again.
    """
    text = layout.text
    strangers = _strangers(layout, order, left_out)
    lines, spans = _written(layout.gaps, order, layout.codes, layout.starts, layout.ends, strangers)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    to = places - layout.bases
    links = np.stack([np.arange(len(order)) - layout.bases, to], axis=1).astype(np.int32)
    tags, notes = moved_tags(text, layout.offsets, order)
    words = Ragged(spans, layout.offsets)
    answers, more = moved_answers(text, words, to)
    heads = moved_heads(text.heads, order, to)
    notes = _added(text.notes, notes, more)
    derived = replace(text, lines=lines, words=words, tags=tags, answers=answers, notes=notes, heads=heads)
    return Derived(derived, Ragged(links, layout.offsets))


def respelt(layout: Layout, types: NDArray[np.int32], spellings: Sequence[str]) -> Derived:
    """Words spelt anew, in their order.

    types: (W,) the type of each word. spellings: how each type is written now, without white space at its ends.
    """
    joined = "\n".join([*spellings, ""])
    spelt = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    bounds = line_starts(spellings)
    return _in_place(layout, layout.gaps, spelt, bounds[:-1][types], bounds[1:][types] - 1)


def relettered(layout: Layout, table: NDArray[np.uint32]) -> Derived:
    """Letters of words exchanged one by one, in their order.

    table: (0x110000,) the code point that takes the place of each.
    """
    from interlace.derived._layout_kernels import change_letters

    codes = layout.codes.astype(np.uint32)
    change_letters(codes, layout.starts, layout.ends, table)
    if layout.codes.dtype != np.uint8 and _grown_together(layout, codes, layout.starts, layout.ends).any():
        return _in_place(layout, layout.gaps, codes, layout.starts, layout.ends)
    # Nothing moves, so all that belongs to words stays as it is.
    return Derived(replace(layout.text, lines=_lines(codes)), same_words(layout.text))


def spaced(text: Text) -> Text:
    """The text with one blank between all words, and nothing before or behind them.

    What is split at blanks has the same words again, whatever changed their order: `n't` stays apart from what it
    comes to stand behind.
    """
    layout = Layout(text)
    sizes = np.maximum(np.diff(layout.offsets), 1)  # a blank between words, and a line feed
    lines = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    codes = np.full(lines[-1], ord(" "), layout.codes.dtype)
    at = lines[:-1][layout.rows] + np.arange(len(layout.starts)) - layout.bases
    gaps = Gaps(codes, lines, layout.offsets, at, at)
    return _in_place(layout, gaps, layout.codes, layout.starts, layout.ends).text


def _in_place(
    layout: Layout, gaps: Gaps, spelt: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Derived:
    """Words in their order with other letters or other gaps."""
    text = layout.text
    gaps = gaps._replace(codes=gaps.codes.astype(spelt.dtype, copy=False))
    order = np.arange(len(starts))
    lines, spans = _written(gaps, order, spelt, starts, ends, _grown_together(layout, spelt, starts, ends))
    words = Ragged(spans, layout.offsets)
    answers, notes = moved_answers(text, words, order - layout.bases)
    derived = replace(text, lines=lines, words=words, answers=answers, notes=_added(text.notes, notes))
    return Derived(derived, same_words(text))


def _strangers(layout: Layout, order: NDArray[np.int64], left_out: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(W,) whether the word at each place has come to stand behind one that it must not touch.

    An end mark that was left out of the order may touch another word than before, but for one letter behind a period,
    with which it would look like an abbreviation. Scripts without blanks stay without; but what closes a quotation
    would close another one right behind a mark or a quote.
    """
    codes, starts, ends = layout.codes, layout.starts, layout.ends
    apart = np.zeros(len(order), np.bool_)
    apart[1:] = order[1:] != order[:-1] + 1
    alone = np.append(True, starts[1:] > ends[:-1])  # nothing touches them from the front
    taken_along = alone.copy()  # what parts them is, by all but the first of a line
    taken_along[layout.offsets[:-1][np.diff(layout.offsets) > 0]] = False
    at = np.flatnonzero(apart & ~taken_along[order])
    before, words = order[at - 1], order[at]
    first, last = at_starts(codes, starts[words]), at_ends(codes, starts[before], ends[before])
    stays = left_out[words] & (first & MARK > 0) & (last & (RUN | LETTER) > 0)
    touch = stays & (alone | (ends - starts > 1))[before]
    tight = (first & last & TIGHT > 0) & (first & EXTENDS == 0)
    touch |= tight & ~((first & CLOSER > 0) & (last & (CLOSER | MARK) > 0))
    apart[at[touch]] = False
    apart[_opening(layout, order, left_out)] = True
    return apart


def _opening(layout: Layout, order: NDArray[np.int64], left_out: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Quotes right behind an end mark that open what follows, and are still there.

    With something else behind it, such a quote would close what the mark ends.
    """
    follows = left_out[:-1] & ~left_out[1:] & (layout.starts[1:] == layout.ends[:-1])
    at = np.flatnonzero(follows & (order[1:] == np.arange(1, len(order)))) + 1
    return at[at_starts(layout.codes, layout.starts[at]) & CLOSER > 0]


def _grown_together(
    layout: Layout, spelt: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(W,) whether each word, as it is spelt now, would be one with the word that it touches, and was not before."""
    apart = np.zeros(len(starts), np.bool_)
    at = np.flatnonzero(layout.starts[1:] == layout.ends[:-1])
    now, own = (
        at_starts(codes, first[at + 1]) & at_ends(codes, first[at], last[at]) & RUN
        for codes, first, last in ((spelt, starts, ends), (layout.codes, layout.starts, layout.ends))
    )
    apart[at + 1] = now > own
    return apart


def _written(
    gaps: Gaps,
    order: NDArray[np.int64],
    spelt: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    apart: NDArray[np.bool_],
) -> tuple[list[str], NDArray[np.int32]]:
    """The lines, and the span of the word at each place."""
    from interlace.derived._layout_kernels import write_lines

    between = len(gaps.codes) - int((gaps.ends - gaps.starts).sum())
    out = np.empty(between + int((ends - starts).sum()) + int(np.count_nonzero(apart)), spelt.dtype)
    spans = np.empty((len(order), 2), np.int32)
    size = write_lines(*gaps, order, spelt, starts, ends, apart, out, spans)
    return _lines(out[:size]), spans


def _lines(codes: NDArray[Any]) -> list[str]:
    data = codes.tobytes()
    whole = data.decode("ascii") if codes.dtype == np.uint8 else data.decode("utf-32-le", "surrogatepass")
    return whole.split("\n")[:-1]


def _added(*notes: dict[str, int]) -> dict[str, int]:
    """Notes of several steps in one; what never came up is left out."""
    sums: dict[str, int] = {}
    for some in notes:
        for what, count in some.items():
            sums[what] = sums.get(what, 0) + count
    return {what: count for what, count in sums.items() if count}
