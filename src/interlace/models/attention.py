"""Dropout and attention that are quick on a CPU; on a GPU both are torch's own.

Torch draws a dropout mask on the CPU one element at a time on one core, and its fused attention does not drop, so it
falls back to a slow path. With dropout 0.1 both took half of a training step on rows of 256 subwords.

Legend: B rows, A heads, L subwords of the longest row, D size of a head.

Reading from left to right: what an encoder is given so that no subword sees a later one.

Every family here reads both ways and, asked to, left to right, call by call. So one backbone learns by `clm` and `mlm`
in turn, and an encoder that learnt left to right is fine-tuned with both sides in view (Conneau & Lample 2019).
Rows are padded on the right, where no real subword looks; so a causal call needs no mask for padding, and attention
without a mask is the quickest there is.

Legend: L subwords of the longest row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.families import Family


NAME = "interlace"  # of the kernel among transformers' attention implementations


LONGEST = 512  # beyond, (L, L) weights cost more memory than the fused kernel's time is worth


_LEVELS = 1 << 16  # a mask's draws are 16 bits wide


class Dropout(nn.Dropout):
    """`nn.Dropout` with masks drawn four to a random number; its share is rounded to 1/65536."""

    def forward(self, states: Tensor) -> Tensor:
        """The states with a share `p` of them zero and the others scaled up, while training."""
        return apply_dropout(states, self.p) if self.training else states


def apply_dropout(states: Tensor, share: float) -> Tensor:
    """Zero a share of the states and scale up the others, with torch's default generator."""
    cut = round(share * _LEVELS)
    if cut == 0:
        return states
    if cut == _LEVELS or states.device.type != "cpu":
        return functional.dropout(states, share)
    words = torch.empty((states.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    draws = words.view(torch.int16)[: states.numel()].view(states.shape)
    kept = (draws >= cut - _LEVELS // 2).to(states.dtype)
    return states * kept.mul_(1 / (1 - share))


def attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """(B, L, A, D) from (B, A, L, D) each; transformers' interface for attention functions.

    attention_mask: true where a key may be seen, or None. is_causal: without a mask, whether a query sees only the
    keys up to its own; none: as the module is.
    """
    causal = bool(getattr(module, "is_causal", False) if is_causal is None else is_causal)
    if not module.training or query.device.type != "cpu" or key.shape[2] > LONGEST:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        fused: Any = sdpa_attention_forward
        options = {"dropout": dropout, "scaling": scaling, "is_causal": causal, **more}
        states: Tensor = fused(module, query, key, value, attention_mask, **options)[0]
        return states, None
    if attention_mask is None and causal:
        attention_mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril_()
    scores = torch.matmul(query * (query.shape[-1] ** -0.5 if scaling is None else scaling), key.transpose(2, 3))
    if attention_mask is not None:
        # the least number and not -inf: a padded row of a local window may see no key at all
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    with torch.autocast("cpu", enabled=False):  # which would do the next lines in float32, to round what comes of it
        weights = apply_dropout(scores.softmax(dim=-1), dropout)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), None


def install_kernels(model: Any, *, own_attention: bool) -> None:
    """Put both into a transformers model, in place; `own_attention` only where the model takes sdpa."""
    if own_attention and model._supports_sdpa:  # noqa: SLF001 - transformers asks the same way
        _register()
        model.set_attn_implementation(NAME)
    _swap(model)


def _swap(module: nn.Module) -> None:
    for name, child in module.named_children():
        if type(child) is nn.Dropout:
            setattr(module, name, Dropout(child.p))
        else:
            _swap(child)


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)


def attention_arguments(model: Any, family: Family, inputs: dict[str, Tensor], *, causal: bool) -> dict[str, Any]:
    """The arguments of an encoder for a call that reads both ways, or left to right."""
    if family.name == "xlm":
        model.base_model.causal = causal  # its encoder knows no other way
        return inputs
    if not causal:
        return inputs
    ids = inputs["input_ids"]
    rest = {name: tensor for name, tensor in inputs.items() if name != "attention_mask"}
    eager = model.config._attn_implementation == "eager"  # noqa: SLF001 - transformers asks the same way
    full = causal_mask(ids, None, additive=True) if eager else None
    if family.name == "modernbert":
        window = model.config.sliding_window
        local = causal_mask(ids, window, additive=eager) if ids.shape[1] > window else full
        return {**rest, "attention_mask": {"full_attention": full, "sliding_attention": local}, "is_causal": True}
    return {**rest, "is_causal": True} if full is None else {**rest, "attention_mask": full, "is_causal": True}


def causal_mask(ids: Tensor, window: int | None, *, additive: bool) -> Tensor:
    """(1, 1, L, L) true where the key is the query's own subword or one before it, fewer than `window` away.

    additive: 0 and the least number in place of true and false, as eager attention adds them to its scores.
    """
    length = ids.shape[1]
    seen = torch.ones((length, length), dtype=torch.bool, device=ids.device).tril_()
    if window is not None:
        seen.triu_(1 - window)
    if additive:
        return torch.zeros((), device=ids.device).where(seen, torch.finfo(torch.float32).min)[None, None]
    return seen[None, None]
