"""Word order as another program made it: CoNLL-U whose trees are those of the text with families in another order."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.derived import Derived, Transformation
from interlace.derived._layout import Layout, reordered
from interlace.derived._treebanks import Stamp, forest_of, read_trees, stamps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.text import Text

Shape = tuple[object, ...]  # of a word and all below it, whatever their order


class Permuted(NamedTuple):
    """A sentence of the other program's output."""

    words: list[str]
    heads: list[int]
    relations: list[str]


class Galactic(Transformation):
    """Takes each line's order from the output of Galactic Dependencies (Wang and Eisner 2016) or of a program like it.

    Such a program orders the dependents of heads anew and leaves the tree alone. A line is found by its tree, so files
    need not be in one order: two sentences are the same if their words, relations and arcs are. Where twins hang on one
    head (the same word with the same words below it), they keep their order. Text needs trees: CoNLL-U, or the world's.
    """

    permuted: tuple[Path, ...] = Field(
        (), description="CoNLL-U files of the same sentences in another order; required."
    )

    @property
    def lacks(self) -> str:
        """The other order, where no files are named."""
        need = "the change 'galactic' needs the permuted sentences; name CoNLL-U files by galactic.permuted"
        return "" if self.permuted else need

    def derive(self, text: Text, key: int) -> Derived:  # noqa: ARG002 - nothing is drawn
        """The derived lines.

        Raises:
            DataError: no files are named, one cannot be read, or a line has no tree, or none like it stands in them.
        """
        if self.lacks:
            raise DataError(self.lacks)
        forest = forest_of(text)
        book = _book(stamps(self.permuted))
        layout = Layout(text)
        order = np.empty(len(layout.starts), np.int64)
        for row, line in enumerate(text.lines):
            start, stop = int(layout.offsets[row]), int(layout.offsets[row + 1])
            own = Permuted(text.tokens(row), _heads(text, row), text.tags["deprel"][row])
            shapes = _shapes(own)
            found = book.get(_whole(own, shapes))
            if found is None:
                where = ", ".join(map(str, self.permuted))
                raise DataError(f"no sentence with the tree of {line[:80]!r} stands in {where}")
            order[start:stop] = start + _matched(own, shapes, found)
        return reordered(layout, order, forest.final & (order == np.arange(len(order))))


def _heads(text: Text, row: int) -> list[int]:
    heads: list[int] = text.heads[row].tolist() if text.heads is not None else []
    return heads


@lru_cache(maxsize=4)
def _book(files: tuple[Stamp, ...]) -> dict[Shape, Permuted]:
    """Permuted sentences by their trees."""
    book: dict[Shape, Permuted] = {}
    for path, _, _ in files:
        for chunk in read_trees(path):
            for row in range(len(chunk)):
                sentence = Permuted(chunk.tokens(row), _heads(chunk, row), chunk.tags["deprel"][row])
                book.setdefault(_whole(sentence, _shapes(sentence)), sentence)
    return book


def _below(heads: Sequence[int]) -> list[list[int]]:
    """The dependents of each word in their order; those of no word come last."""
    below: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads):
        below[head].append(word)  # -1 is the last
    return below


def _shapes(sentence: Permuted) -> list[int]:
    """A number for each word, the same for words that are alike with all that is below them."""
    below = _below(sentence.heads)
    shapes = [0] * len(sentence.heads)
    for word in reversed(_from_the_top(below)):
        inner = tuple(sorted(shapes[other] for other in below[word]))
        shapes[word] = hash((sentence.words[word].lower(), sentence.relations[word], inner))
    return shapes


def _whole(sentence: Permuted, shapes: Sequence[int]) -> Shape:
    """What two orders of one sentence share."""
    roots = (word for word, head in enumerate(sentence.heads) if head < 0)
    words = tuple(sorted(word.lower() for word in sentence.words))
    return (words, tuple(sorted(shapes[word] for word in roots)))


def _from_the_top(below: Sequence[Sequence[int]]) -> list[int]:
    """Words, each behind the one it depends on."""
    order = list(below[-1])
    for word in order:  # grows as it is read
        order.extend(below[word])
    return order


def _matched(own: Permuted, shapes: Sequence[int], other: Permuted) -> NDArray[np.int64]:
    """The word at each place of the permuted sentence: families are matched from the top, twins in their order."""
    theirs = _shapes(other)
    mine_below, their_below = _below(own.heads), _below(other.heads)
    to = np.empty(len(own.heads), np.int64)
    open_ = [(-1, -1)]
    while open_:
        mine, their = open_.pop()
        left = sorted(mine_below[mine], key=lambda word: (shapes[word], word))
        right = sorted(their_below[their], key=lambda word: (theirs[word], word))
        for one, place in zip(left, right, strict=True):
            to[place] = one
            open_.append((one, place))
    return to
