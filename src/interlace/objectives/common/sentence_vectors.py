"""Base of objectives that train sentence vectors on pairs whose sides are separate sequences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import AnyArray, Arrays, IntArray
from interlace.data import Pairs
from interlace.data.layout import separate_costs, separate_sides
from interlace.objectives import Batch, Cells, Objective, Prepared, place_texts

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

    def batch_of_pairs(self, pairs: Pairs, prepared: Prepared, extra: Arrays) -> Batch:
        """Lay out the source sentences first, then the target sentences; no token is predicted."""
        none = np.zeros(0, np.int64)
        batch = Batch.of(
            separate_sides(pairs, prepared.vocab, self.max_length),
            pairs.languages,
            prepared,
            at=(none, none),
            labels=none,
            counts={self.term: len(pairs)},
            extra=extra,
        )
        return replace(batch, sides=None)

    def pair_costs(self, source: AnyArray, target: AnyArray) -> AnyArray:
        """Return (n,) tokens of two sequences, each as long as the longer side."""
        return separate_costs(source, target, self.max_length)


def place_sequences(partners: IntArray) -> Cells:
    """Return for previews the name of the sequence that belongs to each sequence, by the (n,) numbers of these."""
    names = []
    for number in partners.tolist():
        names.append(f"sequence {number + 1}")
    sequences = np.arange(len(partners))
    return place_texts(sequences, np.zeros_like(sequences), names)
