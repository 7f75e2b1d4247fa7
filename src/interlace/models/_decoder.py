"""ModernBERT in its two forms: transformers' causal twin keeps query, key and value apart and renames the head.

A backbone always holds the encoder's form, which reads both ways and left to right. The decoder's form is what plain
transformers opens for causal language modelling: written at export, turned back when a checkpoint is opened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

_PARTS = "qkv"
_OWN = ("model_type", "architectures", "transformers_version", "is_causal", "use_cache", "tie_word_embeddings")


def as_decoder(model: Any, tensors: dict[str, Tensor]) -> tuple[Any, dict[str, Tensor]]:
    """A causal model's class instance without weights, for its configuration and its way of saving; and its weights."""
    from transformers import ModernBertDecoderConfig, ModernBertDecoderForCausalLM

    config = ModernBertDecoderConfig(**_shared(model.config, ModernBertDecoderConfig))
    with torch.device("meta"):
        decoder = ModernBertDecoderForCausalLM(config)
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if ".attn.Wqkv." in name:
            for part, third in zip(_PARTS, tensor.chunk(3), strict=True):
                renamed[name.replace("Wqkv", f"{part}_proj")] = third.clone()
        else:
            renamed[re.sub(r"^head\.", "lm_head.", name)] = tensor
    return decoder, renamed


def as_encoder(decoder: Any) -> Any:
    """The same model in the encoder's form, with the same weights."""
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    config = ModernBertConfig(**_shared(decoder.config, ModernBertConfig))
    make: Any = ModernBertForMaskedLM._from_config  # noqa: SLF001 - how transformers makes one of a given attention
    model = make(config, dtype=torch.float32, attn_implementation=decoder.config._attn_implementation)  # noqa: SLF001
    tensors = decoder.state_dict()
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if found := re.search(r"\.([qkv])_proj\.", name):
            parts = [tensors[name.replace(f"{found[1]}_proj", f"{part}_proj")] for part in _PARTS]
            renamed[name.replace(f"{found[1]}_proj", "Wqkv")] = torch.cat(parts)
        else:
            renamed[encoder_name(name)] = tensor
    model.load_state_dict(renamed)
    return model.eval()


def encoder_name(name: str) -> str:
    """What the encoder's form calls a weight of the decoder's head."""
    return re.sub(r"^lm_head\.", "head.", name)


def _shared(config: Any, kind: Any) -> dict[str, Any]:
    """What the two configurations have in common."""
    fields = set(kind().to_dict()) - set(_OWN)
    shared = {name: value for name, value in config.to_dict().items() if name in fields}
    return {**shared, "local_attention": 2 * config.sliding_window, "tie_word_embeddings": config.tie_word_embeddings}
