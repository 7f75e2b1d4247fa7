"""Put the words of each sentence in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import TextLayout, reorder
from interlace.derived.common.sentences import KEEP, SPLIT, Split, find_sentences

if TYPE_CHECKING:
    from interlace.text import Text


class Permute(Transformation):
    """Permutes each sentence, all orders equally likely; the sentence-final mark stays at the end.

    The order depends on the seed and on the set of words of the sentence, so the same sentence is permuted in the same
    way everywhere, and can be restored.
    """

    sentence_split: Split = SPLIT
    keep_final_punct: bool = KEEP

    @property
    def invertible(self) -> bool:
        """Marks that move create or remove sentence ends; a line as one sentence cannot recover its final mark."""
        return self.keep_final_punct != (self.sentence_split == "line")

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines; names whose words are scattered are split, and counted."""
        return self._permuted(text, key, back=False)

    def restore(self, text: Text, key: int) -> DerivedText:
        """Return the words in their original order."""
        return self._permuted(text, key, back=True)

    def _permuted(self, text: Text, key: int, *, back: bool) -> DerivedText:
        from interlace.derived.common.kernels import hash_words, shuffle

        layout = TextLayout(text)
        runs = find_sentences(layout, self.sentence_split, keep=self.keep_final_punct)
        hashes = np.empty(len(layout.starts), np.uint64)
        hash_words(layout.codes, layout.starts, layout.ends, np.uint64(key), hashes)
        order = np.arange(len(hashes))
        shuffle(*runs, hashes, back, order)
        return reorder(layout, order, runs.left_out)
