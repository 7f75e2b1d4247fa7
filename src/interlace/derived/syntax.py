"""Put the dependents of nouns and verbs in the order of another language (T_syn of Tang et al. 2022)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.derived import DerivedText, Transformation
from interlace.derived.common.labels import numbered
from interlace.derived.common.layout import TextLayout, reorder
from interlace.derived.common.precedence import HEAD, Precedence, fitted
from interlace.derived.common.trees import Forest, parsed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text


class Syntax(Transformation):
    """Reorders the dependents of heads by a model fitted on a treebank of another language.

    After Wang and Eisner (2016), whose Galactic Dependencies the paper uses (English in the order of French): trees
    keep their arcs, each word stays contiguous with its descendants, and only the order within a family changes. It is
    sampled from a log-linear model of which relation precedes which, fitted by kind of head (`common.precedence`).
    Samples depend on the seed, the letters of the line and the number of letters before the head.

    Text needs trees: CoNLL-U read with `trees`, those of the toy corpus, or `trees` here for text whose parses are in
    other files. Crossing arcs are lifted first. The mark at the end of a sentence stays, and heads with more than
    eleven dependents stay unchanged.
    """

    like: tuple[Path, ...] = Field((), description="CoNLL-U files of the language with the target order; required.")
    heads: tuple[str, ...] = Field(
        ("NOUN", "VERB"),
        min_length=1,
        description="Parts of speech (UPOS) whose dependents are reordered; add PROPN to treat names as nouns.",
    )
    trees: tuple[Path, ...] = Field(
        (), description="CoNLL-U files with parses of text without trees: a line is found by its characters."
    )
    prior: float = Field(1.0, gt=0, description="Inverse variance of the Gaussian prior of the model's weights.")

    @property
    def missing(self) -> str:
        """The treebank, if none is set."""
        need = "the transformation 'syntax' needs a treebank to learn from; set syntax.like to CoNLL-U files"
        return "" if self.like else need

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines.

        Raises:
            DataError: no treebank is set, a file cannot be read, or a line has no tree; names it.
        """
        if self.missing:
            raise DataError(self.missing)
        models = fitted(self.like, self.heads, self.prior)
        layout = TextLayout(text)
        forest = parsed(text, self.trees)
        order, crowded = _sampled(layout, forest, [models[tag] for tag in self.heads], self.heads, key)
        derived = reorder(layout, order, forest.final)
        if crowded:
            derived.text.notes["heads with too many dependents to reorder"] = crowded
        return derived


def _sampled(
    layout: TextLayout, forest: Forest, models: list[Precedence], tags: tuple[str, ...], key: int
) -> tuple[NDArray[np.int64], int]:
    """Return the word at each place, and how many heads have too many dependents."""
    from interlace.derived.common.tree_kernels import letter_bits, order_words

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
