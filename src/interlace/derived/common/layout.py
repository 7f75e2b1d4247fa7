"""Layout of derived lines: from an order of words, or from new spellings, to text with labels and an exact alignment.

Respelling goes by word type and exchanges words: if `a` becomes `b`, `b` becomes `a`. So no two words become one, and
random choices treat a word and its replacement as one.

Legend: L lines, W words of all lines, C characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged, ranges
from interlace.derived.common import labels
from interlace.derived.common.arrays import Bytes, Codes, Flags, Ints
from interlace.derived.common.characters import (
    CLOSER,
    EXTENDS,
    LETTER,
    MARK,
    RUN,
    TIGHT,
    TRAITS,
)
from interlace.derived.common.texts import DerivedText, first_words, unchanged
from interlace.text import Text
from interlace.text.characters import code_points, line_starts
from interlace.text.types import distinct


class WordSpans(NamedTuple):
    """The characters of a text with the positions of its lines and words.

    codes: (C,) code points of all lines, each followed by a line feed; bytes if all are ASCII, else uint32.
    lines: (L + 1,) the start of each line in `codes`. offsets: (L + 1,) the number of the first word of each line.
    starts, ends: (W,) the span of each word in `codes`.
    """

    codes: Codes
    lines: Ints
    offsets: Ints
    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, text: Text) -> WordSpans:
        """Locate the words of a text."""
        lines = line_starts(text.lines)
        offsets = text.words.offsets - text.words.offsets[0]
        # (W,) the start of each word's line
        line_of_word = np.repeat(lines[:-1], np.diff(offsets))
        starts = text.words.flat[:, 0] + line_of_word
        ends = text.words.flat[:, 1] + line_of_word
        return cls(code_points(text.lines), lines, offsets, starts, ends)

    @property
    def touches(self) -> Flags:
        """(W,) whether each word touches the previous one."""
        touches = np.zeros(len(self.starts), np.bool_)
        touches[1:] = self.starts[1:] == self.ends[:-1]
        return touches

    def first_traits(self, words: Ints) -> Bytes:
        """Return the bits (`characters`) of the first character of some words."""
        return TRAITS.of(self.codes[self.starts[words]])

    def last_traits(self, words: Ints) -> Bytes:
        """Return the bits of the last character of some words, ignoring accents."""
        last = self.ends[words] - 1
        traits = TRAITS.of(self.codes[last])
        while True:
            is_accent = (traits & EXTENDS > 0) & (last > self.starts[words])
            if not is_accent.any():
                return traits
            last -= is_accent
            traits = TRAITS.of(self.codes[last])


def reorder(
    text: Text,
    words: WordSpans,
    order: Ints,
    left_out: Flags,
) -> DerivedText:
    """Return the words of each line in another order, with all labels.

    Words touch only if they did so in this order before, if both are of a script without blanks, or if the second is a
    sentence-final mark that was left out of the order.

    words: those of the text. order: (W,) the word, counted over all lines, at each place; words stay in their line.
    left_out: (W,) words that had to keep their place.
    """
    places = np.empty(len(order), np.int64)  # (W,) the place of each word in its line
    places[order] = text.words.columns()
    notes = dict(text.notes)
    tags: dict[str, list[list[str]]] = {}
    for kind, rows in text.tags.items():
        if kind == "names":
            tags[kind] = labels.moved_names(rows, words.offsets, order, notes)
        else:
            tags[kind] = labels.moved_tags(rows, words.offsets, order)
    derived = _written(text, words, order, words, _separated(words, order, left_out))
    derived = replace(derived, tags=tags, notes=notes)
    if text.heads is not None:
        heads = text.heads.flat
        # a root, -1, gets the place of some word here, which is not used
        places_of_heads = places[heads + first_words(text.words)]
        moved_heads = np.where(heads < 0, -1, places_of_heads)[order]
        heads_by_line = Ragged(moved_heads.astype(np.int32), words.offsets)
        derived = replace(derived, heads=heads_by_line)
    return DerivedText(derived, places)


def _separated(words: WordSpans, order: Ints, left_out: Flags) -> Flags:
    """(W,) whether the word at each place must be separated from the word before it.

    Words that did not touch in this order before are separated, with two exceptions (`_may_touch`). A quote right after
    a sentence-final mark that opens what follows and kept its place would close the sentence before, so it is separated
    too.
    """
    touches = words.touches
    separate = np.zeros(len(order), np.bool_)
    separate[1:] = order[1:] != order[:-1] + 1
    gap_moves = ~touches  # the gap before a word moves with it, except at the start of a line
    is_filled = np.diff(words.offsets) > 0  # (L,)
    gap_moves[words.offsets[:-1][is_filled]] = False
    places = np.flatnonzero(separate & ~gap_moves[order])
    before = order[places - 1]
    after = order[places]
    separate[places[_may_touch(words, before, after, touches, left_out)]] = False
    follows_mark = left_out[:-1] & ~left_out[1:] & touches[1:]
    kept_place = order[1:] == np.arange(1, len(order))
    places = np.flatnonzero(follows_mark & kept_place) + 1
    separate[places[words.first_traits(places) & CLOSER > 0]] = True
    return separate


def _may_touch(
    words: WordSpans,
    before: Ints,
    after: Ints,
    touches: Flags,
    left_out: Flags,
) -> Flags:
    """(n,) whether words may touch that did not before; before, after: (n,) their numbers.

    A sentence-final mark that was left out of the order may touch another word than before, except one letter after a
    period, which would look like an abbreviation. Scripts without blanks get none, except where a closing mark would
    follow a sentence-final mark or a quote and close another quotation.
    """
    first_traits = words.first_traits(after)
    last_traits = words.last_traits(before)
    is_mark = first_traits & MARK > 0
    follows_letter = last_traits & (RUN | LETTER) > 0
    is_one_letter = words.ends[before] - words.starts[before] == 1
    is_abbreviation = touches[before] & is_one_letter
    is_final_mark = left_out[after] & is_mark & follows_letter & ~is_abbreviation
    is_accent = first_traits & EXTENDS > 0
    are_tight = (first_traits & last_traits & TIGHT > 0) & ~is_accent
    is_closer = first_traits & CLOSER > 0
    follows_mark = last_traits & (CLOSER | MARK) > 0
    return is_final_mark | (are_tight & ~(is_closer & follows_mark))


def respelled(text: Text, spell: Callable[[Sequence[str]], list[str]]) -> DerivedText:
    """Spell every word but `<unk>` as `spell` does; it gets each type of the text once, without white space around."""
    types, numbers = distinct(text)
    words = WordSpans.of(text)
    spellings = [*spell(types), *types]
    numbers = numbers + len(types) * _is_unknown(text, words)  # (W,) the spelling of each word
    bounds = line_starts(spellings)
    starts = bounds[:-1][numbers]
    ends = bounds[1:][numbers] - 1
    return _in_place(
        text, words, words._replace(codes=code_points(spellings), starts=starts, ends=ends)
    )


def relettered(text: Text, table: NDArray[np.uint32]) -> DerivedText:
    """Replace each character of words, except of a literal `<unk>`; table: (0x110000,) its replacement."""
    words = WordSpans.of(text)
    codes = table[words.codes]
    is_unknown = _is_unknown(text, words)
    starts = words.starts[is_unknown]
    unknown = ranges(starts, words.ends[is_unknown] - starts)
    codes[unknown] = words.codes[unknown]
    return _in_place(text, words, words._replace(codes=codes))


def _is_unknown(text: Text, words: WordSpans) -> Flags:
    """(W,) whether a word begins in a literal `<unk>`, which WikiText writes and vocabularies read as one token."""
    inside = np.zeros(len(words.codes), np.bool_)
    for match in re.finditer("<unk>", "\n".join(text.lines)):
        inside[match.start() : match.end()] = True
    return inside[words.starts]


def _in_place(text: Text, words: WordSpans, spelled: WordSpans) -> DerivedText:
    """Return the words in their order with other spellings."""
    order = np.arange(len(words.starts))
    return unchanged(_written(text, words, order, spelled, _merging(words, spelled)))


def _merging(words: WordSpans, spelled: WordSpans) -> Flags:
    """(W,) whether each word in its new spelling would merge with the previous word, and did not before."""
    merging = words.touches
    after = np.flatnonzero(merging)
    old = words.first_traits(after) & words.last_traits(after - 1) & RUN
    new = spelled.first_traits(after) & spelled.last_traits(after - 1) & RUN
    merging[after] = new > old
    return merging


def _written(
    text: Text,
    words: WordSpans,
    order: Ints,
    spelled: WordSpans,
    separate: Flags,
) -> Text:
    """Return a text with the words of `spelled` in an order between its gaps; see `kernels.write_lines`."""
    from interlace.derived.common.kernels import write_lines

    word_size = np.sum(words.ends - words.starts)
    spelled_size = np.sum(spelled.ends - spelled.starts)
    size = len(words.codes) - word_size + spelled_size + np.count_nonzero(separate)
    codes = np.empty(size, np.result_type(words.codes, spelled.codes))
    spans = np.empty((len(order), 2), np.int32)
    size = write_lines(words, order, spelled, separate, codes, spans)
    encoding = "ascii" if codes.dtype == np.uint8 else "utf-32-le"
    content = codes[:size].tobytes().decode(encoding, "surrogatepass")
    lines = content.split("\n")[:-1]
    return replace(text, lines=lines, words=Ragged(spans, words.offsets))
