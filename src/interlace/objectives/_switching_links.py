"""Phrases of a batch straight from its word links: no phrase store, and no probabilities but those of links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.objectives._switching import Choices, word_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.alignment.phrases import PhraseRules
    from interlace.data import Pairs


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
    links, confidence = rules.confident(links, None if pairs.confidence is None else pairs.confidence.flat)
    phrases = phrase_pairs(words[:, 0], words[:, 1], links, rules, 1, confidence)
    scores = _sureness(links, confidence, words, phrases)
    return replace(Choices.of(pairs, inside, texts), phrases=phrases, scores=scores[:, ::-1].astype(np.float32))


def _sureness(
    links: Ragged, confidence: NDArray[np.float32] | None, words: NDArray[np.int64], phrases: Ragged
) -> NDArray[np.float64]:
    """(P, 2) by side, the mean over a phrase's words of how sure the surest link of each is; 0 for one without."""
    sure = 1.0 if confidence is None else confidence.astype(np.float64)  # one type: else `at` is slow
    means = np.empty((len(phrases.values), 2))
    of_links, of_phrases = links.rows(), phrases.rows()
    for side in (0, 1):
        starts = np.cumsum(words[:, side]) - words[:, side]
        surest = np.zeros(int(words[:, side].sum()))
        np.maximum.at(surest, starts[of_links] + links.flat[:, side], sure)
        sums = np.concatenate([[0.0], np.cumsum(surest)])
        begin, end = phrases.values[:, 2 * side], phrases.values[:, 2 * side + 1]
        first = starts[of_phrases]
        means[:, side] = (sums[first + end] - sums[first + begin]) / (end - begin)
    return means
