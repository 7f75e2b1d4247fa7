"""Layout of derived lines: from an order of words, or from new spellings, to text with labels and exact links.

Legend: L lines, W words of all lines, C characters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from interlace.core.ragged import Ragged
from interlace.derived.common.characters import CLOSER, EXTENDS, LETTER, MARK, RUN, TIGHT, at_ends, at_starts
from interlace.derived.common.labels import moved_answers, moved_heads, moved_tags
from interlace.derived.common.texts import DerivedText, identity
from interlace.text.word_tokenizers.common.characters import code_points, line_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.text import Text


class Gaps(NamedTuple):
    """What is between words: the first five arguments of `kernels.write_lines`."""

    codes: NDArray[Any]
    lines: NDArray[np.int64]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


@dataclass(frozen=True)
class TextLayout:
    """The characters of a text with the positions of its lines and words."""

    text: Text

    @cached_property
    def codes(self) -> NDArray[Any]:
        """(C,) code points of all lines, each followed by a line feed; bytes if all are ASCII, else uint32."""
        return code_points(self.text.lines)

    @cached_property
    def lines(self) -> NDArray[np.int64]:
        """(L + 1,) the start of each line in `codes`."""
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
        """What is between the words."""
        return Gaps(self.codes, self.lines, self.offsets, self.starts, self.ends)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(W,) the start of each word in `codes`."""
        return self.text.words.flat[:, 0] + self._begins

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """(W,) the end of each word in `codes`."""
        return self.text.words.flat[:, 1] + self._begins

    @cached_property
    def _begins(self) -> NDArray[np.int64]:
        """(W,) the start of each word's line in `codes`."""
        return np.repeat(self.lines[:-1], np.diff(self.offsets))


def reorder(layout: TextLayout, order: NDArray[np.int64], left_out: NDArray[np.bool_]) -> DerivedText:
    """Return the words of each line in another order, with all labels.

    Words touch only if they did so in this order before, if both are of a script without blanks, or if the second is a
    sentence-final mark that was left out of the order.

    order: (W,) the word, counted over all lines, at each place; words stay in their line.
    left_out: (W,) words that had to keep their place.
    """
    text = layout.text
    separated = _separated(layout, order, left_out)
    lines, spans = _lines_and_spans(layout.gaps, order, layout.codes, layout.starts, layout.ends, separated)
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
    return DerivedText(derived, Ragged(links, layout.offsets))


def respell(layout: TextLayout, types: NDArray[np.int32], spellings: Sequence[str]) -> DerivedText:
    """Return the text with words spelled anew, in their order.

    types: (W,) the type of each word. spellings: of each type, without white space at either end.
    """
    joined = "\n".join([*spellings, ""])
    spelled = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    bounds = line_starts(spellings)
    return _in_place(layout, layout.gaps, spelled, bounds[:-1][types], bounds[1:][types] - 1)


def reletter(layout: TextLayout, table: NDArray[np.uint32]) -> DerivedText:
    """Return the text with each letter of its words replaced.

    table: (0x110000,) the replacement of each code point.
    """
    from interlace.derived.common.kernels import replace_letters

    codes = layout.codes.astype(np.uint32)
    replace_letters(codes, layout.starts, layout.ends, table)
    if layout.codes.dtype != np.uint8 and _merging(layout, codes, layout.starts, layout.ends).any():
        return _in_place(layout, layout.gaps, codes, layout.starts, layout.ends)
    # nothing moves, so labels stay unchanged
    return DerivedText(replace(layout.text, lines=_lines(codes)), identity(layout.text))


def spaced(text: Text) -> Text:
    """Return the text with one blank between all words, and no other white space.

    Splitting at blanks then recovers the same words in any order (`n't` never merges with another word).
    """
    layout = TextLayout(text)
    sizes = np.maximum(np.diff(layout.offsets), 1)  # a blank between words, and a line feed
    lines = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    codes = np.full(lines[-1], ord(" "), layout.codes.dtype)
    at = lines[:-1][layout.rows] + np.arange(len(layout.starts)) - layout.bases
    gaps = Gaps(codes, lines, layout.offsets, at, at)
    return _in_place(layout, gaps, layout.codes, layout.starts, layout.ends).text


def _in_place(
    layout: TextLayout, gaps: Gaps, spelled: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> DerivedText:
    """Return the words in their order with other spellings or other gaps."""
    text = layout.text
    gaps = gaps._replace(codes=gaps.codes.astype(spelled.dtype, copy=False))
    order = np.arange(len(starts))
    lines, spans = _lines_and_spans(gaps, order, spelled, starts, ends, _merging(layout, spelled, starts, ends))
    words = Ragged(spans, layout.offsets)
    answers, notes = moved_answers(text, words, order - layout.bases)
    derived = replace(text, lines=lines, words=words, answers=answers, notes=_added(text.notes, notes))
    return DerivedText(derived, identity(text))


def _separated(layout: TextLayout, order: NDArray[np.int64], left_out: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(W,) whether the word at each place must be separated from the word before it.

    A sentence-final mark that was left out of the order may touch another word than before, except one letter after a
    period, which would look like an abbreviation. Scripts without blanks get none, except where a closing mark would
    follow a sentence-final mark or a quote and close another quotation.
    """
    codes, starts, ends = layout.codes, layout.starts, layout.ends
    separate = np.zeros(len(order), np.bool_)
    separate[1:] = order[1:] != order[:-1] + 1
    alone = np.append(True, starts[1:] > ends[:-1])  # words that do not touch the previous word
    gap_moves = alone.copy()  # the gap before a word moves with it, except at the start of a line
    gap_moves[layout.offsets[:-1][np.diff(layout.offsets) > 0]] = False
    at = np.flatnonzero(separate & ~gap_moves[order])
    before, words = order[at - 1], order[at]
    first, last = at_starts(codes, starts[words]), at_ends(codes, starts[before], ends[before])
    stays = left_out[words] & (first & MARK > 0) & (last & (RUN | LETTER) > 0)
    touch = stays & (alone | (ends - starts > 1))[before]
    tight = (first & last & TIGHT > 0) & (first & EXTENDS == 0)
    touch |= tight & ~((first & CLOSER > 0) & (last & (CLOSER | MARK) > 0))
    separate[at[touch]] = False
    separate[_opening_quotes(layout, order, left_out)] = True
    return separate


def _opening_quotes(layout: TextLayout, order: NDArray[np.int64], left_out: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return quotes right after a sentence-final mark that open what follows and kept their place.

    Followed by something else, such a quote would close the sentence before.
    """
    follows = left_out[:-1] & ~left_out[1:] & (layout.starts[1:] == layout.ends[:-1])
    at = np.flatnonzero(follows & (order[1:] == np.arange(1, len(order)))) + 1
    return at[at_starts(layout.codes, layout.starts[at]) & CLOSER > 0]


def _merging(
    layout: TextLayout, spelled: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(W,) whether each word in its new spelling would merge with the previous word, and did not before."""
    separate = np.zeros(len(starts), np.bool_)
    at = np.flatnonzero(layout.starts[1:] == layout.ends[:-1])
    now, own = (
        at_starts(codes, first[at + 1]) & at_ends(codes, first[at], last[at]) & RUN
        for codes, first, last in ((spelled, starts, ends), (layout.codes, layout.starts, layout.ends))
    )
    separate[at + 1] = now > own
    return separate


def _lines_and_spans(
    gaps: Gaps,
    order: NDArray[np.int64],
    spelled: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    separate: NDArray[np.bool_],
) -> tuple[list[str], NDArray[np.int32]]:
    """Return the lines, and the span of the word at each place."""
    from interlace.derived.common.kernels import write_lines

    between = len(gaps.codes) - int((gaps.ends - gaps.starts).sum())
    out = np.empty(between + int((ends - starts).sum()) + int(np.count_nonzero(separate)), spelled.dtype)
    spans = np.empty((len(order), 2), np.int32)
    size = write_lines(*gaps, order, spelled, starts, ends, separate, out, spans)
    return _lines(out[:size]), spans


def _lines(codes: NDArray[Any]) -> list[str]:
    data = codes.tobytes()
    whole = data.decode("ascii") if codes.dtype == np.uint8 else data.decode("utf-32-le", "surrogatepass")
    return whole.split("\n")[:-1]


def _added(*notes: dict[str, int]) -> dict[str, int]:
    """Add up notes; counts of zero are left out."""
    sums: dict[str, int] = {}
    for some in notes:
        for what, count in some.items():
            sums[what] = sums.get(what, 0) + count
    return {what: count for what, count in sums.items() if count}
