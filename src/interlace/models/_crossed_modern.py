"""ModernBERT as a decoder: its own layers, read left to right, with a cross-attention of ours in each.

transformers' ModernBERT has no cross-attention. Ours stands between a layer's attention and its gated part and is built
like them: normed before, without biases where they have none, added to the states. The query has no rotation, for the
source's positions are not the row's.

Legend: B rows, T subwords of the longest row, L subwords of the longest source, H width, A heads, D size of a head.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers.models.modernbert.modeling_modernbert import apply_rotary_pos_emb

from interlace.models._crossed import Crossed, split
from interlace.models._kernels import Dropout

if TYPE_CHECKING:
    from torch import Tensor

Rotation = dict[str, "tuple[Tensor, Tensor]"]


class CrossAttention(nn.Module):
    """The weights of one layer's look at the source, drawn as ModernBERT draws its own."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, bias = config.hidden_size, config.attention_bias
        self.norm = nn.LayerNorm(width, eps=config.norm_eps, bias=config.norm_bias)
        self.Wq = nn.Linear(width, width, bias=bias)
        self.Wkv = nn.Linear(width, 2 * width, bias=bias)
        self.Wo = nn.Linear(width, width, bias=bias)
        self.drop = Dropout(config.attention_dropout)
        inward = float(config.initializer_range)
        for part, deviation in ((self.Wq, inward), (self.Wkv, inward), (self.Wo, _outward(config))):
            cut = deviation * (config.initializer_cutoff_factor or 3)
            nn.init.trunc_normal_(part.weight, std=deviation, a=-cut, b=cut)
            if bias:
                nn.init.zeros_(part.bias)


class ModernDecoder(Crossed):
    """ModernBERT's masked model with a `CrossAttention` a layer; what `cross` holds is all that is new."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.cross = nn.ModuleList(CrossAttention(model.config) for _ in range(model.config.num_hidden_layers))

    @property
    def layers(self) -> Any:
        """The layers of the transformers model."""
        return self.model.base_model.layers

    @property
    def attention_dropout(self) -> float:
        """Share of attention weights dropped while training."""
        return float(self.config.attention_dropout)

    def embed(self, ids: Tensor, languages: Tensor | None, first: int | Tensor) -> Tensor:  # noqa: ARG002
        """Word vectors, normed; it has no languages, and places come in later."""
        embedded: Tensor = self.model.base_model.embeddings(input_ids=ids)
        return embedded

    def places(self, states: Tensor, first: int) -> Rotation:
        """Rotation by kind of layer."""
        base = self.model.base_model
        numbers = torch.arange(first, first + states.shape[1], device=states.device)[None]
        return {kind: base.rotary_emb(states, numbers, kind) for kind in set(self.config.layer_types)}

    def own(self, layer: int, states: Tensor, places: Rotation) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value (B, A, T, D) of the row itself, the first two rotated."""
        block = self.layers[layer]
        query, key, value = block.attn.Wqkv(block.attn_norm(states)).chunk(3, dim=-1)
        cos, sin = places[block.attention_type]
        query, key = apply_rotary_pos_emb(split(query, self.heads), split(key, self.heads), cos, sin)
        return query, key, split(value, self.heads)

    def add_own(self, layer: int, states: Tensor, found: Tensor) -> Tensor:
        """The states with what was found in the row."""
        part = self.layers[layer].attn
        added: Tensor = states + part.out_drop(part.Wo(found))
        return added

    def sources(self, layer: int, states: Tensor) -> tuple[Tensor, Tensor]:
        """Key and value (B, A, L, D) of the encoder's states."""
        key, value = self._cross(layer).Wkv(states).chunk(2, dim=-1)
        return split(key, self.heads), split(value, self.heads)

    def ask(self, layer: int, states: Tensor) -> Tensor:
        """The query (B, A, T, D) to them."""
        part = self._cross(layer)
        return split(part.Wq(part.norm(states)), self.heads)

    def add_found(self, layer: int, states: Tensor, found: Tensor) -> Tensor:
        """The states with what was found in the source."""
        part = self._cross(layer)
        added: Tensor = states + part.drop(part.Wo(found))
        return added

    def add_thought(self, layer: int, states: Tensor) -> Tensor:
        """The states after the layer's gated part."""
        block = self.layers[layer]
        thought: Tensor = states + block.mlp(block.mlp_norm(states))
        return thought

    def close(self, states: Tensor) -> Tensor:
        """Normed, as the head expects them."""
        normed: Tensor = self.model.base_model.final_norm(states)
        return normed

    def window(self, layer: int) -> int | None:
        """Local layers see half of the encoder's window, all of it to the left, as ModernBERT's causal twin does."""
        local = self.layers[layer].attention_type == "sliding_attention"
        return int(self.config.sliding_window) if local else None

    def _cross(self, layer: int) -> Any:
        return self.cross[layer]


def _outward(config: Any) -> float:
    return float(config.initializer_range) / math.sqrt(2.0 * config.num_hidden_layers)
