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
    score is the mean, over the words of its inserted side, of how sure the surest link of each is: unlinked words
    lower it.

    inside, texts: as `Choices.of` takes them.
    """
    links = pairs.links or Ragged(np.zeros((0, 2), np.int32), np.zeros(len(pairs) + 1, np.int64))
    words = np.stack([word_counts(pairs.source), word_counts(pairs.target)], axis=1)
    if (links.flat >= words[links.rows()]).any():  # last words may have no subword
        np.maximum.at(words, links.rows(), links.flat.astype(np.int64) + 1)
    links, confidence = rules.sure(links, None if pairs.confidence is None else pairs.confidence.flat)
    phrases = phrase_pairs(words[:, 0], words[:, 1], links, rules, 1, confidence)
    scores = np.stack([_sureness(links, confidence, words, phrases, side) for side in (1, 0)], axis=1)
    return replace(Choices.of(pairs, inside, texts), phrases=phrases, scores=scores.astype(np.float32))


def _sureness(
    links: Ragged, confidence: NDArray[np.float32] | None, words: NDArray[np.int64], phrases: Ragged, side: int
) -> NDArray[np.float64]:
    """(P,) the mean over the words on one side of each phrase pair of their surest link's confidence, else of 0."""
    starts = np.cumsum(words[:, side]) - words[:, side]
    surest = np.zeros(int(words[:, side].sum()))
    np.maximum.at(surest, starts[links.rows()] + links.flat[:, side], 1.0 if confidence is None else confidence)
    sums = np.concatenate([[0.0], np.cumsum(surest)])
    first = starts[phrases.rows()]
    begin, end = phrases.values[:, 2 * side], phrases.values[:, 2 * side + 1]
    return np.asarray((sums[first + end] - sums[first + begin]) / (end - begin))
