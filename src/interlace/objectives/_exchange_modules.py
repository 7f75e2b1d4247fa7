"""What exchanged states go through: gathering, the second half of a vocabulary head, and a frozen start.

Legend: B rows, L subwords of the longest row, H width, E gathered places, A rows of their sum, V vocabulary.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from interlace.models.backbone import Backbone

if TYPE_CHECKING:
    from collections.abc import Callable


def gathered(states: Tensor, places: Tensor, to: Tensor, weights: Tensor, rows: int) -> Tensor:
    """(rows, H) float32 sums of weighted states: row `to[e]` takes `weights[e]` times the state at `places[e]`.

    states: (B, L, H). places, to, weights: (E,). Rows that nothing goes to are zero. Memory grows with E, not L x L.
    """
    taken = states.flatten(0, 1)[places].float() * weights[:, None]  # (E, H)
    return taken.new_zeros(rows, taken.shape[1]).index_add(0, to, taken)


def identity(width: int) -> nn.Linear:
    """A linear layer that starts as doing nothing."""
    layer = nn.Linear(width, width)
    nn.init.eye_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def head_of(backbone: Backbone) -> tuple[nn.Linear | None, Callable[[Tensor], Tensor]]:
    """A vocabulary head in two: its dense layer, and all that comes after (activation, norm, tied decoder, bias).

    The one after the other is `backbone.logits`. XLM's head has no dense layer: None, and the whole head.
    """
    model, name = backbone.model, backbone.family.name
    if name == "bert":
        head = model.cls.predictions
        change = head.transform
        return change.dense, lambda states: head.decoder(change.LayerNorm(change.transform_act_fn(states)))
    if name == "roberta":
        head = model.lm_head
        return head.dense, lambda states: head.decoder(head.layer_norm(nn.functional.gelu(states)))
    if name == "modernbert":
        head = model.head
        return head.dense, lambda states: model.decoder(head.norm(head.act(states)))
    return None, backbone.logits


class Start(nn.Module):
    """A copy of an encoder that never learns and never drops anything: what the model was when training began.

    Costs the encoder's weights once more (4 bytes a parameter: 0.7 GB for mBERT, 1.1 GB for XLM-R base), no gradients
    and no moments. It stands in checkpoints, so that a resumed run holds to the same start.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.encoder = Backbone(deepcopy(backbone.model.base_model)).requires_grad_(requires_grad=False)
        self.train()

    def train(self, mode: bool = True) -> Start:  # noqa: ARG002 - torch's signature
        """Stay in evaluation mode, whatever the model around it does."""
        return super().train(mode=False)

    def encode(self, inputs: dict[str, Tensor]) -> Tensor:
        """(B, L, H) states of the start, without a graph."""
        with torch.no_grad():
            return self.encoder.encode(inputs)
