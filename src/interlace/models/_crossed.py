"""Decoders: layers that read left to right, look at what an encoder read, and think on.

`Crossed` walks through the layers in two ways: over a whole row at once, as training does, and over the next subword of
each row with a memory, as a search does. What its subclasses say is how one layer of a family is built.

Legend: B rows, T subwords of the longest row, L subwords of the longest source, H width, A heads, D size of a head.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from interlace.models._causal import earlier
from interlace.models._kernels import attention
from interlace.models._memory import Memory
from interlace.models.families import family_of

if TYPE_CHECKING:
    from torch import Tensor


class Crossed(nn.Module, ABC):
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

    def begin(self, source: Tensor, mask: Tensor | None) -> Memory:
        """A memory of sources, for `advance`."""
        seen = None if mask is None else mask.bool()[:, None, None]
        if seen is not None and bool(seen.all()):
            seen = None
        return Memory([self.sources(layer, source) for layer in range(self.depth)], seen, [])

    def advance(self, memory: Memory, ids: Tensor, languages: Tensor | None) -> Tensor:
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
        mask = None if window is None or length <= window else earlier(ids, window, additive=False)
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


class BertDecoder(Crossed):
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
