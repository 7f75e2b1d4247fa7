"""Base of objectives that train sentence vectors on pairs whose sides are separate sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.core.ragged import AnyArray
from interlace.data import Pairs
from interlace.data.layout import separate_costs
from interlace.objectives import Objective

if TYPE_CHECKING:
    from torch import nn

    from interlace.models.backbone import Backbone


class SentenceVectorObjective(Objective):
    """An objective of the vectors that export writes for sentence-transformers.

    They are made as those of the start, if it is a folder of sentence-transformers; else they are the mean of the last
    states, special tokens included.
    """

    reads = Pairs

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """Give the backbone a sentence head if it has none, which stays at export; return no other heads."""
        from torch import nn

        from interlace.models.backbone import SentenceHead

        backbone.sentence_head = backbone.sentence_head or SentenceHead()
        return nn.ModuleDict()

    def pair_costs(self, source: AnyArray, target: AnyArray) -> AnyArray:
        """Return (n,) tokens of two sequences, each as long as the longer side."""
        return separate_costs(source, target, self.max_length)
