"""One vector for a row: its first state, or the mean or the largest of its states.

Legend: B rows, L subwords of the longest row, H width. A mask (B, L) is true where a state counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

How = Literal["first", "mean", "max"]


def pool(states: Tensor, mask: Tensor | None = None, how: How = "mean") -> Tensor:
    """(B, H) from (B, L, H); without a mask every state counts, and a row where none does gives zeros."""
    if mask is None:
        mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
    return {"first": first, "mean": mean, "max": largest}[how](states, mask.bool())


def countable(input_ids: Tensor, real: Tensor | None, specials: Sequence[int]) -> Tensor:
    """(B, L) mask of the real subwords that are not among `specials`: what to pool to leave specials out."""
    special = torch.isin(input_ids, torch.as_tensor(specials, device=input_ids.device))
    return ~special if real is None else real.bool() & ~special


def first(states: Tensor, mask: Tensor) -> Tensor:
    """The first state that counts (BERT's and XLM's sentence vector)."""
    places = mask.int().argmax(dim=1)
    rows = torch.arange(len(states), device=states.device)
    return states[rows, places] * mask.any(dim=1, keepdim=True)


def mean(states: Tensor, mask: Tensor) -> Tensor:
    """Their mean, summed in float32."""
    total = (states.float() * mask.unsqueeze(-1)).sum(dim=1)
    return (total / mask.sum(dim=1, keepdim=True).clamp(min=1)).to(states.dtype)


def largest(states: Tensor, mask: Tensor) -> Tensor:
    """The largest of each component."""
    hidden = states.masked_fill(~mask.unsqueeze(-1), float("-inf"))
    return hidden.amax(dim=1).masked_fill(~mask.any(dim=1, keepdim=True), 0.0)
