"""What the compiled loops of `diagonal` read and write, as named bundles of arrays.

Legend of all its files: m source words and n target words of a pair, i and j their places. "Forward" explains each
target word by a source word, "backward" each source word by a target word. Both directions lie in the
same slots (`_cooccurrence`), because one search then serves both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.aligners._cooccurrence import Cooccurrence, Fields

FIXED = 1 << 30  # expected counts are whole numbers of 1 / FIXED links: their sums are then free of order
SCALE = 2.0**100  # probabilities are held times this, for float32 to reach down to 1e-66; posteriors don't notice
LEAST = 2.0**-120  # of a scaled probability, so that no sum is zero
PROBABILITIES: Fields = [("forward", np.float32), ("backward", np.float32)]  # of a slot


class Rows(NamedTuple):
    """Words of pairs as types of the model, -1 where it knows none. Offsets begin at 0."""

    source: NDArray[np.int32]
    source_offsets: NDArray[np.int64]
    target: NDArray[np.int32]
    target_offsets: NDArray[np.int64]


class Model(NamedTuple):
    """Probabilities, times SCALE.

    starts, targets: the slots, as `Cooccurrence` has them.
    forward, backward: (slots,) of the target type given the source type, and the other way round.
    source_null, target_null: (types,) of a type given the null word.
    tensions: (2,) how much links favour the diagonal, forward and backward.
    odds: (1,) of the null word, p0 / (1 - p0).
    """

    starts: NDArray[np.int64]
    targets: NDArray[np.int32]
    forward: NDArray[np.float32]
    backward: NDArray[np.float32]
    source_null: NDArray[np.float32]
    target_null: NDArray[np.float32]
    tensions: NDArray[np.float64]
    odds: NDArray[np.float64]

    @classmethod
    def of(
        cls, table: Cooccurrence, nulls: tuple[NDArray[np.float32], ...], tensions: NDArray[np.float64], null: float
    ) -> Model:
        """Views of a table; nulls: of source and target; null: the probability of the null word."""
        slots = (table.slots["target"], table.slots["forward"], table.slots["backward"])
        return cls(table.starts, *slots, nulls[0], nulls[1], tensions, np.array([null / (1 - null)]))


class Counts(NamedTuple):
    """Expected counts in units of 1 / FIXED.

    forward, backward: (slots,) of both directions; the same array where they agree on them.
    source_null, target_null: (types,) of the null word.
    """

    forward: NDArray[np.int64]
    backward: NDArray[np.int64]
    source_null: NDArray[np.int64]
    target_null: NDArray[np.int64]
