"""Take the word order from the output of another program: CoNLL-U with the same trees in another order."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import TextLayout, reorder
from interlace.derived.common.trees import FileState, file_states, forest_of, read_trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.text import Text

TreeKey = tuple[object, ...]  # the same for all orders of one sentence


class PermutedTree(NamedTuple):
    """A sentence of the other program's output."""

    words: list[str]
    heads: list[int]
    relations: list[str]


class Galactic(Transformation):
    """Takes each line's order from the output of Galactic Dependencies (Wang and Eisner 2016) or a similar program.

    Such a program reorders the dependents of heads and keeps the trees. A line is found by its tree, in files of any
    order: two sentences are the same if their words, relations and arcs are. Identical siblings (the same word with the
    same descendants) keep their order. Text needs trees: CoNLL-U, or those of the toy corpus.
    """

    permuted: tuple[Path, ...] = Field(
        (), description="CoNLL-U files of the same sentences in another order; required."
    )

    @property
    def missing(self) -> str:
        """The permuted files, if none are set."""
        need = "the transformation 'galactic' needs the permuted sentences; set galactic.permuted to CoNLL-U files"
        return "" if self.permuted else need

    def derive(self, text: Text, key: int) -> DerivedText:  # noqa: ARG002 - nothing is random
        """Return the derived lines.

        Raises:
            DataError: no files are set, one cannot be read, or a line has no tree, or none like it is in them.
        """
        if self.missing:
            raise DataError(self.missing)
        forest = forest_of(text)
        permuted = _permuted(file_states(self.permuted))
        layout = TextLayout(text)
        order = np.empty(len(layout.starts), np.int64)
        for row, line in enumerate(text.lines):
            start, stop = int(layout.offsets[row]), int(layout.offsets[row + 1])
            own = PermutedTree(text.tokens(row), _heads(text, row), text.tags["deprel"][row])
            shapes = subtree_hashes(own)
            found = permuted.get(tree_key(own, shapes))
            if found is None:
                where = ", ".join(map(str, self.permuted))
                raise DataError(f"no sentence with the tree of {line[:80]!r} is in {where}")
            order[start:stop] = start + matched(own, shapes, found)
        return reorder(layout, order, forest.final & (order == np.arange(len(order))))


def _heads(text: Text, row: int) -> list[int]:
    heads: list[int] = text.heads[row].tolist() if text.heads is not None else []
    return heads


@lru_cache(maxsize=4)
def _permuted(files: tuple[FileState, ...]) -> dict[TreeKey, PermutedTree]:
    """Return permuted sentences by their trees."""
    found: dict[TreeKey, PermutedTree] = {}
    for path, _, _ in files:
        for chunk in read_trees(path):
            for row in range(len(chunk)):
                sentence = PermutedTree(chunk.tokens(row), _heads(chunk, row), chunk.tags["deprel"][row])
                found.setdefault(tree_key(sentence, subtree_hashes(sentence)), sentence)
    return found


def _dependents(heads: Sequence[int]) -> list[list[int]]:
    """Return the dependents of each word in order; the roots come last."""
    below: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads):
        below[head].append(word)  # -1 is the last
    return below


def subtree_hashes(sentence: PermutedTree) -> list[int]:
    """Return a number for each word, the same for words with identical subtrees in any order."""
    below = _dependents(sentence.heads)
    hashes = [0] * len(sentence.heads)
    for word in reversed(_top_down(below)):
        inner = tuple(sorted(hashes[other] for other in below[word]))
        hashes[word] = hash((sentence.words[word].lower(), sentence.relations[word], inner))
    return hashes


def tree_key(sentence: PermutedTree, hashes: Sequence[int]) -> TreeKey:
    """Return what all orders of one sentence share."""
    roots = (word for word, head in enumerate(sentence.heads) if head < 0)
    words = tuple(sorted(word.lower() for word in sentence.words))
    return (words, tuple(sorted(hashes[word] for word in roots)))


def _top_down(below: Sequence[Sequence[int]]) -> list[int]:
    """Return words, each after its head."""
    order = list(below[-1])
    for word in order:  # grows during iteration
        order.extend(below[word])
    return order


def matched(own: PermutedTree, hashes: Sequence[int], other: PermutedTree) -> NDArray[np.int64]:
    """Return the word at each place of the permuted sentence: families are matched top-down, twins in order."""
    theirs = subtree_hashes(other)
    mine_below, their_below = _dependents(own.heads), _dependents(other.heads)
    to = np.empty(len(own.heads), np.int64)
    queue = [(-1, -1)]
    while queue:
        mine, their = queue.pop()
        left = sorted(mine_below[mine], key=lambda word: (hashes[word], word))
        right = sorted(their_below[their], key=lambda word: (theirs[word], word))
        for one, place in zip(left, right, strict=True):
            to[place] = one
            queue.append((one, place))
    return to
