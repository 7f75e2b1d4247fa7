"""The part a task adds to a backbone: dropout and one linear layer (Devlin et al. 2019, section 4).

Legend: N predictions, H width, C classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn

SPREAD = 0.02  # standard deviation of fresh weights, BERT's


def make_head(width: int, classes: int, dropout: float) -> nn.ModuleDict:
    """A fresh head; weights are drawn from torch's generator, which the loop has keyed."""
    from torch import nn

    linear = nn.Linear(width, classes)
    nn.init.normal_(linear.weight, std=SPREAD)
    nn.init.zeros_(linear.bias)
    return nn.ModuleDict({"dropout": nn.Dropout(dropout), "linear": linear})


def apply_head(head: nn.ModuleDict, states: Tensor) -> Tensor:
    """(N, C) scores in float32 from (N, H) states."""
    scores: Tensor = head["linear"](head["dropout"](states))
    return scores.float()
