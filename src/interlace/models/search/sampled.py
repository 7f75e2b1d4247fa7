"""Subwords drawn by their probability.

Legend: B rows of a batch, R those that have not ended, T most subwords and the end, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from interlace.models.search._choice import highest
from interlace.models.search._walk import walk

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.search import Decoding, Found, Rules


def sampled(
    decoding: Decoding,
    first: Tensor,
    limits: Tensor,
    rules: Rules,
    draws: Tensor,
    *,
    temperature: float = 1.0,
    top: int = 0,
) -> Found:
    """A hypothesis a row, each subword drawn by the model's probability.

    A row and a place have a number of their own that decides them, so what is drawn hangs on nothing else in the
    batch.

    Args:
        decoding: a batch that has been read.
        first: (B,) what each row begins with: the target language.
        limits: (B,) the most subwords of each row.
        rules: which subwords may be chosen.
        draws: (B, T) numbers from 0 to below 1, for the longest row one more than its limit; see `draws_of`.
        temperature: scores are divided by it; below 1 likely subwords become likelier.
        top: draw from so many of the likeliest subwords alone; 0: from all (Edunov et al. 2018, section 3: 10).

    Raises:
        CheckpointError: the model computes no numbers.
    """
    draws = draws.to(first.device, torch.float32)

    def choose(scores: Tensor, rows: Tensor, said: int) -> Tensor:
        numbers = draws[rows, said]
        if not top:
            return _drawn(scores, temperature, numbers)
        best, places = highest(scores, top)
        return places.gather(1, _drawn(best, temperature, numbers)[:, None])[:, 0]

    return walk(decoding, first, limits, rules, choose)


def draws_of(limits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """(B, T) numbers for rows of these limits, from a generator of the CPU; none: torch's own."""
    width = int(limits.max()) + 1 if len(limits) else 0
    return torch.rand((len(limits), width), generator=generator)


def _drawn(scores: Tensor, temperature: float, numbers: Tensor) -> Tensor:
    """(R,) places in (R, V) scores: where the sum of the probabilities passes the number."""
    sums = (scores / temperature).softmax(1).cumsum(1)
    total = sums[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))  # a number that was rounded to 1 would find no place
    return torch.searchsorted(sums, torch.minimum(numbers[:, None] * total, below), right=True)[:, 0]
