"""Take the word order from the output of another program: CoNLL-U with the same trees in another order."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.derived import DerivedText, Transformation
from interlace.derived.common.arrays import Ints
from interlace.derived.common.layout import WordSpans, reorder
from interlace.derived.common.trees import (
    FileState,
    file_states,
    forest_of,
    heads_of,
    read_trees,
)
from interlace.text import Text


class Galactic(Transformation):
    """Takes each line's order from the output of Galactic Dependencies (Wang and Eisner 2016) or a similar program.

    Such a program reorders the dependents of heads and keeps the trees. A line is found by its tree, in files of any
    order: two sentences are the same if their words, relations and arcs are. Identical siblings (the same word with the
    same descendants) keep their order. Text needs trees: CoNLL-U, or those of the toy corpus.
    """

    required = "permuted"

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

    key: the same for all orders of one sentence. words: top-down, in an order that depends on the tree alone; those
    with identical subtrees are in the order of the sentence.
    """

    key: tuple[int, ...]
    words: list[int]

    @classmethod
    def of(cls, text: Text, row: int) -> SentenceTree:
        """Return the tree of a line of a text that has trees."""
        forms = text.tokens(row)
        relations = text.tags["deprel"][row]
        # the last are the roots
        dependents: list[list[int]] = [[] for _ in range(len(forms) + 1)]
        for word, head in enumerate(heads_of(text, row)):
            dependents[head].append(word)
        roots = dependents[-1]
        # a number for each word, the same for words with identical subtrees in any order
        hashes = [0] * len(forms)
        for word in reversed(_top_down(dependents)):
            dependents[word].sort(key=hashes.__getitem__)
            below = tuple(hashes[dependent] for dependent in dependents[word])
            hashes[word] = hash((forms[word].lower(), relations[word], below))
        roots.sort(key=hashes.__getitem__)
        return cls(tuple(hashes[root] for root in roots), _top_down(dependents))


def _top_down(dependents: list[list[int]]) -> list[int]:
    """Return the words of a tree, each after its head; the roots are the last entry."""
    words = list(dependents[-1])
    for word in words:  # grows during iteration
        words += dependents[word]
    return words


@lru_cache(maxsize=4)
def _permuted(files: tuple[FileState, ...]) -> dict[tuple[int, ...], SentenceTree]:
    """Return permuted sentences by their keys, the first of each."""
    trees: dict[tuple[int, ...], SentenceTree] = {}
    for chunk in read_trees(files):
        for row in range(len(chunk)):
            tree = SentenceTree.of(chunk, row)
            trees.setdefault(tree.key, tree)
    return trees


def matched(tree: SentenceTree, permuted: SentenceTree) -> Ints:
    """Return the word at each place of the permuted sentence."""
    words = np.empty(len(tree.words), np.int64)
    words[permuted.words] = tree.words
    return words
