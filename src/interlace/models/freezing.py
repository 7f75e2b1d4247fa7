"""Keeping the lowest layers of an encoder as they are while a task is learnt (Wu & Dredze 2019, section 4.4)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interlace.core.errors import SettingsError

if TYPE_CHECKING:
    from interlace.models.backbone import Backbone

# Layers are numbered in a list of modules; XLM has four such lists, one a part of a layer.
_LAYER = re.compile(r"(?:^|\.)(?:layers?|attentions|layer_norm[12]|ffns)\.(\d+)\.")
_TABLES = ("embeddings.", "position_embeddings.", "lang_embeddings.", "layer_norm_emb.")
_LAST = ("final_norm.",)  # ModernBERT's, behind the last layer


def freeze(backbone: Backbone, layers: int) -> int:
    """Take the embeddings and the lowest `layers` layers out of training; 0: the embeddings alone, all: the encoder.

    Returns:
        How many parameters are frozen.

    Raises:
        SettingsError: the model has fewer layers.
    """
    there = int(backbone.model.config.num_hidden_layers)
    if layers > there:
        raise SettingsError(f"tuning.freeze = {layers}, but the model has {there} layers")
    frozen, outside = 0, _TABLES + (_LAST if layers == there else ())
    for name, parameter in backbone.model.base_model.named_parameters():
        layer = _LAYER.search(name)
        if int(layer[1]) < layers if layer else name.startswith(outside):
            parameter.requires_grad_(requires_grad=False)
            frozen += parameter.numel()
    return frozen
