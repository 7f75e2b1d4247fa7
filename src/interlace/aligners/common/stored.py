"""Alignments of one fixed corpus: the result of external programs and alignment files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners import Aligner, Alignments, FittedAligner
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.alignment import WordPairs


@dataclass(frozen=True)
class StoredAlignments(FittedAligner):
    """The links of the training pairs, looked up by the index of a pair in its corpus.

    links: a row per pair. source_lengths, target_lengths: words of each pair. confidence: (total,) of each link.
    """

    aligner: Aligner
    links: Ragged
    source_lengths: NDArray[np.int64]
    target_lengths: NDArray[np.int64]
    confidence: NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls, aligner: Aligner, pairs: WordPairs, links: Ragged, confidence: NDArray[np.float32] | None = None
    ) -> StoredAlignments:
        """Store the links of a whole corpus; without confidence, every link has 1."""
        return cls(aligner, links, pairs.source.lengths, pairs.target.lengths, confidence)

    def align(self, pairs: WordPairs) -> Alignments:
        """Return the links of the pairs from index `pairs.first` on.

        Raises:
            DataError: these are not the training pairs.
        """
        rows = slice(pairs.first, pairs.first + len(pairs))
        if rows.stop > len(self.links):
            raise self._other_text(f"of {len(self.links)} pairs, which has no pair {rows.stop}")
        known = np.stack([self.source_lengths[rows], self.target_lengths[rows]], axis=1)
        found = np.stack([pairs.source.lengths, pairs.target.lengths], axis=1)
        if (differs := (known != found).any(axis=1)).any():
            row = int(differs.argmax())
            there, here = ("{} and {} words".format(*side[row].tolist()) for side in (known, found))
            raise self._other_text(f"whose pair {rows.start + row + 1} has {there}; this one has {here}")
        links = self.links.slice(rows.start, rows.stop)
        flat = np.ascontiguousarray(links.flat)
        part = slice(links.offsets[0], links.offsets[-1])
        confidence = np.ones(len(flat), np.float32) if self.confidence is None else self.confidence[part]
        return Alignments(Ragged(flat, links.offsets - links.offsets[0]), confidence)

    def _other_text(self, why: str) -> DataError:
        name = self.aligner.name
        return DataError(f"{name}: the alignments are of another text, {why}; {name} only aligns its training text")
