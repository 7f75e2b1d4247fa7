"""What `diagonal` learns from: the usable pairs of a text in the model's numbers."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners._folding import Renumbering
from interlace.aligners._usable import MOST_CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from interlace.aligners._folding import Vocabulary
    from interlace.alignment import WordPairs
    from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)

_SIDES = (math.isqrt(MOST_CELLS),) * 2


class Corpus:
    """The pairs that can be learnt from, chunk by chunk; the vocabularies take in the types of their words.

    chunks: how many there are.
    shapes, times: (s, 2) numbers of source and target words that pairs have, and (s,) how many pairs have them.
    """

    def __init__(self, pairs: WordPairs, source: Vocabulary, target: Vocabulary) -> None:
        self.source, self.target = source, target
        self._pairs = pairs
        self._renumber = (Renumbering(pairs.source_types, source), Renumbering(pairs.target_types, target))
        self.chunks = 0
        self.shapes, self.times = self._survey()
        cells = pairs.source.lengths * pairs.target.lengths
        if self.chunks and (beyond := int((cells > MOST_CELLS).sum())):
            log.warning("%d pairs of more than %d times %d words are linked but not learnt from", beyond, *_SIDES)

    def __iter__(self) -> Iterator[tuple[Ragged, Ragged]]:
        """Source and target of each chunk; all pairs have words on both sides and at most MOST_CELLS cells."""
        for chunk in self._pairs.chunks():
            cells = chunk.source.lengths * chunk.target.lengths
            usable = (cells > 0) & (cells <= MOST_CELLS)
            if usable.all():
                yield self._numbered(chunk.source, chunk.target)
            elif usable.any():
                yield self._numbered(chunk.source.take(usable), chunk.target.take(usable))

    def _numbered(self, source: Ragged, target: Ragged) -> tuple[Ragged, Ragged]:
        return self._renumber[0](source, grow=True), self._renumber[1](target, grow=True)

    def _survey(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number all words once, and count the shapes of pairs."""
        seen: dict[tuple[int, ...], int] = {}
        for source, target in self:
            self.chunks += 1
            lengths = np.stack([source.lengths, target.lengths], axis=1)
            shapes, times = np.unique(lengths, axis=0, return_counts=True)
            for shape, more in zip(map(tuple, shapes.tolist()), times.tolist(), strict=True):
                seen[shape] = seen.get(shape, 0) + more
        ordered = sorted(seen)
        return np.array(ordered, np.int64).reshape(-1, 2), np.array([seen[shape] for shape in ordered], np.int64)
