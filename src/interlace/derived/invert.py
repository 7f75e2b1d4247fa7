"""The words of each sentence in reverse order (T_inv of Tang et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.derived import Derived, Transformation
from interlace.derived._layout import Layout, reordered
from interlace.derived._sentences import KEEP, SPLIT, Split, sentences

if TYPE_CHECKING:
    from interlace.text import Text


class Invert(Transformation):
    """Sentence by sentence, the last word first; the end mark stays at the end. It is its own opposite."""

    sentence_split: Split = SPLIT
    keep_final_punct: bool = KEEP

    @property
    def undoes(self) -> bool:
        """Marks that move among words make or end other sentences; a line as a whole has no end marks to find again."""
        return self.keep_final_punct != (self.sentence_split == "line")

    def derive(self, text: Text, key: int) -> Derived:  # noqa: ARG002 - nothing is drawn
        """The derived lines; a name that goes on over an end mark is torn apart, and counted."""
        from interlace.derived._sentences_kernels import reverse

        layout = Layout(text)
        order = np.arange(layout.offsets[-1])
        found = sentences(layout, self.sentence_split, keep=self.keep_final_punct)
        reverse(*found, order)
        return reordered(layout, order, found.left_out)
