"""Phrases of a batch straight from its word links: no phrase store, and no probabilities but those of links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.links.phrases import phrase_pairs
from interlace.objectives._switching import Choices, word_counts
from interlace.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.data import Pairs
    from interlace.links.phrases import PhraseRules


def extracted(
    pairs: Pairs,
    rules: PhraseRules,
    inside: NDArray[np.bool_] | None = None,
    texts: NDArray[np.int32] | None = None,
) -> Choices:
    """All phrases that agree with the links.

    Of several counterparts the one without stray words is to be taken, and no table can say which. So a phrase pair's
    score is the sum of its links' confidence over the words of its inserted side: each unlinked word lowers it.

    inside, texts: as `Choices.of` takes them.
    """
    links = pairs.links or Ragged(np.zeros((0, 2), np.int32), np.zeros(len(pairs) + 1, np.int64))
    words = np.stack([word_counts(pairs.source), word_counts(pairs.target)], axis=1)
    if (links.flat >= words[links.rows()]).any():  # last words may have no subword
        np.maximum.at(words, links.rows(), links.flat.astype(np.int64) + 1)
    links, confidence = rules.sure(links, None if pairs.confidence is None else pairs.confidence.flat)
    phrases = phrase_pairs(words[:, 0], words[:, 1], links, rules, 1, confidence)
    sizes = phrases.values[:, 1::2] - phrases.values[:, ::2]
    held = _held(links, confidence, words[:, 0], phrases)
    scores = np.minimum(held[:, None] / sizes[:, ::-1], 1).astype(np.float32)
    return replace(Choices.of(pairs, inside, texts), phrases=phrases, scores=scores)


def _held(
    links: Ragged, confidence: NDArray[np.float32] | None, lengths: NDArray[np.int64], phrases: Ragged
) -> NDArray[np.float64]:
    """(P,) the confidence of the links inside each phrase pair: all those of its source words, for none leads out."""
    starts = np.cumsum(lengths) - lengths
    words = starts[links.rows()] + links.flat[:, 0]
    sums = np.zeros(int(lengths.sum()) + 1)
    np.cumsum(np.bincount(words, confidence, minlength=len(sums) - 1), out=sums[1:])
    first = starts[phrases.rows()]
    return np.asarray(sums[first + phrases.values[:, 1]] - sums[first + phrases.values[:, 0]])
