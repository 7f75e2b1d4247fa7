"""Layout of derived lines: from an order of words, or from new spellings, to text with labels and exact links.

Respelling goes by word type and exchanges words: if `a` becomes `b`, `b` becomes `a`. So no two words become one, and
random choices treat a word and its replacement as one.

Legend: L lines, W words of all lines, C characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.derived.common.characters import CLOSER, EXTENDS, LETTER, MARK, RUN, TIGHT, at_ends, at_starts
from interlace.derived.common.texts import DerivedText, added, moved_answers, moved_tags, unchanged
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
        lines, offsets = line_starts(text.lines), text.words.offsets - text.words.offsets[0]
        base = np.repeat(lines[:-1], np.diff(offsets))
        return cls(code_points(text.lines), lines, offsets, text.words.flat[:, 0] + base, text.words.flat[:, 1] + base)

    @property
    def bases(self) -> NDArray[np.int64]:
        """(W,) the number of the first word of each word's line."""
        return np.repeat(self.offsets[:-1], np.diff(self.offsets))


def reorder(text: Text, words: WordSpans, order: NDArray[np.int64], left_out: NDArray[np.bool_]) -> DerivedText:
    """Return the words of each line in another order, with all labels.

    Words touch only if they did so in this order before, if both are of a script without blanks, or if the second is a
    sentence-final mark that was left out of the order.

    words: those of the text. order: (W,) the word, counted over all lines, at each place; words stay in their line.
    left_out: (W,) words that had to keep their place.
    """
    lines, spans = _lines_and_spans(words, order, words, _separated(words, order, left_out))
    bases, places = words.bases, np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    to = places - bases
    links = np.stack([np.arange(len(order)) - bases, to], axis=1).astype(np.int32)
    tags, split = moved_tags(text, words.offsets, order)
    answers, lost = moved_answers(text, spans, to)
    heads = text.heads
    if heads is not None:
        moved = heads.flat.copy()
        inner = moved >= 0
        moved[inner] = to[moved[inner] + bases[inner]]
        heads = Ragged(moved[order].astype(np.int32), words.offsets)
    notes = added(text.notes, split, lost)
    derived = replace(text, lines=lines, words=spans, tags=tags, answers=answers, notes=notes, heads=heads)
    return DerivedText(derived, Ragged(links, words.offsets))


def _separated(words: WordSpans, order: NDArray[np.int64], left_out: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(W,) whether the word at each place must be separated from the word before it.

    A sentence-final mark that was left out of the order may touch another word than before, except one letter after a
    period, which would look like an abbreviation. Scripts without blanks get none, except where a closing mark would
    follow a sentence-final mark or a quote and close another quotation. A quote right after a sentence-final mark that
    opens what follows and kept its place would close the sentence before.
    """
    codes, _, offsets, starts, ends = words
    separate = np.zeros(len(order), np.bool_)
    separate[1:] = order[1:] != order[:-1] + 1
    alone = np.append(True, starts[1:] > ends[:-1])  # words that do not touch the previous word
    gap_moves = alone.copy()  # the gap before a word moves with it, except at the start of a line
    gap_moves[offsets[:-1][np.diff(offsets) > 0]] = False
    at = np.flatnonzero(separate & ~gap_moves[order])
    before, after = order[at - 1], order[at]
    first, last = at_starts(codes, starts[after]), at_ends(codes, starts[before], ends[before])
    stays = left_out[after] & (first & MARK > 0) & (last & (RUN | LETTER) > 0)
    touch = stays & (alone | (ends - starts > 1))[before]
    tight = (first & last & TIGHT > 0) & (first & EXTENDS == 0)
    touch |= tight & ~((first & CLOSER > 0) & (last & (CLOSER | MARK) > 0))
    separate[at[touch]] = False
    follows = left_out[:-1] & ~left_out[1:] & (starts[1:] == ends[:-1])
    at = np.flatnonzero(follows & (order[1:] == np.arange(1, len(order)))) + 1
    separate[at[at_starts(codes, starts[at]) & CLOSER > 0]] = True
    return separate


def respelled(text: Text, spell: Callable[[Sequence[str]], list[str]]) -> DerivedText:
    """Spell every word but `<unk>` as `spell` does; it gets each type of the text once, without white space around."""
    types, numbers = distinct(text)
    words = WordSpans.of(text)
    spellings = [*spell(types), *types]
    numbers = numbers + len(types) * _unknown(text, words)
    codes = np.frombuffer("\n".join([*spellings, ""]).encode("utf-32-le", "surrogatepass"), np.uint32)
    bounds = line_starts(spellings)
    spelled = words._replace(codes=codes, starts=bounds[:-1][numbers], ends=bounds[1:][numbers] - 1)
    return _in_place(text, words, spelled)


def relettered(text: Text, table: NDArray[np.uint32]) -> DerivedText:
    """Replace each character of words, except of a literal `<unk>`; table: (0x110000,) its replacement."""
    from interlace.derived.common.kernels import replace_letters

    words = WordSpans.of(text)
    codes = words.codes.astype(np.uint32)
    changed = ~_unknown(text, words)
    replace_letters(codes, words.starts[changed], words.ends[changed], table)
    spelled = words._replace(codes=codes)
    if words.codes.dtype != np.uint8 and _merging(words, spelled).any():
        return _in_place(text, words, spelled)
    return unchanged(replace(text, lines=_lines(codes)))  # nothing moves, so labels stay


def _unknown(text: Text, words: WordSpans) -> NDArray[np.bool_]:
    """(W,) whether a word begins in a literal `<unk>`, which WikiText writes and vocabularies read as one token."""
    inside = np.zeros(len(words.codes), np.bool_)
    for found in re.finditer("<unk>", "\n".join(text.lines)):
        inside[found.start() : found.end()] = True
    return inside[words.starts]


def _in_place(text: Text, words: WordSpans, spelled: WordSpans) -> DerivedText:
    """Return the words in their order with other spellings."""
    gaps = words._replace(codes=words.codes.astype(spelled.codes.dtype, copy=False))
    order = np.arange(len(words.starts))
    lines, spans = _lines_and_spans(gaps, order, spelled, _merging(words, spelled))
    answers, lost = moved_answers(text, spans, order - words.bases)
    notes = added(text.notes, lost)
    return unchanged(replace(text, lines=lines, words=spans, answers=answers, notes=notes))


def _merging(words: WordSpans, spelled: WordSpans) -> NDArray[np.bool_]:
    """(W,) whether each word in its new spelling would merge with the previous word, and did not before."""
    separate = np.zeros(len(words.starts), np.bool_)
    at = np.flatnonzero(words.starts[1:] == words.ends[:-1])
    old, new = (
        at_starts(side.codes, side.starts[at + 1]) & at_ends(side.codes, side.starts[at], side.ends[at]) & RUN
        for side in (words, spelled)
    )
    separate[at + 1] = new > old
    return separate


def _lines_and_spans(
    gaps: WordSpans, order: NDArray[np.int64], spelled: WordSpans, separate: NDArray[np.bool_]
) -> tuple[list[str], Ragged]:
    """Return the lines, and the span of the word at each place."""
    from interlace.derived.common.kernels import write_lines

    between = len(gaps.codes) - int((gaps.ends - gaps.starts).sum())
    size = between + int((spelled.ends - spelled.starts).sum()) + int(np.count_nonzero(separate))
    out, spans = np.empty(size, spelled.codes.dtype), np.empty((len(order), 2), np.int32)
    written = write_lines(gaps, order, spelled, separate, out, spans)
    return _lines(out[:written]), Ragged(spans, gaps.offsets)


def _lines(codes: NDArray[Any]) -> list[str]:
    data = codes.tobytes()
    whole = data.decode("ascii") if codes.dtype == np.uint8 else data.decode("utf-32-le", "surrogatepass")
    return whole.split("\n")[:-1]


def uniform(words: Sequence[str], key: int) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each word, which depends on its letters and the key alone."""
    from interlace.derived.common.kernels import hash_words

    bounds, bits = line_starts(words), np.empty(len(words), np.uint64)
    hash_words(code_points(words), bounds[:-1], bounds[1:] - 1, np.uint64(key), bits)
    return (bits >> np.uint64(11)).astype(np.float64) / 2.0**53


def pair_uniform(old: Sequence[str], new: Sequence[str], key: int) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each pair of a word and its replacement, the same in both directions."""
    return uniform(list(map(min, old, new)), key)
