"""Labels of words that follow them to another place in the line: tags and names.

Legend: L lines, W words of all lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from interlace.derived.common.arrays import Ints

SPLIT_NAMES = "names split because their words are no longer adjacent"

Rows = Sequence[Sequence[str]]


def numbered(strings: Iterable[str], count: int) -> tuple[NDArray[np.int32], list[str]]:
    """Return the number of each string (count,) and the distinct strings in order, without a Python loop."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return np.fromiter(map(numbers.__getitem__, strings), np.int32, count), list(numbers)


def moved_tags(rows: Rows, offsets: Ints, order: Ints) -> list[list[str]]:
    """Return tags in the new order of words.

    offsets: (L + 1,) the words of each line. order: (W,) the word at each place.
    """
    tags = np.fromiter(chain.from_iterable(rows), object, len(order))
    return _split_by_line(tags[order], offsets)


@dataclass(frozen=True)
class MovedNames:
    """IOB2 tags by line, and how many names were split into several."""

    tags: list[list[str]]
    split: int


def moved_names(rows: Rows, offsets: Ints, order: Ints) -> MovedNames:
    """Return IOB2 tags in the new order: `B-` at the first word of each run of words of one name, `I-` at the others.

    Moving tags unchanged would put `I-` before `B-` (Tang et al. 2022, appendix G.1).

    >>> moved_names([["B-PER", "I-PER", "O"]], np.array([0, 3]), np.array([2, 1, 0]))
    MovedNames(tags=[['O', 'B-PER', 'I-PER']], split=0)
    >>> moved_names([["B-PER", "I-PER", "O"]], np.array([0, 3]), np.array([0, 2, 1]))
    MovedNames(tags=[['B-PER', 'O', 'B-PER']], split=1)
    """
    codes, tags = numbered(chain.from_iterable(rows), len(order))
    begins_name = np.array([tag[0] == "B" for tag in tags], np.bool_)[codes]
    is_outside = np.array([tag[0] == "O" for tag in tags], np.bool_)[codes]
    names = np.where(is_outside, 0, np.cumsum(begins_name))  # (W,) the number of each word's name
    moved_codes = codes[order]
    moved_names = names[order]
    begins = np.append(True, moved_names[1:] != moved_names[:-1])[: len(order)]
    begin_tags = np.array([tag.replace("I-", "B-", 1) for tag in tags], object)
    inner_tags = np.array([tag.replace("B-", "I-", 1) for tag in tags], object)
    moved = np.where(begins, begin_tags[moved_codes], inner_tags[moved_codes])
    runs_of_name = np.bincount(moved_names[begins])
    return MovedNames(_split_by_line(moved, offsets), int((runs_of_name[1:] > 1).sum()))


def _split_by_line(tags: NDArray[np.object_], offsets: Ints) -> list[list[str]]:
    flat = tags.tolist()
    return [flat[start:stop] for start, stop in pairwise(offsets.tolist())]
