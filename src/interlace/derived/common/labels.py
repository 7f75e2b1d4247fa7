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

SPLIT_NAMES = "names split because their words are no longer adjacent"

Rows = Sequence[Sequence[str]]


def numbered(strings: Iterable[str], count: int) -> tuple[NDArray[np.int32], list[str]]:
    """Return the number of each string (count,) and the distinct strings in order, without a Python loop."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return np.fromiter(map(numbers.__getitem__, strings), np.int32, count), list(numbers)


def moved_tags(rows: Rows, offsets: NDArray[np.int64], order: NDArray[np.int64]) -> list[list[str]]:
    """Return tags in the new order of words.

    offsets: (L + 1,) the words of each line. order: (W,) the word at each place.
    """
    flat = np.fromiter(chain.from_iterable(rows), object, len(order))
    return _split_by_line(flat[order], offsets)


@dataclass(frozen=True)
class MovedNames:
    """IOB2 tags by line, and how many names were split into several."""

    tags: list[list[str]]
    split: int


def moved_names(rows: Rows, offsets: NDArray[np.int64], order: NDArray[np.int64]) -> MovedNames:
    """Return IOB2 tags in the new order: `B-` at the first word of each run of words of one name, `I-` at the others.

    Moving tags unchanged would put `I-` before `B-` (Tang et al. 2022, appendix G.1). A stray `I-` begins a name.

    >>> moved_names([["B-PER", "I-PER", "O"]], np.array([0, 3]), np.array([2, 1, 0]))
    MovedNames(tags=[['O', 'B-PER', 'I-PER']], split=0)
    >>> moved_names([["B-PER", "I-PER", "O"]], np.array([0, 3]), np.array([0, 2, 1]))
    MovedNames(tags=[['B-PER', 'O', 'B-PER']], split=1)
    """
    codes, tags = numbered(chain.from_iterable(rows), len(order))
    is_first = np.zeros(len(codes), np.bool_)  # (W,) words at the start of a line
    is_first[offsets[:-1][np.diff(offsets) > 0]] = True
    names = _name_numbers(codes, tags, is_first)[order]  # (W,) the name of the word at each place
    begins = is_first | (names != np.append(-1, names[:-1]))
    runs_of_name = np.bincount(names[begins & (names >= 0)])
    spellings: list[str] = []  # of each tag inside a name and at its begin
    for tag in tags:
        if tag[:1] in {"B", "I"}:
            spellings += [f"I-{tag[2:]}", f"B-{tag[2:]}"]
        else:
            spellings += ["O", "O"]
    moved = np.array(spellings, object)[2 * codes[order] + begins]
    return MovedNames(_split_by_line(moved, offsets), int((runs_of_name > 1).sum()))


def _name_numbers(
    codes: NDArray[np.int32], tags: Sequence[str], is_first: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """(W,) the number of the name that each word belongs to, -1 outside of names."""
    prefixes = np.array([tag[:1] for tag in tags])[codes]
    type_codes, _ = numbered([tag[2:] for tag in tags], len(tags))
    types = type_codes[codes]
    is_outside = (prefixes != "B") & (prefixes != "I")
    continues = (prefixes == "I") & ~is_first
    continues[1:] &= ~is_outside[:-1] & (types[1:] == types[:-1])
    begins = ~is_outside & ~continues
    return np.where(is_outside, -1, np.cumsum(begins) - 1)


def _split_by_line(flat: NDArray[np.object_], offsets: NDArray[np.int64]) -> list[list[str]]:
    tags = flat.tolist()
    return [tags[start:stop] for start, stop in pairwise(offsets.tolist())]
