"""Decoders of published encoder-decoders, such as mBART, NLLB and mT5, and their cache.

They run by transformers' own forward passes, whatever their layers are, and have what `Seq2Seq` needs of a
`CrossAttentionDecoder`. Their positions begin with the first token that they read, also of a fragment.

Legend: B sequences, T tokens of the longest sequence, L tokens of the longest source, H width, R sequences in
generation.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlace.models.families import family_of

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class PretrainedCache:
    """Keys and values of the sources and of the sequences generated so far; each sequence has a copy of its source.

    states: (R, L, H) of the encoder. mask: (R, L) true where they are real, or None.
    past: transformers' cache. per_source: number of sequences of each source, adjacent to each other.
    """

    states: Tensor
    mask: Tensor | None
    past: Any
    per_source: int = 1

    @property
    def length(self) -> int:
        """Number of generated positions."""
        return int(self.past.get_seq_length())

    def select(
        self, rows: Tensor, per_source: int = 1, sources: Tensor | None = None
    ) -> PretrainedCache:
        """Return the cache of the sequences (R',) `rows`, in that order; this cache stays as it is.

        per_source, sources: as of `KVCache.select`. While no source leaves, what belongs to sources is not copied.
        """
        from transformers import EncoderDecoderCache

        states = self.states
        mask = self.mask
        of_sources = _shallow_copy(self.past.cross_attention_cache)
        if sources is not None or per_source != self.per_source:
            states = states[rows]
            mask = None if mask is None else mask[rows]
            of_sources.reorder_cache(rows)
        written = _shallow_copy(self.past.self_attention_cache)
        written.reorder_cache(rows)
        return PretrainedCache(
            states, mask, EncoderDecoderCache(written, of_sources), per_source
        )


def _shallow_copy(cache: Any) -> Any:
    """Return a cache with the same tensors, which changes without the original: its layers replace their tensors."""
    copied = copy.copy(cache)
    copied.layers = [copy.copy(layer) for layer in cache.layers]
    return copied


class PretrainedDecoder:
    """The decoder of an encoder-decoder, with its vocabulary head.

    model: transformers' model for conditional generation, the encoder included.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.family = family_of(model.config)

    @property
    def config(self) -> Any:
        """Configuration of the transformers model."""
        return self.model.config

    def __call__(
        self,
        source: Tensor,
        mask: Tensor | None,
        ids: Tensor,
        languages: Tensor | None = None,  # noqa: ARG002 - languages are tokens
        first: Tensor | None = None,  # noqa: ARG002 - positions are the family's own
    ) -> Tensor:
        """Return the (B, T, H) states of all tokens of `ids` (B, T), as a `CrossAttentionDecoder` does."""
        output = self.model.get_decoder()(
            input_ids=ids,
            encoder_hidden_states=source,
            encoder_attention_mask=mask,
            use_cache=False,
        )
        states: Tensor = output.last_hidden_state
        return states

    def start_cache(self, source: Tensor, mask: Tensor | None) -> PretrainedCache:
        """Return a cache of sources (B, L, H), for `step`."""
        from transformers import DynamicCache, EncoderDecoderCache

        return PretrainedCache(
            source, mask, EncoderDecoderCache(DynamicCache(), DynamicCache())
        )

    def step(
        self,
        cache: PretrainedCache,
        ids: Tensor,
        languages: Tensor | None = None,  # noqa: ARG002 - languages are tokens
    ) -> Tensor:
        """Return the (R, H) states of the next token (R,) of each sequence, and add it to the cache."""
        output = self.model.get_decoder()(
            input_ids=ids[:, None],
            encoder_hidden_states=cache.states,
            encoder_attention_mask=cache.mask,
            past_key_values=cache.past,
            use_cache=True,
        )
        states: Tensor = output.last_hidden_state
        return states[:, 0]
