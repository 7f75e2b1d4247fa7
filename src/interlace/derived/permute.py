"""The words of each sentence in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.derived import Derived, Transformation
from interlace.derived._layout import Layout, reordered
from interlace.derived._sentences import KEEP, SPLIT, Split, sentences

if TYPE_CHECKING:
    from interlace.text import Text


class Permute(Transformation):
    """Sentence by sentence, all orders equally likely; the end mark stays at the end.

    The order hangs on the seed and on which words a sentence has, so the same sentence is permuted in the same way
    wherever it stands, and can be put in order again.
    """

    sentence_split: Split = SPLIT
    keep_final_punct: bool = KEEP

    @property
    def undoes(self) -> bool:
        """Marks that move among words make or end other sentences; a line as a whole has no end marks to find again."""
        return self.keep_final_punct != (self.sentence_split == "line")

    def derive(self, text: Text, key: int) -> Derived:
        """The derived lines; names whose words are scattered become as many names, and are counted."""
        return self._moved(text, key, back=False)

    def restore(self, text: Text, key: int) -> Derived:
        """The words in the order they had."""
        return self._moved(text, key, back=True)

    def _moved(self, text: Text, key: int, *, back: bool) -> Derived:
        from interlace.derived._keys_kernels import hash_words
        from interlace.derived._sentences_kernels import shuffle

        layout = Layout(text)
        found = sentences(layout, self.sentence_split, keep=self.keep_final_punct)
        hashes = np.empty(len(layout.starts), np.uint64)
        hash_words(layout.codes, layout.starts, layout.ends, np.uint64(key), hashes)
        order = np.arange(len(hashes))
        shuffle(*found, hashes, back, order)
        return reordered(layout, order, found.left_out)
