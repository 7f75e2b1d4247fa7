"""Put the words of each sentence in random order."""

from typing import Any

import numpy as np

from interlace.derived.common.sentences import SentenceOrder


class Permute(SentenceOrder):
    """Permutes each sentence, all orders equally likely; the sentence-final mark stays at the end.

    The order depends on the seed and on the set of words of the sentence, so the same sentence is permuted in the same
    way everywhere.
    """

    def fill(self, order: Any, words: Any, runs: Any, key: int) -> None:
        """Permute each run."""
        from interlace.derived.common.kernels import hash_words, shuffle

        hashes = np.empty(len(words.starts), np.uint64)
        hash_words(words.codes, words.starts, words.ends, np.uint64(key), hashes)
        shuffle(runs, hashes, order)
