"""Reading from left to right: what an encoder is given so that no subword sees a later one.

Every family here reads both ways and, asked to, left to right, call by call. So one backbone learns by `clm` and `mlm`
in turn, and an encoder that learnt left to right is fine-tuned with both sides in view (Conneau & Lample 2019).
Rows are padded on the right, where no real subword looks; so a causal call needs no mask for padding, and attention
without a mask is the quickest there is.

Legend: L subwords of the longest row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.families import Family


def reading(model: Any, family: Family, inputs: dict[str, Tensor], *, causal: bool) -> dict[str, Any]:
    """The arguments of an encoder for a call that reads both ways, or left to right."""
    if family.name == "xlm":
        model.base_model.causal = causal  # its encoder knows no other way
        return inputs
    if not causal:
        return inputs
    ids = inputs["input_ids"]
    rest = {name: tensor for name, tensor in inputs.items() if name != "attention_mask"}
    eager = model.config._attn_implementation == "eager"  # noqa: SLF001 - transformers asks the same way
    full = earlier(ids, None, additive=True) if eager else None
    if family.name == "modernbert":
        window = model.config.sliding_window
        local = earlier(ids, window, additive=eager) if ids.shape[1] > window else full
        return {**rest, "attention_mask": {"full_attention": full, "sliding_attention": local}, "is_causal": True}
    return {**rest, "is_causal": True} if full is None else {**rest, "attention_mask": full, "is_causal": True}


def earlier(ids: Tensor, window: int | None, *, additive: bool) -> Tensor:
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
