"""Transformer decoders with cross-attention to an encoder, and the key-value cache of generation.

`CrossAttentionDecoder` runs the layers in two ways: over whole sequences, in training, and over the next token of each
sequence with a cache, in generation. A subclass a model family provides the parts of one layer.

Legend: B sequences, T tokens of the longest sequence, L tokens of the longest source, H width, A heads, D head size,
S sources, R sequences in generation (`per_source` of each source), C allocated positions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, scaled_dot_product_attention

from interlace.models.attention import Dropout, attention, causal_mask
from interlace.models.families import family_of

CACHE_STEP = 16  # positions that are allocated at once
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]  # from query, key and value
AttendToSource = Callable[[Tensor], Tensor]  # from a query


@dataclass
class KVCache:
    """Keys and values of the sources and of the sequences generated so far, in all layers.

    Keys and values of a source are stored once, however many sequences (of a beam) read it; those of the sequences are
    copied when the sequences are reordered.

    sources: by layer, keys and values (S, A, L, D) of the sources.
    mask: (S, 1, 1, L) true where a source has a token, or None where all are equally long.
    written: by layer, keys and values (R, 2A, C, D) of the sequences; empty before the first step.
    length: generated positions.
    per_source: number of sequences of each source, adjacent to each other.
    """

    sources: list[tuple[Tensor, Tensor]]
    mask: Tensor | None
    written: list[Tensor]
    length: int = 0
    per_source: int = 1

    def select(
        self, rows: Tensor, per_source: int = 1, sources: Tensor | None = None
    ) -> KVCache:
        """Return the cache of the sequences (R',) `rows`, in that order; this cache stays as it is.

        per_source: number of adjacent sequences of each source in the result.
        sources: (S',) the sources in the result; None: all.
        """
        written = [layer.index_select(0, rows) for layer in self.written]
        keys_values = self.sources
        mask = self.mask
        if sources is not None:
            keys_values = [(key[sources], value[sources]) for key, value in self.sources]
            mask = None if self.mask is None else self.mask[sources]
        return KVCache(
            keys_values,
            mask,
            written,
            self.length,
            per_source,
        )

    def append(
        self,
        layer: int,
        key: Tensor,
        value: Tensor,
        window: int | None,
    ) -> tuple[Tensor, Tensor]:
        """Store the next position of one layer, (R, A, 1, D) each; return the keys and values that it attends to.

        These are all stored ones including its own, or the last `window`.
        """
        rows, heads, _, size = key.shape
        if layer == len(self.written):
            self.written.append(key.new_empty((rows, 2 * heads, CACHE_STEP, size)))
        buffer = self.written[layer]
        if self.length == buffer.shape[2]:
            more = max(CACHE_STEP, self.length // 2)
            buffer = pad(buffer, (0, 0, 0, more))
            self.written[layer] = buffer
        buffer[:, :heads, self.length] = key[:, :, 0]
        buffer[:, heads:, self.length] = value[:, :, 0]
        end = self.length + 1
        first = 0 if window is None else max(0, end - window)
        visible = buffer[:, :, first:end]
        return visible[:, :heads], visible[:, heads:]

    def attend_to_source(self, layer: int, query: Tensor) -> Tensor:
        """Return the (R, 1, H) cross-attention of (R, A, 1, D) queries."""
        key, value = self.sources[layer]
        rows, heads, _, size = query.shape
        grouped = query.view(-1, self.per_source, heads, size).transpose(1, 2)
        attended = scaled_dot_product_attention(grouped, key, value, self.mask)
        return attended.transpose(1, 2).reshape(rows, 1, heads * size)


class CrossAttentionDecoder(nn.Module, ABC):
    """A transformers model with a vocabulary head, causal attention and cross-attention in every layer.

    model: the transformers model; its `config` is the decoder's.
    """

    attention_dropout: float  # share of attention weights dropped in training

    def __init__(self, model: Any, layers: Any) -> None:
        super().__init__()
        self.model = model
        self.family = family_of(model.config)
        self.layers = list(layers)  # a plain list: the model has them as modules
        self.heads = int(model.config.num_attention_heads)

    @property
    def config(self) -> Any:
        """Configuration of the transformers model."""
        return self.model.config

    def forward(
        self,
        source: Tensor,
        mask: Tensor | None,
        ids: Tensor,
        languages: Tensor | None,
        first: Tensor | None = None,
    ) -> Tensor:
        """Return the (B, T, H) states of all tokens of `ids` (B, T), each of which attends to itself and earlier ones.

        source: (B, L, H) states of the encoder; mask: (B, L) true where they are real, or None. first: (B,) position of
        each sequence's first token, or None for 0. Distances do not depend on it, so rotations need not know it.
        """
        states: Tensor = self._embed(ids, languages, 0 if first is None else first)
        rotations = self._rotations(states, 0)
        visible = None if mask is None else mask.bool()[:, None, None]
        for layer in range(len(self.layers)):
            window = self._window(layer)
            local = None
            if window is not None and ids.shape[1] > window:
                local = causal_mask(ids, window)
            states = self.run_layer(
                layer,
                states,
                rotations,
                local,
                source,
                visible,
            )
        return self._final_norm(states)

    def run_layer(
        self,
        layer: int,
        states: Tensor,
        rotations: Any,
        local: Tensor | None,
        source: Tensor,
        visible: Tensor | None,
    ) -> Any:
        """Return the (B, T, H) states after a layer; `local` and `visible` are masks of both attentions, or None."""
        dropout = self.attention_dropout if self.training else 0.0

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            causal = local is None
            attended, _ = attention(
                self,
                query,
                key,
                value,
                local,
                dropout,
                is_causal=causal,
            )
            return attended.flatten(2)

        def attend_to_source(query: Tensor) -> Tensor:
            key, value = self._source_keys_values(layer, source)
            attended, _ = attention(
                self,
                query,
                key,
                value,
                visible,
                dropout,
                is_causal=False,
            )
            return attended.flatten(2)

        return self._layer(
            layer,
            states,
            rotations,
            attend,
            attend_to_source,
        )

    def start_cache(self, source: Tensor, mask: Tensor | None) -> KVCache:
        """Return a cache of sources, for `step`."""
        visible = None if mask is None else mask.bool()[:, None, None]
        if visible is not None and bool(visible.all()):
            visible = None
        sources = [self._source_keys_values(layer, source) for layer in range(len(self.layers))]
        return KVCache(sources, visible, written=[])

    def step(self, cache: KVCache, ids: Tensor, languages: Tensor | None) -> Tensor:
        """Return the (R, H) states of the next token (R,) of each sequence, and add it to the cache."""
        if languages is not None:
            languages = languages[:, None]
        states: Tensor = self._embed(ids[:, None], languages, cache.length)
        rotations = self._rotations(states, cache.length)
        for layer in range(len(self.layers)):
            attend = partial(self._attend_to_cache, cache, layer)
            attend_to_source = partial(cache.attend_to_source, layer)
            states = self._layer(
                layer,
                states,
                rotations,
                attend,
                attend_to_source,
            )
        cache.length += 1
        return self._final_norm(states)[:, 0]

    def _attend_to_cache(
        self,
        cache: KVCache,
        layer: int,
        query: Tensor,
        key: Tensor,
        value: Tensor,
    ) -> Tensor:
        keys, values = cache.append(layer, key, value, self._window(layer))
        attended = scaled_dot_product_attention(query, keys, values)
        return attended.transpose(1, 2).flatten(2)

    @abstractmethod
    def _embed(self, ids: Tensor, languages: Tensor | None, first: int | Tensor) -> Any:
        """Return the input of the first layer; `first` is the first position, a number or (B,)."""

    def _rotations(self, states: Tensor, first: int) -> Any:
        """Return the rotations of positions `first` and on, for all layers, where a family has them."""

    @abstractmethod
    def _layer(
        self,
        layer: int,
        states: Tensor,
        rotations: Any,
        attend: Attend,
        attend_to_source: AttendToSource,
    ) -> Any:
        """Return the (B, T, H) states after a layer.

        attend: self-attention, (B, T, H) from (B, A, T, D) query, key and value. attend_to_source: cross-attention, of
        a query.
        """

    @abstractmethod
    def _source_keys_values(self, layer: int, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return key and value (B, A, L, D) of the encoder's states."""

    def _window(self, layer: int) -> int | None:  # noqa: ARG002 - few families have one
        """Return how many of the last tokens a layer attends to, its own included; None: all."""
        return None

    def _final_norm(self, states: Tensor) -> Tensor:
        """Return the states as the vocabulary head expects them."""
        return states

    def _split_heads(self, states: Tensor) -> Tensor:
        return states.view(*states.shape[:-1], self.heads, -1).transpose(1, 2)


class BertDecoder(CrossAttentionDecoder):
    """BERT and RoBERTa: transformers' causal models with cross-attention, normalized after each part."""

    def __init__(self, model: Any) -> None:
        super().__init__(model, model.base_model.encoder.layer)
        self.attention_dropout = float(model.config.attention_probs_dropout_prob)

    def _embed(self, ids: Tensor, languages: Tensor | None, first: int | Tensor) -> Any:
        start = self.family.first_position(self.config)
        positions = torch.arange(start, start + ids.shape[1], device=ids.device)[None]
        if isinstance(first, int):
            positions = positions + first
        else:
            positions = positions + first[:, None]
            # padding may go beyond
            positions = positions.clamp(max=self.config.max_position_embeddings - 1)
        segments = torch.zeros_like(ids) if languages is None else languages
        embeddings: Any = self.model.base_model.embeddings
        return embeddings(input_ids=ids, token_type_ids=segments, position_ids=positions)

    def _layer(
        self,
        layer: int,
        states: Tensor,
        rotations: Any,  # noqa: ARG002
        attend: Attend,
        attend_to_source: AttendToSource,
    ) -> Any:
        block = self.layers[layer]
        part = block.attention.self
        query = self._split_heads(part.query(states))
        key = self._split_heads(part.key(states))
        value = self._split_heads(part.value(states))
        states = block.attention.output(attend(query, key, value), states)
        query = self._split_heads(block.crossattention.self.query(states))
        states = block.crossattention.output(attend_to_source(query), states)
        return block.feed_forward_chunk(states)

    def _source_keys_values(self, layer: int, states: Tensor) -> tuple[Tensor, Tensor]:
        part = self.layers[layer].crossattention.self
        return self._split_heads(part.key(states)), self._split_heads(part.value(states))


class ModernBertCrossAttention(nn.Module):
    """Weights of one layer's cross-attention, initialized as ModernBERT initializes its own attention."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.hidden_size
        bias = config.attention_bias
        self.norm = nn.LayerNorm(width, eps=config.norm_eps, bias=config.norm_bias)
        self.Wq = nn.Linear(width, width, bias=bias)
        self.Wkv = nn.Linear(width, 2 * width, bias=bias)
        self.Wo = nn.Linear(width, width, bias=bias)
        self.drop = Dropout(config.attention_dropout)
        std = float(config.initializer_range)
        output_std = std / math.sqrt(2.0 * config.num_hidden_layers)
        for part, deviation in ((self.Wq, std), (self.Wkv, std), (self.Wo, output_std)):
            cut = deviation * (config.initializer_cutoff_factor or 3)
            nn.init.trunc_normal_(part.weight, std=deviation, a=-cut, b=cut)
            if bias:
                nn.init.zeros_(part.bias)


class ModernBertDecoder(CrossAttentionDecoder):
    """ModernBERT's masked model with causal attention and, in its new part `cross`, a cross-attention for each layer.

    transformers' ModernBERT has no cross-attention. Ours is between a layer's attention and its gated part and built
    like them: normalized before, without biases where they have none, added to the states. Its query is not rotated,
    because positions of source and target do not correspond. There are no languages. The window of local layers is half
    of the encoder's, all of it to the left, as in ModernBERT's decoder.
    """

    def __init__(self, model: Any) -> None:
        super().__init__(model, model.base_model.layers)
        self.attention_dropout = float(model.config.attention_dropout)
        model.cross = nn.ModuleList(ModernBertCrossAttention(model.config) for _ in self.layers)

    def _embed(self, ids: Tensor, languages: Tensor | None, first: int | Tensor) -> Any:  # noqa: ARG002
        return self.model.base_model.embeddings(input_ids=ids)

    def _rotations(self, states: Tensor, first: int) -> dict[str, tuple[Tensor, Tensor]]:
        numbers = torch.arange(first, first + states.shape[1], device=states.device)[None]
        rotate = self.model.base_model.rotary_emb
        return {kind: rotate(states, numbers, kind) for kind in set(self.config.layer_types)}

    def _layer(
        self,
        layer: int,
        states: Tensor,
        rotations: Any,
        attend: Attend,
        attend_to_source: AttendToSource,
    ) -> Any:
        from transformers.models.modernbert.modeling_modernbert import apply_rotary_pos_emb

        block = self.layers[layer]
        query, key, value = block.attn.Wqkv(block.attn_norm(states)).chunk(3, dim=-1)
        query = self._split_heads(query)
        key = self._split_heads(key)
        query, key = apply_rotary_pos_emb(query, key, *rotations[block.attention_type])
        attended = attend(query, key, self._split_heads(value))
        states = states + block.attn.out_drop(block.attn.Wo(attended))
        cross = self.model.cross[layer]
        query = self._split_heads(cross.Wq(cross.norm(states)))
        states = states + cross.drop(cross.Wo(attend_to_source(query)))
        return states + block.mlp(block.mlp_norm(states))

    def _window(self, layer: int) -> int | None:
        if self.layers[layer].attention_type == "sliding_attention":
            return int(self.config.sliding_window)
        return None

    def _source_keys_values(self, layer: int, states: Tensor) -> tuple[Tensor, Tensor]:
        key, value = self.model.cross[layer].Wkv(states).chunk(2, dim=-1)
        return self._split_heads(key), self._split_heads(value)

    def _final_norm(self, states: Tensor) -> Tensor:
        return self.model.base_model.final_norm(states)
