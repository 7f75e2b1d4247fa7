"""Labels of words that follow them to another place in the line: tags and names.

Legend: L lines, W words of all lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Int32Array
from interlace.derived.common.arrays import Ints

SPLIT_NAMES = "names split because their words are no longer adjacent"

Rows = Sequence[Sequence[str]]


def numbered(strings: Iterable[str], count: int) -> tuple[Int32Array, list[str]]:
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


def moved_names(
    rows: Rows,
    offsets: Ints,
    order: Ints,
    notes: dict[str, int],
) -> list[list[str]]:
    """Return IOB2 tags in the new order: `B-` at the first word of each run of words of one name, `I-` at the others.

    Moving tags unchanged would put `I-` before `B-` (Tang et al. 2022, appendix G.1).

    notes: to which the number of names that were split into several is added.

    >>> moved_names([["B-PER", "I-PER", "O"]], np.array([0, 3]), np.array([2, 1, 0]), {})
    [['O', 'B-PER', 'I-PER']]
    >>> moved_names([["B-PER", "I-PER", "O"]], np.array([0, 3]), np.array([0, 2, 1]), {})
    [['B-PER', 'O', 'B-PER']]
    """
    codes, tags = numbered(chain.from_iterable(rows), len(order))
    begins_name = np.array([tag[0] == "B" for tag in tags], np.bool_)
    is_outside = np.array([tag[0] == "O" for tag in tags], np.bool_)
    names = np.cumsum(begins_name[codes])  # (W,) the number of each word's name
    names[is_outside[codes]] = 0
    names = names[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = names[1:] != names[:-1]
    runs_of_name = np.bincount(names[begins])
    split = int((runs_of_name[1:] > 1).sum())
    if split:
        notes[SPLIT_NAMES] = notes.get(SPLIT_NAMES, 0) + split
    begin_tags = np.array([tag.replace("I-", "B-", 1) for tag in tags], object)
    inner_tags = np.array([tag.replace("B-", "I-", 1) for tag in tags], object)
    codes = codes[order]
    moved = inner_tags[codes]
    moved[begins] = begin_tags[codes[begins]]
    return _split_by_line(moved, offsets)


def _split_by_line(tags: NDArray[np.object_], offsets: Ints) -> list[list[str]]:
    flat = tags.tolist()
    return [flat[start:stop] for start, stop in pairwise(offsets.tolist())]
