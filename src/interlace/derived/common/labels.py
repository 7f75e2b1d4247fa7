"""Labels that follow their words to new places: tags, names in IOB2, heads of trees, and answer spans."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from interlace.text import Text

Span = tuple[int, int]
NOWHERE: Span = (-1, -1)
SPLIT_NAMES = "names split because their words are no longer adjacent"
SPLIT_ANSWERS = "answers lost because their words are no longer adjacent"
_OUTSIDE, _BEGINS, _INSIDE = range(3)


class _Numbers(dict[str, int]):
    """Numbers strings in the order of their first occurrence."""

    def __missing__(self, string: str) -> int:
        self[string] = len(self)
        return self[string]


def numbered(strings: Iterable[str], count: int) -> tuple[NDArray[np.int32], list[str]]:
    """Return the number of each string (count,) and the distinct strings, without a Python loop."""
    numbers = _Numbers()
    return np.fromiter(map(numbers.__getitem__, strings), np.int32, count), list(numbers)


# ---- tags and trees ----


def moved_tags(
    text: Text, offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[dict[str, list[list[str]]], dict[str, int]]:
    """Return all tags in the new order of words, names as IOB2; and how many names were split.

    offsets: (L + 1,) the words of each line. order: (W,) the word at each place.
    """
    tags, notes = {}, {}
    for kind, rows in text.tags.items():
        if kind == "names":
            tags[kind], notes[SPLIT_NAMES] = _moved_names(rows, offsets, order)
        else:
            tags[kind] = _rows(np.fromiter(chain.from_iterable(rows), object, len(order))[order], offsets)
    return tags, notes


def moved_heads(heads: Ragged | None, order: NDArray[np.int64], to: NDArray[np.int64]) -> Ragged | None:
    """Return the heads in the new order of words.

    to: (W,) the place in its line that each word moves to.
    """
    if heads is None:
        return None
    flat, offsets = heads.flat, heads.offsets - heads.offsets[0]
    base = np.repeat(offsets[:-1], np.diff(offsets))
    new = np.where(flat < 0, -1, to[np.where(flat < 0, 0, flat) + base]) if len(flat) else flat
    return Ragged(new[order].astype(np.int32), offsets)


def _moved_names(
    rows: list[list[str]], offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[list[list[str]], int]:
    """Move the names of the lines that have some."""
    some = [line for line, row in enumerate(rows) if row.count("O") < len(row)]
    if not some:
        return rows, 0
    lines = np.array(some)
    sizes = np.diff(offsets)[lines]
    own = Ragged.from_lengths(np.empty(0), sizes)
    inside = Ragged(np.arange(offsets[-1]), offsets).take(lines).values
    shift = np.repeat(offsets[:-1][lines] - own.offsets[:-1], sizes)
    moved, split = _reordered_names([rows[line] for line in some], own.offsets, order[inside] - shift)
    found = list(rows)
    for line, row in zip(some, moved, strict=True):
        found[line] = row
    return found, split


def _reordered_names(
    rows: list[list[str]], offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[list[list[str]], int]:
    """Return tags in the new order: `B-` at the first word of each run of words of one name, `I-` at the others.

    Moving tags unchanged would put `I-` before `B-` (Tang et al. 2022, appendix G.1).
    """
    codes, tags = numbered(chain.from_iterable(rows), len(order))
    kinds = np.array([{"B": _BEGINS, "I": _INSIDE}.get(tag[:1], _OUTSIDE) for tag in tags])
    types = [tag[2:] for tag in tags]
    first = np.zeros(len(codes), np.bool_)
    first[offsets[:-1]] = True
    entity = _entities(kinds[codes], _type_numbers(types)[codes], first)
    own = entity[order]
    begins = first | (own != np.append(-1, own[:-1]))
    table = np.array([[f"I-{kind}", f"B-{kind}"] for kind in types], object)
    table[kinds == _OUTSIDE] = "O"
    moved = table[codes[order], begins.astype(np.int64)]
    return _rows(moved, offsets), int((np.bincount(own[begins & (own >= 0)]) > 1).sum())


def _entities(kinds: NDArray[Any], types: NDArray[Any], first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of each word's name, -1 for none; a stray `I-` begins one."""
    inside = kinds == _INSIDE
    continues = np.zeros(len(kinds), np.bool_)
    continues[1:] = inside[1:] & (kinds[:-1] != _OUTSIDE) & (types[1:] == types[:-1])
    begins = (kinds != _OUTSIDE) & (first | ~continues)
    return np.where(kinds == _OUTSIDE, -1, np.cumsum(begins) - 1)


def _type_numbers(types: Sequence[str]) -> NDArray[np.int64]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(kind, len(numbers)) for kind in types])


def _rows(flat: NDArray[Any], offsets: NDArray[np.int64]) -> list[list[str]]:
    tags = flat.tolist()
    return [tags[start:stop] for start, stop in pairwise(offsets.tolist())]


# ---- answers ----


def moved_answers(text: Text, words: Ragged, to: NDArray[np.int64]) -> tuple[list[Span] | None, dict[str, int]]:
    """Return the answer span of each derived line, and how many answers lost theirs.

    words: spans in the derived lines. to: (W,) the place in its derived line that each word moves to.
    """
    if text.answers is None:
        return None, {}
    offsets = (text.words.offsets - text.words.offsets[0]).tolist()
    answers = []
    for line, answer in enumerate(text.answers):
        own = slice(offsets[line], offsets[line + 1])
        answers.append(moved_span(answer, text.words[line], words[line], to[own]))
    lost = sum(old != NOWHERE and new == NOWHERE for old, new in zip(text.answers, answers, strict=True))
    return answers, {SPLIT_ANSWERS: lost}


def moved_span(answer: Span, old: NDArray[np.int32], new: NDArray[np.int32], to: NDArray[np.int64]) -> Span:
    """Return a span of one line after its words moved; nowhere if they are not adjacent, or it had no word.

    An answer that begins or ends within a word still does if its words kept their order and that word its length;
    otherwise it is extended to the whole word.

    old, new: spans of the line's words before and after. to: the place that each word moves to.
    """
    start, end = answer
    touched = np.flatnonzero((old[:, 1] > start) & (old[:, 0] < end)) if answer != NOWHERE else np.zeros(0, np.int64)
    if not len(touched):
        return NOWHERE
    places = to[touched]
    if places.max() - places.min() >= len(touched):
        return NOWHERE
    first, last = new[places.min()], new[places.max()]
    begin, stop = int(first[0]), int(last[1])
    if (np.diff(places) > 0).all():
        before, after = start - int(old[touched[0]][0]), int(old[touched[-1]][1]) - end
        begin += before if before > 0 and _same_length(old[touched[0]], first) else 0
        stop -= after if after > 0 and _same_length(old[touched[-1]], last) else 0
    return begin, stop


def _same_length(one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    return bool(one[1] - one[0] == other[1] - other[0])
