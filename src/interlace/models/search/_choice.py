"""What every search does with the scores of the next subword.

Legend: R rows, V vocabulary, K choices of a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from interlace.core.errors import CheckpointError

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.search import Rules

NEVER = float("-inf")


class Restraint:
    """Keeps a search to its rules and its rows to their lengths.

    limits: (R,) on the CPU, the most subwords of each row.
    """

    def __init__(self, rules: Rules, limits: Tensor, device: torch.device) -> None:
        self.end = rules.end
        self._never = torch.tensor(rules.never, dtype=torch.int64, device=device)
        self.limits = limits

    def keep(self, scores: Tensor, said: int) -> None:
        """Put -inf, in place, wherever (R, V) scores may not be chosen behind `said` subwords.

        A row that is as long as it may be can only end.
        """
        scores[:, self._never] = NEVER
        full = self.limits <= said
        if bool(full.any()):
            rows = full.nonzero()[:, 0].to(scores.device)
            ends = scores[rows, self.end]
            scores[rows] = NEVER
            scores[rows, self.end] = ends

    def select(self, rows: Tensor) -> None:
        """Go on with the named rows."""
        self.limits = self.limits[rows.cpu()]


def normaliser(scores: Tensor) -> Tensor:
    """(R,) what (R, V) scores lie above log-probabilities.

    Raises:
        CheckpointError: the model computes no numbers.
    """
    total = scores.logsumexp(1)
    if bool(total.isnan().any()):
        raise CheckpointError("the model computes no numbers (NaN); its weights are damaged, or training diverged")
    return total


def highest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The (R, K) highest of (R, V) scores in falling order, and their places; of equals the first comes first.

    `topk` promises no order of equals, and which of them it takes changes with the shape of a batch.
    """
    count = min(count, scores.shape[1])
    values, places = scores.topk(min(count + 1, scores.shape[1]))
    if values.shape[1] > count:
        last, beyond = values[:, count - 1], values[:, count]
        tied = ((last == beyond) & (last > NEVER)).nonzero()[:, 0]
        values, places = values[:, :count], places[:, :count]
        if len(tied):
            ordered = scores[tied].sort(dim=1, descending=True, stable=True)
            values, places = values.clone(), places.clone()
            values[tied], places[tied] = ordered.values[:, :count], ordered.indices[:, :count]
    places, order = places.sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    return values, places.gather(1, order)
