"""Reverse the words of each sentence (T_inv of Tang et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import TextLayout, reorder
from interlace.derived.common.sentences import KEEP, SPLIT, Split, find_sentences

if TYPE_CHECKING:
    from interlace.text import Text


class Invert(Transformation):
    """Reverses each sentence; the sentence-final mark stays at the end. It is its own inverse."""

    sentence_split: Split = SPLIT
    keep_final_punct: bool = KEEP

    @property
    def invertible(self) -> bool:
        """Marks that move create or remove sentence ends; a line as one sentence cannot recover its final mark."""
        return self.keep_final_punct != (self.sentence_split == "line")

    def derive(self, text: Text, key: int) -> DerivedText:  # noqa: ARG002 - nothing is random
        """Return the derived lines; a name that spans a sentence-final mark is split, and counted."""
        from interlace.derived.common.kernels import reverse

        layout = TextLayout(text)
        order = np.arange(layout.offsets[-1])
        runs = find_sentences(layout, self.sentence_split, keep=self.keep_final_punct)
        reverse(*runs, order)
        return reorder(layout, order, runs.left_out)
