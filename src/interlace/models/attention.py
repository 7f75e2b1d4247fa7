"""Dropout and attention kernels that are fast on a CPU, and causal attention masks.

On a CPU torch draws dropout masks one element at a time on one core, and its fused attention has no dropout, so it
falls back to a slow path. With dropout 0.1 both took half of a training step on sequences of 256 tokens. On a GPU
both are torch's own.

Legend: B sequences, A heads, L tokens of the longest sequence, D head size.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from interlace.models.families import Family

NAME = "interlace"  # of the kernel among transformers' attention implementations
MAX_LENGTH = 512  # above it, (L, L) weights cost more memory than they save time
_LEVELS = 1 << 16  # random numbers of a dropout mask are 16 bits wide


class Dropout(nn.Dropout):
    """`nn.Dropout` that draws four mask elements from one random number; its rate is rounded to 1/65536."""

    def forward(self, states: Tensor) -> Tensor:
        """Return the states with dropout while training."""
        if not self.training:
            return states
        return apply_dropout(states, self.p)


def apply_dropout(states: Tensor, rate: float) -> Tensor:
    """Zero a share of the states and scale up the others, with torch's default generator."""
    dropped_levels = round(rate * _LEVELS)
    if dropped_levels == 0:
        return states
    if dropped_levels == _LEVELS or states.device.type != "cpu":
        return functional.dropout(states, rate)
    words = torch.empty((states.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    draws = words.view(torch.int16)[: states.numel()].view(states.shape)  # -32768 to 32767
    factors = (draws >= dropped_levels - _LEVELS // 2).to(states.dtype)
    return states * factors.mul_(1 / (1 - rate))


def attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Return (B, L, A, D) attention outputs from (B, A, L, D) inputs; transformers' interface of attention functions.

    attention_mask: true where a query may attend to a key, or None. is_causal: without a mask, whether attention is
    causal; None: as the module says.
    """
    if is_causal is None:
        is_causal = bool(getattr(module, "is_causal", False))
    if not module.training or query.device.type != "cpu" or key.shape[2] > MAX_LENGTH:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        fused: Any = sdpa_attention_forward
        options = {"dropout": dropout, "scaling": scaling, "is_causal": is_causal, **options}
        states: Tensor = fused(
            module,
            query,
            key,
            value,
            attention_mask,
            **options,
        )[0]
        return states, None
    if attention_mask is None and is_causal:
        attention_mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril_()
    if scaling is None:
        scaling = query.shape[-1] ** -0.5
    scores = torch.matmul(query * scaling, key.transpose(2, 3))  # (B, A, L, L)
    if attention_mask is not None:
        # the minimum instead of -inf: a padded query of a local window may have no key at all
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    with torch.autocast(
        "cpu", enabled=False
    ):  # autocast would compute these lines in float32 and round the result
        weights = apply_dropout(scores.softmax(dim=-1), dropout)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), None


def install_kernels(model: Any, *, own_attention: bool) -> None:
    """Put both kernels into a transformers model, in place; `own_attention` has effect where the model takes sdpa."""
    if own_attention and model._supports_sdpa:  # noqa: SLF001 - transformers has no public name for it
        from transformers import AttentionInterface, AttentionMaskInterface

        AttentionInterface.register(NAME, attention)
        AttentionMaskInterface.register(NAME, _attention_mask)
        model.set_attn_implementation(NAME)
    _replace_dropout(model)


def _attention_mask(*arguments: Any, **options: Any) -> Tensor | None:
    """Return transformers' mask for sdpa; one is passed only where something is padded, so its values are not read."""
    from transformers.masking_utils import sdpa_mask

    if options.get("attention_mask") is not None:
        options["allow_is_bidirectional_skip"] = False
    mask: Tensor | None = sdpa_mask(*arguments, **options)
    return mask


def _replace_dropout(module: nn.Module) -> None:
    for name, child in module.named_children():
        if type(child) is nn.Dropout:
            setattr(module, name, Dropout(child.p))
        else:
            _replace_dropout(child)


def attention_arguments(
    model: Any, family: Family, inputs: dict[str, Tensor], *, causal: bool
) -> dict[str, Any]:
    """Return the encoder's arguments for bidirectional or causal attention.

    Every family supports both, call by call, so one backbone can alternate `clm` and `mlm` and a causal model can be
    fine-tuned bidirectionally (Conneau & Lample 2019). A causal call needs no padding mask, because padding is on the
    right; attention without a mask is the fastest.
    """
    if family.name == "xlm":
        model.base_model.causal = causal  # XLM's encoder takes it as an attribute only
        return inputs
    if not causal:
        return inputs
    arguments: dict[str, Any] = {**inputs, "is_causal": True}
    arguments.pop("attention_mask", None)
    if family.name == "modernbert":
        ids = inputs["input_ids"]
        window = model.config.sliding_window
        local = causal_mask(ids, window) if ids.shape[1] > window else None
        arguments["attention_mask"] = {"full_attention": None, "sliding_attention": local}
    return arguments


def causal_mask(ids: Tensor, window: int) -> Tensor:
    """Return (1, 1, L, L), true where a query may attend: to itself and to earlier tokens less than `window` away."""
    length = ids.shape[1]
    visible = torch.ones((length, length), dtype=torch.bool, device=ids.device)
    return visible.tril_().triu_(1 - window)[None, None]
