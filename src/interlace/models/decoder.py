"""Decoders: layers that read left to right, look at what an encoder read, and think on.

`CrossAttentionDecoder` walks through the layers in two ways: over a whole row at once, as training does, and over the next subword of
each row with a memory, as a search does. What its subclasses say is how one layer of a family is built.

Legend: B rows, T subwords of the longest row, L subwords of the longest source, H width, A heads, D size of a head.

What a search keeps between two subwords: keys and values of what was read and of what is written so far.

Keys and values of the source are made once and stand once a source, however many rows read it: the rows of a beam ask
it together. What the rows wrote themselves is copied when rows are reordered.

Legend: S sources, R rows (`per` of them a source), A heads, L subwords of the longest source, C positions there is room
for, D size of a head.

ModernBERT as a decoder: its own layers, read left to right, with a cross-attention of ours in each.

transformers' ModernBERT has no cross-attention. Ours stands between a layer's attention and its gated part and is built
like them: normed before, without biases where they have none, added to the states. The query has no rotation, for the
source's positions are not the row's.

Legend: B rows, T subwords of the longest row, L subwords of the longest source, H width, A heads, D size of a head.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers.models.modernbert.modeling_modernbert import apply_rotary_pos_emb

from interlace.models.attention import Dropout, attention, causal_mask
from interlace.models.families import family_of

if TYPE_CHECKING:
    from torch import Tensor


class CrossAttentionDecoder(nn.Module, ABC):
    """A transformers model with a vocabulary head, read left to right and with cross-attention in every layer.

    model: the transformers model; its `config` is the decoder's.
    attention_dropout: share of attention weights that are dropped while training.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.family = family_of(model.config)

    @property
    def config(self) -> Any:
        """Of the transformers model."""
        return self.model.config

    @property
    def layers(self) -> Any:
        """The layers of the transformers model."""
        raise NotImplementedError

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def heads(self) -> int:
        """A."""
        return int(self.config.num_attention_heads)

    @property
    @abstractmethod
    def attention_dropout(self) -> float:
        """Share of attention weights dropped while training."""

    @abstractmethod
    def embed(self, ids: Tensor, languages: Tensor | None, first: int | Tensor) -> Tensor:
        """(B, T, H) what the first layer reads; subwords stand at `first` and on, a number or (B,) one of each row."""

    @abstractmethod
    def places(self, states: Tensor, first: int) -> Any:
        """What `own` needs to know of positions `first` and on; made once for all layers."""

    @abstractmethod
    def own(self, layer: int, states: Tensor, places: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value (B, A, T, D) of the row itself."""

    @abstractmethod
    def add_own(self, layer: int, states: Tensor, found: Tensor) -> Tensor:
        """The states with what was found in the row, (B, T, H)."""

    @abstractmethod
    def sources(self, layer: int, states: Tensor) -> tuple[Tensor, Tensor]:
        """Key and value (B, A, L, D) of the encoder's states."""

    @abstractmethod
    def ask(self, layer: int, states: Tensor) -> Tensor:
        """The query (B, A, T, D) to them."""

    @abstractmethod
    def add_found(self, layer: int, states: Tensor, found: Tensor) -> Tensor:
        """The states with what was found in the source, (B, T, H)."""

    @abstractmethod
    def add_thought(self, layer: int, states: Tensor) -> Tensor:
        """The states after the layer's feed-forward part."""

    def close(self, states: Tensor) -> Tensor:
        """What the vocabulary head reads."""
        return states

    def window(self, layer: int) -> int | None:  # noqa: ARG002 - few families have one
        """How many of the last subwords a layer sees, its own among them; None: all."""
        return None

    def logits(self, states: Tensor) -> Tensor:
        """(N, V) from (N, H), by the model's own whole head."""
        return self.family.logits(self.model, states)

    def forward(
        self,
        source: Tensor,
        mask: Tensor | None,
        ids: Tensor,
        languages: Tensor | None,
        first: Tensor | None = None,
    ) -> Tensor:
        """(B, T, H) states of all subwords of `ids` (B, T), each of which sees those before it.

        source: (B, L, H) states of the encoder; mask: (B, L) true where they are real, or None. first: (B,) where each
        row begins, or None; distances are the same wherever that is, so `places` need not know.
        """
        states = self.embed(ids, languages, 0 if first is None else first)
        places = self.places(states, 0)
        seen = None if mask is None else mask.bool()[:, None, None]
        for layer in range(self.depth):
            states = self.add_own(layer, states, self._look_back(layer, self.own(layer, states, places), ids))
            key, value = self.sources(layer, source)
            found = self._attend(self.ask(layer, states), key, value, seen, causal=False)
            states = self.add_thought(layer, self.add_found(layer, states, found))
        return self.close(states)

    def begin(self, source: Tensor, mask: Tensor | None) -> KVCache:
        """A memory of sources, for `advance`."""
        seen = None if mask is None else mask.bool()[:, None, None]
        if seen is not None and bool(seen.all()):
            seen = None
        return KVCache([self.sources(layer, source) for layer in range(self.depth)], seen, [])

    def advance(self, memory: KVCache, ids: Tensor, languages: Tensor | None) -> Tensor:
        """(R, H) states of the next subword (R,) of each row; the memory takes it in."""
        states = self.embed(ids[:, None], None if languages is None else languages[:, None], memory.length)
        places = self.places(states, memory.length)
        for layer in range(self.depth):
            query, key, value = self.own(layer, states, places)
            keys, values = memory.push(layer, key, value, self.window(layer))
            found = scaled_dot_product_attention(query, keys, values)
            states = self.add_own(layer, states, joined(found))
            states = self.add_found(layer, states, joined(memory.ask(layer, self.ask(layer, states))))
            states = self.add_thought(layer, states)
        memory.length += 1
        return self.close(states)[:, 0]

    def _look_back(self, layer: int, parts: tuple[Tensor, Tensor, Tensor], ids: Tensor) -> Tensor:
        window, length = self.window(layer), ids.shape[1]
        mask = None if window is None or length <= window else causal_mask(ids, window, additive=False)
        return self._attend(*parts, mask, causal=mask is None)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
        share = self.attention_dropout if self.training else 0.0
        found, _ = attention(self, query, key, value, mask, dropout=share, is_causal=causal)
        return found.flatten(2)


def split(states: Tensor, heads: int) -> Tensor:
    """(B, A, T, D) from (B, T, H)."""
    return states.view(*states.shape[:-1], heads, -1).transpose(1, 2)


def joined(found: Tensor) -> Tensor:
    """(B, T, H) from (B, A, T, D)."""
    return found.transpose(1, 2).flatten(2)


class BertDecoder(CrossAttentionDecoder):
    """BERT and RoBERTa: transformers' causal models with cross-attention, normed after each part."""

    @property
    def layers(self) -> Any:
        """The layers of the transformers model."""
        return self.model.base_model.encoder.layer

    @property
    def attention_dropout(self) -> float:
        """Share of attention weights dropped while training."""
        return float(self.config.attention_probs_dropout_prob)

    def embed(self, ids: Tensor, languages: Tensor | None, first: int | Tensor) -> Tensor:
        """Word, position and language vectors, normed."""
        start = self.family.first_position(self.config)
        places = torch.arange(start, start + ids.shape[1], device=ids.device)[None]
        places = places + (first if isinstance(first, int) else first[:, None])
        if not isinstance(first, int):
            places = places.clamp(max=self.config.max_position_embeddings - 1)  # padding may stand further on
        rows = torch.zeros_like(ids) if languages is None else languages
        embedded: Tensor = self.model.base_model.embeddings(input_ids=ids, token_type_ids=rows, position_ids=places)
        return embedded

    def places(self, states: Tensor, first: int) -> None:
        """Positions are in the embeddings."""

    def own(self, layer: int, states: Tensor, places: None) -> tuple[Tensor, Tensor, Tensor]:  # noqa: ARG002
        """Query, key and value (B, A, T, D) of the row itself."""
        part = self.layers[layer].attention.self
        query, key, value = (split(ask(states), self.heads) for ask in (part.query, part.key, part.value))
        return query, key, value

    def add_own(self, layer: int, states: Tensor, found: Tensor) -> Tensor:
        """The states with what was found in the row."""
        added: Tensor = self.layers[layer].attention.output(found, states)
        return added

    def sources(self, layer: int, states: Tensor) -> tuple[Tensor, Tensor]:
        """Key and value (B, A, L, D) of the encoder's states."""
        part = self.layers[layer].crossattention.self
        return split(part.key(states), self.heads), split(part.value(states), self.heads)

    def ask(self, layer: int, states: Tensor) -> Tensor:
        """The query (B, A, T, D) to them."""
        return split(self.layers[layer].crossattention.self.query(states), self.heads)

    def add_found(self, layer: int, states: Tensor, found: Tensor) -> Tensor:
        """The states with what was found in the source."""
        added: Tensor = self.layers[layer].crossattention.output(found, states)
        return added

    def add_thought(self, layer: int, states: Tensor) -> Tensor:
        """The states after the layer's feed-forward part."""
        thought: Tensor = self.layers[layer].feed_forward_chunk(states)
        return thought


ROOM = 16  # positions that are made ready at once


@dataclass
class KVCache:
    """The state of a search in all layers; `select` gives that of other rows.

    sources: by layer, keys and values (S, A, L, D) of the source.
    mask: (S, 1, 1, L) true where a source has a subword, or None where all are equally long.
    written: by layer, keys and values (R, 2A, C, D) of the rows; empty before the first step.
    length: positions written.
    per: rows a source, one beside the other.
    """

    sources: list[tuple[Tensor, Tensor]]
    mask: Tensor | None
    written: list[Tensor]
    length: int = 0
    per: int = 1

    @property
    def rows(self) -> int:
        """R."""
        return len(self.sources[0][0]) * self.per

    def select(self, index: Tensor) -> KVCache:
        """The memory of the rows (R',) `index`, in that order: some left out, moved or repeated; this one stays whole.

        Rows of one source that stand beside each other, equally many of each source, go on sharing its keys and values.
        """
        owners, counts = torch.unique_consecutive(index // self.per, return_counts=True)
        per = int(counts[0]) if len(counts) else 1
        if not bool((counts == per).all()):
            owners, per = index // self.per, 1
        same = len(owners) == len(self.sources[0][0]) and bool((owners[1:] > owners[:-1]).all())
        return KVCache(
            self.sources if same else [(key[owners], value[owners]) for key, value in self.sources],
            self.mask if same or self.mask is None else self.mask[owners],
            [layer.index_select(0, index) for layer in self.written],
            self.length,
            per,
        )

    def push(self, layer: int, key: Tensor, value: Tensor, window: int | None) -> tuple[Tensor, Tensor]:
        """Write the next position of one layer, (R, A, 1, D) each; returns the keys and values that it may see.

        These are all that are written, its own among them, or the last `window`.
        """
        if layer == len(self.written):
            rows, heads, _, size = key.shape
            self.written.append(key.new_empty((rows, 2 * heads, ROOM, size)))
        if self.length == self.written[layer].shape[2]:
            self.written[layer] = pad(self.written[layer], (0, 0, 0, max(ROOM, self.length // 2)))
        buffer, end = self.written[layer], self.length + 1
        heads, first = key.shape[1], 0 if window is None else max(0, end - window)
        buffer[:, :heads, self.length] = key[:, :, 0]
        buffer[:, heads:, self.length] = value[:, :, 0]
        seen = buffer[:, :, first:end]
        return seen[:, :heads], seen[:, heads:]

    def ask(self, layer: int, query: Tensor) -> Tensor:
        """(R, A, 1, D) what the rows find in their sources, from queries of that shape."""
        key, value = self.sources[layer]
        if self.per == 1:
            return scaled_dot_product_attention(query, key, value, self.mask)
        rows, heads, _, size = query.shape
        together = query.view(-1, self.per, heads, size).transpose(1, 2)  # (S, A, per, D)
        found = scaled_dot_product_attention(together, key, value, self.mask)
        return found.transpose(1, 2).reshape(rows, heads, 1, size)


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


class ModernBertDecoder(CrossAttentionDecoder):
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
