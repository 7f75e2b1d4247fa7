"""Dependents of nouns and verbs in the order of another language (T_syn of Tang et al. 2022)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.derived import Derived, Transformation
from interlace.derived._layout import Layout, reordered
from interlace.derived._numbers import numbered
from interlace.derived._parses import parsed
from interlace.derived._treebanks import learnt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.derived._forest import Forest
    from interlace.derived._precedence import Precedence
    from interlace.text import Text


class Syntax(Transformation):
    """Each head's dependents are put into an order drawn from what a treebank of the other language shows.

    After Wang and Eisner (2016), whose Galactic Dependencies the paper uses (English in the order of French): trees
    keep their arcs, every word stays together with what depends on it, and only the order within a family changes. The
    order of a family is drawn from a log-linear model of which relation precedes which, learnt by kind of head; see
    `_precedence`. What is drawn hangs on the seed, the letters of the line and those before the head.

    Text needs trees: CoNLL-U read with `trees`, the toy corpus's own, or `trees` here for text whose parses stand in
    other files. Crossing arcs are lifted first. The mark at the end of a sentence stays, heads with more than eleven
    dependents stay as they are.
    """

    like: tuple[Path, ...] = Field((), description="CoNLL-U files of the language whose order it becomes; required.")
    heads: tuple[str, ...] = Field(
        ("NOUN", "VERB"),
        min_length=1,
        description="Parts of speech (UPOS) whose dependents are ordered; list PROPN to treat names as nouns.",
    )
    trees: tuple[Path, ...] = Field(
        (),
        description="CoNLL-U files with parses of the text, where it has no trees: a line is found by its characters.",
    )
    prior: float = Field(
        1.0, gt=0, description="Inverse variance of the Gaussian prior of the model's weights; more draws them to zero."
    )

    @property
    def lacks(self) -> str:
        """A treebank, where none is named."""
        return (
            "" if self.like else "the change 'syntax' needs a treebank to learn from; name CoNLL-U files by syntax.like"
        )

    def derive(self, text: Text, key: int) -> Derived:
        """The derived lines.

        Raises:
            DataError: no treebank is named, a file cannot be read, or a line has no tree; names it.
        """
        if self.lacks:
            raise DataError(self.lacks)
        models = learnt(self.like, self.heads, self.prior)
        layout = Layout(text)
        forest = parsed(text, self.trees)
        order, crowded = _drawn(layout, forest, [models[tag] for tag in self.heads], self.heads, key)
        derived = reordered(layout, order, forest.final)
        if crowded:
            derived.text.notes["heads with too many dependents to order"] = crowded
        return derived


def _drawn(
    layout: Layout, forest: Forest, models: list[Precedence], tags: tuple[str, ...], key: int
) -> tuple[NDArray[np.int64], int]:
    """The word at each place, and how many heads have too many dependents."""
    from interlace.derived._precedence import HEAD
    from interlace.derived._trees_kernels import letter_bits, order_words

    relations, names = numbered(forest.relations, len(forest.heads))
    own, parts = numbered(forest.tags, len(forest.heads))
    used, keys = np.unique(relations * np.int64(len(parts)) + own, return_inverse=True)
    pairs = [(names[pair // len(parts)], parts[pair % len(parts)]) for pair in used.tolist()]
    tables = [model.between([HEAD, *pairs]) for model in models]
    kinds = np.array([tags.index(tag) if tag in tags else -1 for tag in parts], np.int64)[own]
    bits = np.empty(len(keys), np.uint64)
    letter_bits(layout.codes, layout.starts, layout.ends, layout.offsets, np.uint64(key), bits)
    order = np.empty(len(keys), np.int64)
    weights, known = np.stack([table[0] for table in tables]), np.stack([table[1] for table in tables])
    crowded = order_words(forest.heads, forest.offsets, forest.final, kinds, keys, bits, weights, known, order)
    return order, crowded
