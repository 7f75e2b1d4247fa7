"""Search: the subwords that a model finds most likely, or draws, one after another.

Greedy, sampled and beam search walk through a `Decoding`: a batch that has been read and remembers what was said so
far. One model is a decoding, several together are one, and so is whatever else can `step` and `select`. Rows end at
different times; those that have ended leave the batch, so that no row costs more than its own length.

Legend: B rows of a batch, R rows that are walked (B, or B times the beam), N hypotheses of a row, T subwords of the
longest, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.data.vocab import Vocab


class Decoding(Protocol):
    """What a search walks through. `step` changes it in place; `select` makes another one of it."""

    def step(self, tokens: Tensor) -> Tensor:
        """(R, V) float32 scores of the next subword, from the (R,) subwords that were chosen last.

        The search may write into what it gets.
        """

    def select(self, rows: Tensor) -> Self:
        """The decoding of the (R',) named rows; a row may be named more than once, or not at all."""


@dataclass(frozen=True)
class Rules:
    """Which subwords a search may choose.

    end: ends a row. pad: fills rows up. never: (n,) ids that are never chosen.
    """

    end: int
    pad: int
    never: tuple[int, ...] = ()

    @classmethod
    def of(cls, vocab: Vocab, rows: int, *, unknown: bool = False) -> Rules:
        """Those of a vocabulary: nothing special but the end, and nothing that the model's table has beyond it.

        Args:
            vocab: the vocabulary.
            rows: of the model's table.
            unknown: whether the subword may be chosen that stands for what cannot be spelt.
        """
        never = {*vocab.special_ids.tolist(), *range(vocab.size, rows)} - {vocab.end}
        return cls(vocab.end, vocab.pad, tuple(sorted(never - ({vocab.unk} if unknown else set()))))


@dataclass(frozen=True, eq=False)
class Found:
    """Hypotheses of each row, best first.

    ids: (B, N, T) their subwords, without what began them and without the end; padded.
    lengths: (B, N) how many; -1 where a row has fewer than N hypotheses.
    logprobs: (B, N) float32, the sum of their log-probabilities, that of the end included; -inf where there is none.
    """

    ids: Tensor
    lengths: Tensor
    logprobs: Tensor

    def best(self) -> Ragged:
        """The best of each row, int64."""
        return self.ranked(0)

    def ranked(self, rank: int) -> Ragged:
        """A row each of what stands at a rank, from 0; empty where a row has no so many."""
        lengths = self.lengths[:, rank].cpu().numpy().clip(0)
        ids = self.ids[:, rank].cpu().numpy()
        return Ragged.from_lengths(ids[np.arange(ids.shape[1]) < lengths[:, None]], lengths)
