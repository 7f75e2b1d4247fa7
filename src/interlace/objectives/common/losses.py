"""Torch building blocks of losses: chunked cross-entropy, sums of states, the vocabulary head, a frozen encoder.

Legend: N predictions, B sequences, L tokens of the longest, H width, V vocabulary, E gathered states.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from interlace.models.backbone import Backbone

MAX_LOGITS = 1 << 28  # logits in memory at once; the backward pass peaks at four times their four bytes each


def chunked_cross_entropy(
    backbone: Backbone, states: Tensor, labels: Tensor, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return the summed cross-entropy with label smoothing, and the sum without.

    If not all logits fit into memory they are computed in chunks, and recomputed in the backward pass.

    Args:
        backbone: its vocabulary head is used.
        states: (N, H).
        labels: (N,).
        smoothing: share of a label's weight that is spread over the vocabulary (Szegedy et al. 2016, section 7;
            Vaswani et al. 2017, section 5.4).
    """
    if len(states) * backbone.vocab_size <= MAX_LOGITS:
        total, plain = _cross_entropies(backbone, states, labels, smoothing)
        return total, plain
    size = max(1, MAX_LOGITS // backbone.vocab_size)
    chunks = zip(torch.split(states, size), torch.split(labels, size), strict=True)
    sums = [checkpoint(_cross_entropies, backbone, *chunk, smoothing, use_reentrant=False) for chunk in chunks]
    totals, plains = zip(*sums, strict=True)
    return torch.stack(totals).sum(), torch.stack(plains).sum()


def _cross_entropies(backbone: Backbone, states: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Compute both sums from one softmax; torch's own smoothing would take a second one."""
    logs = functional.log_softmax(backbone.logits(states).float(), dim=1)  # (N, V)
    plain = functional.nll_loss(logs, labels, reduction="sum")
    if not smoothing:
        return plain, plain.detach()
    return (1 - smoothing) * plain - smoothing / logs.shape[1] * logs.sum(), plain.detach()


def weighted_sums(states: Tensor, places: Tensor, to: Tensor, weights: Tensor, rows: int) -> Tensor:
    """Return (rows, H) float32 sums: row `to[e]` adds `weights[e]` times the state at `places[e]`.

    states: (B, L, H). places: (E,) indices into the flattened states. to, weights: (E,). Memory grows with E, not
    with L x L.
    """
    taken = states.flatten(0, 1)[places].float() * weights[:, None]  # (E, H)
    return taken.new_zeros(rows, taken.shape[1]).index_add(0, to, taken)


def identity_layer(width: int) -> nn.Linear:
    """Return a linear layer initialized to the identity."""
    layer = nn.Linear(width, width)
    nn.init.eye_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def split_head(backbone: Backbone) -> tuple[nn.Linear | None, Callable[[Tensor], Tensor]]:
    """Return the dense layer of a vocabulary head, and the rest (activation, norm, tied decoder, bias).

    Applied in turn they are `backbone.logits`. XLM's head has no dense layer: None and the whole head.
    """
    model, name = backbone.model, backbone.family.name
    if name == "bert":
        head = model.cls.predictions
        change = head.transform
        return change.dense, lambda states: head.decoder(change.LayerNorm(change.transform_act_fn(states)))
    if name == "roberta":
        head = model.lm_head
        return head.dense, lambda states: head.decoder(head.layer_norm(functional.gelu(states)))
    if name == "modernbert":
        head = model.head
        return head.dense, lambda states: model.decoder(head.norm(head.act(states)))
    return None, backbone.logits


class FrozenEncoder(nn.Module):
    """A copy of an encoder as it is when training starts, without gradients and dropout.

    It takes the encoder's memory again (4 bytes per parameter: 0.7 GB for mBERT, 1.1 GB for XLM-R base), but no
    gradients and optimizer states. Checkpoints contain it, so that a resumed run keeps the same copy.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.encoder = Backbone(deepcopy(backbone.model.base_model)).requires_grad_(requires_grad=False)
        self.train()

    def train(self, mode: bool = True) -> FrozenEncoder:  # noqa: ARG002 - torch's signature
        """Stay in evaluation mode."""
        return super().train(mode=False)

    def encode(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return (B, L, H) states."""
        with torch.no_grad():
            return self.encoder.encode(inputs)
