"""Take the word order from the output of another program: CoNLL-U with the same trees in another order."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.derived import DerivedText, Transformation
from interlace.derived.common.arrays import Ints
from interlace.derived.common.layout import WordSpans, reorder
from interlace.derived.common.trees import FileState, file_states, forest_of, read_trees
from interlace.text import Text


class Galactic(Transformation):
    """Takes each line's order from the output of Galactic Dependencies (Wang and Eisner 2016) or a similar program.

    Such a program reorders the dependents of heads and keeps the trees. A line is found by its tree, in files of any
    order: two sentences are the same if their words, relations and arcs are. Identical siblings (the same word with the
    same descendants) keep their order. Text needs trees: CoNLL-U, or those of the toy corpus.
    """

    required: ClassVar[str] = "permuted"

    permuted: tuple[Path, ...] = Field(
        (), description="CoNLL-U files of the sentences in another order; required."
    )

    def derive(self, text: Text, key: int) -> DerivedText:  # noqa: ARG002 - nothing is random
        """Return the derived lines; raise a DataError if a line has no tree, or none like it is in the files."""
        self.check()
        forest = forest_of(text)
        words = WordSpans.of(text)
        permuted = _permuted(file_states(self.permuted))
        order = np.empty(len(words.starts), np.int64)
        for row, line in enumerate(text.lines):
            tree = SentenceTree.of(text, row)
            permuted_tree = permuted.get(tree.key)
            if permuted_tree is None:
                raise DataError(
                    f"no sentence with the tree of {line[:80]!r} is in {listed(self.permuted)}"
                )
            start, stop = words.offsets[row : row + 2]
            order[start:stop] = start + matched(tree, permuted_tree)
        return reorder(text, words, order, forest.final & (order == np.arange(len(order))))


class SentenceTree(NamedTuple):
    """A sentence that can be compared with its permutations.

    below: dependents of each word in order; the roots come last. hashes: a number for each word, the same for words
    with identical subtrees in any order. key: the same for all orders of one sentence.
    """

    below: list[list[int]]
    hashes: list[int]
    key: tuple[object, ...]

    @classmethod
    def of(cls, text: Text, row: int) -> SentenceTree:
        """Return the tree of a line of a text that has trees."""
        words = [word.lower() for word in text.tokens(row)]
        relations = text.tags["deprel"][row]
        below: list[list[int]] = [[] for _ in range(len(words) + 1)]
        for word, head in enumerate(text.heads[row].tolist() if text.heads is not None else ()):
            below[head].append(word)  # -1 is the last
        top_down = list(below[-1])
        for word in top_down:  # grows during iteration
            top_down.extend(below[word])
        hashes = [0] * len(words)
        for word in reversed(top_down):
            dependents = tuple(sorted(hashes[dependent] for dependent in below[word]))
            hashes[word] = hash((words[word], relations[word], dependents))
        roots = tuple(sorted(hashes[root] for root in below[-1]))
        return cls(below, hashes, (tuple(sorted(words)), roots))

    def dependents(self, head: int) -> list[int]:
        """Return the dependents of a word, -1 for the roots, those with identical subtrees in order."""
        return sorted(self.below[head], key=lambda word: (self.hashes[word], word))


@lru_cache(maxsize=4)
def _permuted(files: tuple[FileState, ...]) -> dict[tuple[object, ...], SentenceTree]:
    """Return permuted sentences by their keys, the first of each."""
    trees: dict[tuple[object, ...], SentenceTree] = {}
    for chunk in read_trees(files):
        for row in range(len(chunk)):
            tree = SentenceTree.of(chunk, row)
            trees.setdefault(tree.key, tree)
    return trees


def matched(tree: SentenceTree, permuted: SentenceTree) -> Ints:
    """Return the word at each place of the permuted sentence: families are matched top-down, twins in order."""
    to = np.empty(len(tree.hashes), np.int64)
    heads = [(-1, -1)]  # a word and its place in the permuted sentence
    while heads:
        head, permuted_head = heads.pop()
        families = zip(tree.dependents(head), permuted.dependents(permuted_head), strict=True)
        for word, place in families:
            to[place] = word
            heads.append((word, place))
    return to
