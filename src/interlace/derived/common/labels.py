"""Labels of words that follow them to another place in the line: tags and names.

Legend: L lines, W words of all lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise

from interlace.derived.common.arrays import Ints

SPLIT_NAMES = "names split because their words are no longer adjacent"

Rows = Sequence[Sequence[str]]


def moved_tags(rows: Rows, offsets: Ints, order: Ints) -> list[list[str]]:
    """Return tags in the new order of words.

    offsets: (L + 1,) the words of each line. order: (W,) the word at each place.
    """
    tags = list(chain.from_iterable(rows))
    moved = [tags[word] for word in order.tolist()]
    return _split_by_line(moved, offsets)


def moved_names(
    rows: Rows,
    offsets: Ints,
    order: Ints,
    notes: dict[str, int],
) -> list[list[str]]:
    """Return IOB2 tags in the new order: `B-` at the first word of each run of words of one name, `I-` at the others.

    Moving tags unchanged would put `I-` before `B-` (Tang et al. 2022, appendix G.1).

    notes: to which the number of names that were split into several is added.

    >>> import numpy as np
    >>> moved_names([["B-PER", "I-PER", "O"]], np.array([0, 3]), np.array([2, 1, 0]), {})
    [['O', 'B-PER', 'I-PER']]
    >>> moved_names([["B-PER", "I-PER", "O"]], np.array([0, 3]), np.array([0, 2, 1]), {})
    [['B-PER', 'O', 'B-PER']]
    """
    tags = list(chain.from_iterable(rows))
    names: list[int] = []  # the number of each word's name, 0 for none
    count = 0
    for tag in tags:
        count += tag.startswith("B-")
        names.append(0 if tag == "O" else count)
    moved: list[str] = []
    runs: Counter[int] = Counter()  # of each name
    previous_name = 0
    for word in order.tolist():
        name = names[word]
        kind = tags[word][2:]
        if not name:
            moved.append("O")
        elif name == previous_name:
            moved.append(f"I-{kind}")
        else:
            moved.append(f"B-{kind}")
            runs[name] += 1
        previous_name = name
    split = sum(number > 1 for number in runs.values())
    if split:
        notes[SPLIT_NAMES] = notes.get(SPLIT_NAMES, 0) + split
    return _split_by_line(moved, offsets)


def _split_by_line(tags: list[str], offsets: Ints) -> list[list[str]]:
    return [tags[start:stop] for start, stop in pairwise(offsets.tolist())]
