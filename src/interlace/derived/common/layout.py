"""Layout of derived lines: from an order of words, or from new spellings, to text with labels and exact links.

Respelling goes by word type and exchanges words: if `a` becomes `b`, `b` becomes `a`. So no two words become one, and
random choices treat a word and its replacement as one.

Legend: L lines, W words of all lines, C characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.derived.common import labels
from interlace.derived.common.characters import (
    CLOSER,
    EXTENDS,
    LETTER,
    MARK,
    RUN,
    TIGHT,
    TRAITS,
)
from interlace.derived.common.texts import DerivedText, unchanged
from interlace.text import Text
from interlace.text.types import distinct
from interlace.text.word_tokenizers.common.characters import code_points, line_starts


class WordSpans(NamedTuple):
    """The characters of a text with the positions of its lines and words.

    codes: (C,) code points of all lines, each followed by a line feed; bytes if all are ASCII, else uint32.
    lines: (L + 1,) the start of each line in `codes`. offsets: (L + 1,) the number of the first word of each line.
    starts, ends: (W,) the span of each word in `codes`.
    """

    codes: NDArray[Any]
    lines: NDArray[np.int64]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, text: Text) -> WordSpans:
        """Locate the words of a text."""
        lines = line_starts(text.lines)
        offsets = text.words.offsets - text.words.offsets[0]
        line_of_word = np.repeat(lines[:-1], np.diff(offsets))  # (W,) the start of each word's line
        spans = text.words.flat
        return cls(
            code_points(text.lines),
            lines,
            offsets,
            spans[:, 0] + line_of_word,
            spans[:, 1] + line_of_word,
        )

    @property
    def bases(self) -> NDArray[np.int64]:
        """(W,) the number of the first word of each word's line."""
        return np.repeat(self.offsets[:-1], np.diff(self.offsets))

    def first_traits(self, words: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the bits (`characters`) of the first character of some words."""
        return TRAITS.of(self.codes[self.starts[words]])

    def last_traits(self, words: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the bits of the last character of some words, ignoring accents."""
        starts = self.starts[words]
        last = self.ends[words] - 1
        traits = TRAITS.of(self.codes[last])
        accented = np.flatnonzero(traits & EXTENDS)
        while len(accented):
            last[accented] -= 1
            accented = accented[last[accented] >= starts[accented]]
            traits[accented] = TRAITS.of(self.codes[last[accented]])
            accented = accented[(traits[accented] & EXTENDS) > 0]
        return traits


@dataclass(frozen=True)
class _Written:
    """Derived lines, and the spans of their words."""

    lines: list[str]
    words: Ragged


def reorder(
    text: Text, words: WordSpans, order: NDArray[np.int64], left_out: NDArray[np.bool_]
) -> DerivedText:
    """Return the words of each line in another order, with all labels.

    Words touch only if they did so in this order before, if both are of a script without blanks, or if the second is a
    sentence-final mark that was left out of the order.

    words: those of the text. order: (W,) the word, counted over all lines, at each place; words stay in their line.
    left_out: (W,) words that had to keep their place.
    """
    written = _write(words, order, words, _separated(words, order, left_out))
    bases = words.bases
    places = np.empty(len(order), np.int64)  # (W,) the place of each word
    places[order] = np.arange(len(order))
    to = places - bases  # (W,) in its line
    links = np.stack([np.arange(len(order)) - bases, to], axis=1).astype(np.int32)
    notes = dict(text.notes)
    tags: dict[str, list[list[str]]] = {}
    for kind, rows in text.tags.items():
        if kind == "names":
            names = labels.moved_names(rows, words.offsets, order)
            tags[kind] = names.tags
            if names.split:
                notes[labels.SPLIT_NAMES] = notes.get(labels.SPLIT_NAMES, 0) + names.split
        else:
            tags[kind] = labels.moved_tags(rows, words.offsets, order)
    derived = replace(text, lines=written.lines, words=written.words, tags=tags, notes=notes)
    if text.heads is not None:
        derived = replace(derived, heads=_moved_heads(text.heads, order, to, words))
    return DerivedText(derived, Ragged(links, words.offsets))


def _moved_heads(
    heads: Ragged, order: NDArray[np.int64], to: NDArray[np.int64], words: WordSpans
) -> Ragged:
    """Return the head of the word at each place, as the place that it moves to."""
    moved = heads.flat.copy()  # (W,)
    has_head = moved >= 0
    moved[has_head] = to[moved[has_head] + words.bases[has_head]]
    return Ragged(moved[order].astype(np.int32), words.offsets)


def _separated(
    words: WordSpans, order: NDArray[np.int64], left_out: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(W,) whether the word at each place must be separated from the word before it.

    Words that did not touch in this order before are separated, with two exceptions (`_may_touch`). A quote right after
    a sentence-final mark that opens what follows and kept its place would close the sentence before, so it is separated
    too.
    """
    touches = np.append(
        False, words.starts[1:] == words.ends[:-1]
    )  # (W,) words that touch the previous word
    separate: NDArray[np.bool_] = np.append(False, order[1:] != order[:-1] + 1)
    gap_moves = ~touches  # the gap before a word moves with it, except at the start of a line
    gap_moves[words.offsets[:-1][np.diff(words.offsets) > 0]] = False
    places = np.flatnonzero(separate & ~gap_moves[order])
    separate[places[_may_touch(words, order[places - 1], order[places], touches, left_out)]] = False
    follows_mark = left_out[:-1] & ~left_out[1:] & touches[1:]
    kept_place = order[1:] == np.arange(1, len(order))
    places = np.flatnonzero(follows_mark & kept_place) + 1
    separate[places[words.first_traits(places) & CLOSER > 0]] = True
    return separate


def _may_touch(
    words: WordSpans,
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    touches: NDArray[np.bool_],
    left_out: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """(n,) whether words may touch that did not before; before, after: (n,) their numbers.

    A sentence-final mark that was left out of the order may touch another word than before, except one letter after a
    period, which would look like an abbreviation. Scripts without blanks get none, except where a closing mark would
    follow a sentence-final mark or a quote and close another quotation.
    """
    first_traits = words.first_traits(after)
    last_traits = words.last_traits(before)
    is_final_mark = left_out[after] & (first_traits & MARK > 0) & (last_traits & (RUN | LETTER) > 0)
    is_abbreviation = touches[before] & (words.ends[before] - words.starts[before] == 1)
    are_tight = (first_traits & last_traits & TIGHT > 0) & (first_traits & EXTENDS == 0)
    closes_other = (first_traits & CLOSER > 0) & (last_traits & (CLOSER | MARK) > 0)
    may_touch: NDArray[np.bool_] = is_final_mark & ~is_abbreviation
    may_touch |= are_tight & ~closes_other
    return may_touch


def respelled(text: Text, spell: Callable[[Sequence[str]], list[str]]) -> DerivedText:
    """Spell every word but `<unk>` as `spell` does; it gets each type of the text once, without white space around."""
    types, numbers = distinct(text)
    words = WordSpans.of(text)
    spellings = [*spell(types), *types]
    numbers = numbers + len(types) * _is_unknown(text, words)  # (W,) the spelling of each word
    codes = np.frombuffer(
        "\n".join([*spellings, ""]).encode("utf-32-le", "surrogatepass"), np.uint32
    )
    bounds = line_starts(spellings)
    spelled = words._replace(codes=codes, starts=bounds[:-1][numbers], ends=bounds[1:][numbers] - 1)
    return _in_place(text, words, spelled)


def relettered(text: Text, table: NDArray[np.uint32]) -> DerivedText:
    """Replace each character of words, except of a literal `<unk>`; table: (0x110000,) its replacement."""
    from interlace.derived.common.kernels import replace_letters

    words = WordSpans.of(text)
    codes = words.codes.astype(np.uint32)
    changed = ~_is_unknown(text, words)
    replace_letters(codes, words.starts[changed], words.ends[changed], table)
    spelled = words._replace(codes=codes)
    if words.codes.dtype != np.uint8 and _merging(words, spelled).any():
        return _in_place(text, words, spelled)
    return unchanged(replace(text, lines=_decoded(codes)))  # nothing moves, so labels stay


def _is_unknown(text: Text, words: WordSpans) -> NDArray[np.bool_]:
    """(W,) whether a word begins in a literal `<unk>`, which WikiText writes and vocabularies read as one token."""
    inside = np.zeros(len(words.codes), np.bool_)
    for match in re.finditer("<unk>", "\n".join(text.lines)):
        inside[match.start() : match.end()] = True
    return inside[words.starts]


def _in_place(text: Text, words: WordSpans, spelled: WordSpans) -> DerivedText:
    """Return the words in their order with other spellings."""
    gaps = words._replace(codes=words.codes.astype(spelled.codes.dtype, copy=False))
    order = np.arange(len(words.starts))
    written = _write(gaps, order, spelled, _merging(words, spelled))
    return unchanged(replace(text, lines=written.lines, words=written.words))


def _merging(words: WordSpans, spelled: WordSpans) -> NDArray[np.bool_]:
    """(W,) whether each word in its new spelling would merge with the previous word, and did not before."""
    before = np.flatnonzero(words.starts[1:] == words.ends[:-1])  # words that touch the next one
    old = words.first_traits(before + 1) & words.last_traits(before) & RUN
    new = spelled.first_traits(before + 1) & spelled.last_traits(before) & RUN
    merging = np.zeros(len(words.starts), np.bool_)
    merging[before + 1] = new > old
    return merging


def _write(
    gaps: WordSpans, order: NDArray[np.int64], spelled: WordSpans, separate: NDArray[np.bool_]
) -> _Written:
    """Write the words of `spelled` in an order, between the gaps of a text; see `kernels.write_lines`."""
    from interlace.derived.common.kernels import write_lines

    gap_size = len(gaps.codes) - int((gaps.ends - gaps.starts).sum())
    size = gap_size + int((spelled.ends - spelled.starts).sum()) + int(np.count_nonzero(separate))
    codes = np.empty(size, spelled.codes.dtype)
    spans = np.empty((len(order), 2), np.int32)
    written = write_lines(gaps, order, spelled, separate, codes, spans)
    return _Written(_decoded(codes[:written]), Ragged(spans, gaps.offsets))


def _decoded(codes: NDArray[Any]) -> list[str]:
    """Return the lines of code points, each of which ends with a line feed."""
    encoding = "ascii" if codes.dtype == np.uint8 else "utf-32-le"
    return codes.tobytes().decode(encoding, "surrogatepass").split("\n")[:-1]


def uniform(words: Sequence[str], key: int) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each word, which depends on its letters and the key alone."""
    from interlace.derived.common.kernels import hash_words

    bounds = line_starts(words)
    bits = np.empty(len(words), np.uint64)
    hash_words(code_points(words), bounds[:-1], bounds[1:] - 1, np.uint64(key), bits)
    return (bits >> np.uint64(11)).astype(np.float64) / 2.0**53


def pair_uniform(old: Sequence[str], new: Sequence[str], key: int) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each pair of a word and its replacement, the same in both directions."""
    return uniform(list(map(min, old, new)), key)
