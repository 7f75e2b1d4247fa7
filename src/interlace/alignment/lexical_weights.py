"""Lexical weights of phrase pairs (Koehn, Och and Marcu 2003, section 3.3)."""

import numpy as np

from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import word_positions
from interlace.core.ragged import DoubleArray, IntArray, Ragged

# products of many rare words would round to 0, which has no log
_MIN_WEIGHT = float(np.finfo(np.float32).tiny)


class LexicalWeights:
    """The word probabilities of a lexicon, from which the weights of phrase pairs follow."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._width = len(lexicon.target_types)
        self._keys = lexicon.entries.astype(np.int64) @ (self._width, 1)  # (entries,), sorted
        self._forward = lexicon.forward
        self._backward = lexicon.backward
        self._source_null = lexicon.null(0)
        self._target_null = lexicon.null(1)

    def of(
        self, source: Ragged, target: Ragged, links: Ragged
    ) -> tuple[DoubleArray, DoubleArray]:
        """(n,) lex(s|t) and lex(t|s) of n phrase pairs: the product over words of the mean over their links.

        source, target: n rows of word types. links: n rows of (source word, target word).
        """
        source_positions = word_positions(source, links, 0)
        target_positions = word_positions(target, links, 1)
        source_types = source.values[source_positions].astype(np.int64)
        target_types = target.values[target_positions].astype(np.int64)
        entries = np.searchsorted(self._keys, source_types * self._width + target_types)
        source_given_target = self._backward[entries]  # (links,)
        target_given_source = self._forward[entries]
        return (
            _product_of_means(source, source_positions, source_given_target, self._source_null),
            _product_of_means(target, target_positions, target_given_source, self._target_null),
        )


def _product_of_means(
    phrases: Ragged,
    positions: IntArray,
    probabilities: DoubleArray,
    null: DoubleArray,
) -> DoubleArray:
    """(n,) the product over the words of a phrase of the mean probability of their links, that of NULL without links.

    positions: (links,) of words in all phrases.
    """
    words = len(phrases.values)
    link_counts = np.bincount(positions, minlength=words)
    totals = np.bincount(positions, probabilities, minlength=words)
    link_means = totals / np.maximum(link_counts, 1)
    means = np.where(link_counts > 0, link_means, null[phrases.values])
    products: DoubleArray = np.multiply.reduceat(means, phrases.offsets[:-1])
    return np.maximum(products, _MIN_WEIGHT)
