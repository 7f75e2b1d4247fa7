"""Word translations with counts, from links or dictionaries: a prior for aligners, a dictionary for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Lexicon:
    """Pairs of word types that translate each other, and how often they were linked.

    source_types, target_types: the spelling of each type.
    entries: (m, 2) int32 (source type, target type), sorted, each once.
    counts: (m,) float64, links seen; 1 for an entry of a dictionary.
    """

    source_types: list[str]
    target_types: list[str]
    entries: NDArray[np.int32]
    counts: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, entry: int) -> tuple[str, str, float]:
        source, target = self.entries[entry].tolist()
        return self.source_types[source], self.target_types[target], float(self.counts[entry])
