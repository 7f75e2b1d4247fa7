"""Numba kernels of `symmetrization`.

A pair is a matrix of marks, a row per target word and a column per source word, with a border of one cell, so that each
link has eight neighbors. Example, forward links `F`, backward links `B`, both `*`; growing starts with the
intersection and adds neighbors that align a word without link:

    source   1 2 3           1 2 3
    target 1 * . .    ->   1 * . .    F in (2, 2) is a diagonal neighbor of (1, 1), and its words have no link
           2 . F B         2 . * *    B in (2, 3) is then a neighbor of (2, 2), and source word 3 has no link
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from interlace.core.kernels import compiled, inner
from interlace.core.ragged import BoolArray, ByteArray, Int32Array, IntArray

Links = Int32Array  # (total, 2)
Numbers = IntArray

FORWARD, BACKWARD, BOTH, KEPT = 1, 2, 3, 4  # bits of a mark; BOTH is FORWARD | BACKWARD
INTERSECTION, UNION, GROW, FINAL, FINAL_AND = range(5)  # heuristics

# (target, source) steps to the neighbors of a link, in symal's order: horizontal and vertical ones first
_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


class Pair(NamedTuple):
    """The links of a sentence pair; words are counted from 1.

    marks: (n + 2, m + 2) uint8. source_linked: (m + 2,) and target_linked: (n + 2,) whether a word is in a kept link.
    """

    marks: ByteArray
    source_linked: BoolArray
    target_linked: BoolArray


@compiled
def combine(
    forward: Links,
    forward_offsets: Numbers,
    backward: Links,
    backward_offsets: Numbers,
    heuristic: int,
) -> tuple[Links, Numbers]:
    """Return the links of the result, sorted in each pair, and (pairs,) their number per pair."""
    links = np.empty((len(forward) + len(backward), 2), np.int32)
    counts = np.zeros(len(forward_offsets) - 1, np.int64)
    used = 0
    for row in range(len(counts)):
        forward_links = forward[forward_offsets[row] : forward_offsets[row + 1]]
        backward_links = backward[backward_offsets[row] : backward_offsets[row + 1]]
        pair = _marked(forward_links, backward_links)
        rows, columns = pair.marks.shape
        for target in range(1, rows - 1):
            for source in range(1, columns - 1):
                mark = pair.marks[target, source]
                if mark == BOTH or (heuristic == UNION and mark):
                    _keep(pair, source, target)
        if heuristic == GROW:
            _grow(pair, 4)
        if heuristic >= FINAL:
            _grow(pair, 8)
            _finish(pair, FORWARD, heuristic == FINAL)
            _finish(pair, BACKWARD, heuristic == FINAL)
        before = used
        for source in range(1, columns - 1):
            for target in range(1, rows - 1):
                if pair.marks[target, source] & KEPT:
                    links[used, 0] = source - 1
                    links[used, 1] = target - 1
                    used += 1
        counts[row] = used - before
    return links[:used].copy(), counts


@inner
def _marked(forward: Links, backward: Links) -> Pair:
    """Return the pair with the origin of its links."""
    source_words = 0
    target_words = 0
    for links in (forward, backward):
        for link in range(len(links)):
            source_words = max(source_words, links[link, 0] + 1)
            target_words = max(target_words, links[link, 1] + 1)
    marks = np.zeros((target_words + 2, source_words + 2), np.uint8)
    for links, direction in ((forward, FORWARD), (backward, BACKWARD)):
        for link in range(len(links)):
            source = links[link, 0] + 1
            target = links[link, 1] + 1
            marks[target, source] |= direction
    return Pair(
        marks, np.zeros(source_words + 2, np.bool_), np.zeros(target_words + 2, np.bool_)
    )


@inner
def _keep(pair: Pair, source: int, target: int) -> None:
    pair.marks[target, source] |= KEPT
    pair.source_linked[source] = True
    pair.target_linked[target] = True


@inner
def _grow(pair: Pair, neighbors: int) -> None:
    """Add neighbors of kept links that align an unaligned word until there are none.

    neighbors: 4 horizontal and vertical ones, or all 8.
    """
    rows, columns = pair.marks.shape
    added = True
    while added:
        added = False
        for target in range(1, rows - 1):
            for source in range(1, columns - 1):
                if not pair.marks[target, source] & KEPT:
                    continue
                for step in range(neighbors):
                    down, right = _NEIGHBORS[step]
                    i = source + right
                    j = target + down
                    are_linked = pair.source_linked[i] and pair.target_linked[j]
                    if pair.marks[j, i] and not are_linked:
                        _keep(pair, i, j)
                        added = True


@inner
def _finish(pair: Pair, direction: int, one_is_enough: bool) -> None:
    """Add the remaining links of a direction whose words are both unaligned, or one of them if that is enough."""
    rows, columns = pair.marks.shape
    for target in range(1, rows - 1):
        for source in range(1, columns - 1):
            if pair.marks[target, source] == direction:
                source_linked = pair.source_linked[source]
                target_linked = pair.target_linked[target]
                if not (source_linked or target_linked) or (
                    one_is_enough and not (source_linked and target_linked)
                ):
                    _keep(pair, source, target)
