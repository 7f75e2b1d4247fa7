"""Contextual vectors of subwords or words, from one layer of an encoder.

Legend: B rows; L subwords of the longest row, specials and padding included; W words of the longest; H width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import SettingsError, did_you_mean
from interlace.data.layout import sentence_layout

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


@dataclass(frozen=True)
class Units:
    """What is linked: subwords with their words, or words.

    vectors: (B, U, H) float32. words: (B, U) the word of each unit, -1 where there is no unit.
    """

    vectors: Tensor
    words: Tensor

    @property
    def real(self) -> Tensor:
        """(B, U) whether there is a unit."""
        return self.words >= 0

    def pooled(self) -> Units:
        """Words: the means of the vectors of their subwords; a word without subwords is no unit."""
        import torch

        count = int(self.words.max()) + 1
        slots = torch.where(self.real, self.words, count).long()  # what is no unit goes into a slot of its own
        shape = (len(slots), count + 1)
        sums = self.vectors.new_zeros(*shape, self.vectors.shape[2])
        sums.scatter_add_(1, slots[:, :, None].expand_as(self.vectors), self.vectors)
        sizes = self.vectors.new_zeros(shape).scatter_add_(1, slots, torch.ones_like(slots, dtype=sums.dtype))
        numbers = torch.arange(count, device=slots.device).expand(len(slots), count)
        means = sums[:, :count] / sizes[:, :count, None].clamp(min=1)
        return Units(means, torch.where(sizes[:, :count] > 0, numbers, -1))


@dataclass(frozen=True)
class Encoder:
    """A backbone read at one layer.

    layer: 0 are the embeddings. feed_languages: whether rows carry the ids of their language.
    """

    backbone: Backbone
    vocab: Vocab
    layer: int
    max_length: int
    feed_languages: bool

    def units(self, sentences: Sentences) -> Units:
        """The subwords of each row; what does not fit into `max_length` is left out."""
        import torch

        layout = sentence_layout(sentences, self.vocab, self.max_length)
        inputs = {"input_ids": layout.ids}
        if not layout.real.all():
            inputs["attention_mask"] = layout.real.astype(np.int64)
        if self.feed_languages:
            number = self._language_id(sentences.language)
            inputs[str(self.backbone.traits.language_input)] = np.full_like(layout.ids, number)
        device = self.backbone.device
        with torch.inference_mode():
            states = self._states({name: torch.from_numpy(array).to(device) for name, array in inputs.items()})
        return Units(states.float(), torch.from_numpy(layout.words).to(device))

    def _states(self, inputs: dict[str, Tensor]) -> Tensor:
        if self.layer == self.backbone.model.config.num_hidden_layers:
            return self.backbone.encode(inputs)
        return self.backbone.hidden_states(inputs)[self.layer]

    def _language_id(self, language: str) -> int:
        languages = self.backbone.traits.languages
        if language not in languages:
            hint = did_you_mean(language, languages)
            raise SettingsError(f"similarity: the model has no language embedding for {language!r}{hint}")
        return languages[language]


def shortened(backbone: Backbone, layer: int) -> Backbone:
    """The backbone without the layers above `layer`, where that changes no state: they would be a third of the work.

    Not for ModernBERT, whose last layer is followed by a norm, nor for XLM, whose layers are spread over lists.
    """
    layers = getattr(getattr(backbone.model.base_model, "encoder", None), "layer", None)
    if layers is not None and layer < len(layers):
        backbone.model.base_model.encoder.layer = layers[:layer]
        backbone.model.config.num_hidden_layers = layer
    return backbone
