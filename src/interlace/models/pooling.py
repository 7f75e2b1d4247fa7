"""Vectors of whole sequences: states pooled, then perhaps a dense layer.

Legend: B sequences, L tokens of the longest, H width, D dimensions of sentence vectors.
"""

from typing import Literal

import torch
from torch import Tensor, nn

Pooling = Literal["first", "mean", "max"]

ACTIVATIONS: dict[str, type[nn.Module]] = {"Identity": nn.Identity, "Tanh": nn.Tanh}


def pool(states: Tensor, mask: Tensor, how: Pooling) -> Tensor:
    """Return one (B, H) vector a sequence from (B, L, H) states; zeros for a sequence without a state to pool.

    mask: (B, L) true where a state counts. how: the first state (BERT's and XLM's sentence vector), the mean
    (summed in float32) or the maximum.
    """
    mask = mask.bool()
    counts = mask.sum(dim=1, keepdim=True)
    if how == "mean":
        total = (states.float() * mask[:, :, None]).sum(dim=1)
        return (total / counts.clamp(min=1)).to(states.dtype)
    if how == "first":
        rows = torch.arange(len(states), device=states.device)
        pooled = states[rows, mask.int().argmax(dim=1)]
    else:
        pooled = states.masked_fill(~mask[:, :, None], float("-inf")).amax(dim=1)
    return pooled.masked_fill(counts == 0, 0.0)


class SentenceHead(nn.Module):
    """The sentence vectors that a model was trained for: its last states, special tokens included, are pooled.

    dense: a layer after pooling, as LaBSE has one. activation: its activation, a key of `ACTIVATIONS`.
    """

    def __init__(
        self,
        pooling: Pooling = "mean",
        dense: nn.Linear | None = None,
        activation: str = "Identity",
    ) -> None:
        super().__init__()
        self.pooling: Pooling = pooling
        self.dense = dense
        self.activation = activation
        self.activate = ACTIVATIONS[activation]()

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """Return (B, D) float32 vectors of any length from (B, L, H) states; real: (B, L) false at padding."""
        vectors = pool(states.float(), real, self.pooling)
        if self.dense is None:
            return vectors
        return self.activate(self.dense(vectors)).float()
