"""Which dictionary entries a step pulls together, as arrays: pure numpy, the same for every micro-batch of a step.

Legend: n entries drawn from the dictionaries; P pairs of a step; W words of a step; K other words; T subwords.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.objectives._lexicons import Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.objectives._lexicons import Dictionaries

_Arrays = dict[str, "NDArray[np.int64]"]


@dataclass(frozen=True)
class AlignmentPairs:
    """The drawn entries, and how many of them a step takes.

    words: rows of subwords; source, target: (n,) the words of each entry, each pair of words once.
    pairs: taken at a step, None for all. others: K, words a source is told from; 0 where only pairs matter.
    seed: of what a step draws.
    """

    words: Ragged
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    pairs: int | None
    others: int
    seed: int

    @classmethod
    def of(cls, dictionaries: Dictionaries, *, pairs: int | None, others: int, seed: int) -> AlignmentPairs:
        """The entries of all dictionaries that are learnt from."""
        at = dictionaries.of(Part.DRAWN)
        both = np.unique(np.stack([dictionaries.source[at], dictionaries.target[at]]), axis=1)
        return cls(dictionaries.words, both[0], both[1], pairs, others, seed)

    @property
    def count(self) -> int:
        """P."""
        return len(self.source) if self.pairs is None else min(self.pairs, len(self.source))

    def arrays(self, step: int) -> _Arrays:
        """What the loss reads.

        align_ids, align_starts: (T,) subwords of the step's words, (W,) where each begins.
        align_source, align_target: (P,) words. align_others: (K,) words that sources are told from.
        align_known: (2, ...) the pairs (row, column) of sources and others that translate each other.
        """
        if self.count == len(self.source) and not self.others:
            return self._whole
        rng = generator(Purpose.DICTIONARY, self.seed, step, 1)
        whole = self.count == len(self.source)
        at = np.arange(self.count) if whole else np.sort(rng.permutation(len(self.source))[: self.count])
        source, target = self.source[at], self.target[at]
        others = rng.permutation(self._targets)[: self.others]
        return self._arrays(source, target, others)

    @cached_property
    def _whole(self) -> _Arrays:
        return self._arrays(self.source, self.target, self.target[:0])

    @cached_property
    def _targets(self) -> NDArray[np.int64]:
        """Words that are a target, each once."""
        return np.unique(self.target)

    @cached_property
    def _by_target(self) -> Ragged:
        """For each word, the sources that it translates."""
        order = np.argsort(self.target, kind="stable")
        return Ragged.from_lengths(self.source[order], np.bincount(self.target, minlength=len(self.words)))

    def _arrays(self, source: NDArray[np.int64], target: NDArray[np.int64], others: NDArray[np.int64]) -> _Arrays:
        used, places = np.unique(np.concatenate([source, target, others]), return_inverse=True)
        rows = self.words.take(used)
        parts = np.split(places.astype(np.int64), np.cumsum([len(source), len(target)]))
        found = {
            "align_ids": rows.flat.astype(np.int64),
            "align_starts": rows.offsets[:-1].copy(),
            "align_source": parts[0],
            "align_target": parts[1],
        }
        return found | ({"align_others": parts[2], "align_known": self._known(source, others)} if len(others) else {})

    def _known(self, source: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
        """(2, ...) rows of `source` and columns of `others` that are translations, or the same word.

        A word is the source of one dictionary and the target of another, and must not be pushed away from itself.
        """
        translated = self._by_target.take(others)
        wanted = np.concatenate([translated.flat, others])
        columns = np.concatenate([translated.rows(), np.arange(len(others))])
        order = np.argsort(source, kind="stable")
        first, last = (np.searchsorted(source[order], wanted, side) for side in ("left", "right"))
        runs = np.cumsum(last - first)
        index = np.arange(runs[-1] if len(runs) else 0) + np.repeat(last - runs, last - first)
        return np.stack([order[index], np.repeat(columns, last - first)])
