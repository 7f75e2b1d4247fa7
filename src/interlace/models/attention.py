"""Dropout and attention kernels that are fast on a CPU, and causal attention masks.

On a CPU torch draws dropout masks one element at a time on one core, and its fused attention has no dropout, so it
falls back to a slow path. With dropout 0.1 both took half of a training step on sequences of 256 tokens. On a GPU
both are torch's own; padded batches are packed for its variable-length attention, as its fastest kernels take no mask.

Legend: B sequences, A heads, L tokens of the longest sequence, T tokens of a packed row, D head size.
"""

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from interlace.core.errors import SettingsError
from interlace.models.families import SEQUENCE_ENDS, Family

NAME = "interlace"  # of the kernel among transformers' attention implementations
MAX_LENGTH = 512  # above it, (L, L) weights cost more memory than they save time
_LEVELS = 1 << 16  # random numbers of a dropout mask are 16 bits wide
varlen_attn: Any = None  # torch's, on a GPU: it takes seconds to import


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
    key, value = _for_each_query_head(query, key, value)
    if attention_mask is None and is_causal:
        attention_mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril_()
    if scaling is None:
        scaling = query.shape[-1] ** -0.5
    scores = torch.matmul(query * scaling, key.transpose(2, 3))  # (B, A, L, L)
    if attention_mask is not None:
        # the minimum instead of -inf: a padded query of a local window may have no key at all
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    # autocast would compute these lines in float32 and round the result
    with torch.autocast("cpu", enabled=False):
        weights = apply_dropout(scores.softmax(dim=-1), dropout)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), None


def encoder_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Return `attention` of an encoder; packed in training, where something is padded and the hardware can do it.

    Of a packed row (B = 1, no mask), `SEQUENCE_ENDS` has 0 and the end of each sequence, and `max_length_q` is the
    length of the longest one at most.
    """
    window = options.get("sliding_window")
    reach = -1 if window is None else window - 1  # to both sides
    if options.get(SEQUENCE_ENDS) is not None:
        ends = options[SEQUENCE_ENDS]
        length = options["max_length_q"]
        parts = (query, *_for_each_query_head(query, key, value))
        states = [part.squeeze(0).transpose(0, 1) for part in parts]  # (T, A, D)
        attended = _attention_of_sequences(
            states,
            ends,
            length,
            scaling=options.get("scaling"),
            reach=reach,
            dropout=options.get("dropout", 0.0),
        )
        return attended[None], None
    learning = module.training and torch.is_grad_enabled()
    special = options.get("is_causal") or options.get("dropout")
    if attention_mask is None or special or not learning or not has_varlen(query):
        return attention(module, query, key, value, attention_mask, **options)
    real = attention_mask[:, 0].diagonal(dim1=1, dim2=2)  # a real token sees at least itself
    key, value = _for_each_query_head(query, key, value)
    return packed_attention(
        query, key, value, real, scaling=options.get("scaling"), reach=reach
    ), None


def _for_each_query_head(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return keys and values by query head; several may share one (grouped-query attention)."""
    group = query.shape[1] // key.shape[1]
    if group == 1:
        return key, value
    return key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)


def has_varlen(query: Tensor) -> bool:
    """Return whether torch's variable-length attention can run on this input."""
    return query.is_cuda and runs_varlen(query.dtype, query.shape[-1])


def runs_varlen(dtype: torch.dtype, head_size: int) -> bool:
    """Return whether torch's variable-length attention can run: half precision on GPUs since Ampere."""
    if varlen_attn is None or not torch.cuda.is_available():
        return False
    if dtype not in {torch.bfloat16, torch.float16}:
        return False
    if head_size % 8 or head_size > 256:
        return False
    return bool(torch.cuda.get_device_capability() >= (8, 0))


def packed_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    real: Tensor,
    *,
    scaling: float | None,
    reach: int,
) -> Tensor:
    """Return (B, L, A, D) attention outputs of real tokens, zeros at padding, without waiting for the device.

    Real tokens are moved before all padding, which no sequence of the kernel includes: it writes nothing there.
    Of two sequences `a b _` and `c _ _`, the pack is `a b c _ _ _`, and the sequences end at 0, 2 and 3.

    real: (B, L) false at padding. reach: how many tokens each sees to either side; -1: all.
    """
    rows, _, length, _ = query.shape
    flat = real.flatten()  # (B * L,)
    real_before = flat.cumsum(0)
    padding_before = (~flat).cumsum(0)
    # of shape (B * L,)
    packed_index = torch.where(flat, real_before - 1, real_before[-1] + padding_before - 1)
    ends = functional.pad(real.sum(1).cumsum(0), (1, 0)).to(torch.int32)  # (B + 1,)
    is_real = flat[:, None, None]

    def pack(states: Tensor) -> Tensor:
        # its gradient is undefined at padding
        states = torch.where(is_real, states.transpose(1, 2).flatten(0, 1), 0)
        return torch.empty_like(states).index_copy(0, packed_index, states)

    packed = [pack(states) for states in (query, key, value)]
    attended = _attention_of_sequences(packed, ends, length, scaling=scaling, reach=reach)
    return torch.where(is_real, attended[packed_index], 0).view(
        rows, length, *attended.shape[1:]
    )


def _attention_of_sequences(
    states: list[Tensor],
    ends: Tensor,
    length: int,
    *,
    scaling: float | None,
    reach: int,
    dropout: float = 0.0,
) -> Tensor:
    """Return the (T, A, D) outputs of attention of each sequence to itself.

    states: (T, A, D) query, key and value. ends: 0 and the end of each sequence. length: of the longest one at most.
    reach: how many tokens each sees to either side; -1: all. dropout: share of the attention weights.
    """
    attended: Tensor
    if not dropout:
        attended = varlen_attn(
            *states, ends, ends, length, length, scale=scaling, window_size=(reach, reach)
        )
        return attended
    # varlen_attn sets the dropout of this kernel to 0; torch's nested tensors set it as here, but have no windows
    flash_attention: Any = torch.ops.aten._flash_attention_forward  # noqa: SLF001
    attended, *_ = flash_attention(
        *states,
        ends,
        ends,
        length,
        length,
        dropout,
        is_causal=False,
        return_debug_mask=False,
        scale=scaling,
        window_size_left=reach,
        window_size_right=reach,
    )
    return attended


def install_kernels(model: Any, *, own_attention: bool) -> None:
    """Put both kernels into a transformers model, in place; `own_attention` has effect where the model takes sdpa."""
    global varlen_attn  # noqa: PLW0603 - compiled layers cannot import
    if torch.cuda.is_available() and varlen_attn is None:
        with suppress(ImportError):  # before torch 2.10
            from torch.nn.attention import varlen

            varlen_attn = varlen.varlen_attn
    if own_attention and model._supports_sdpa:  # noqa: SLF001 - transformers has no public name for it
        from transformers import AttentionInterface, AttentionMaskInterface

        AttentionInterface.register(NAME, encoder_attention)
        AttentionMaskInterface.register(NAME, _attention_mask)
        model.set_attn_implementation(NAME)
    _replace_dropout(model)


def _attention_mask(*arguments: Any, **options: Any) -> Tensor | None:
    """Return transformers' mask for sdpa; one is passed only where something is padded, so its values are not read."""
    from transformers.masking_utils import sdpa_mask

    if options.get("attention_mask") is not None:
        options["allow_is_bidirectional_skip"] = False
    return sdpa_mask(*arguments, **options)


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

    A packed row gets no mask: its sequences are known by their ends.

    Families support both call by call, so one backbone can alternate `clm` and `mlm` and a causal model can be
    fine-tuned bidirectionally (Conneau & Lample 2019). A causal call needs no padding mask, because padding is on the
    right; attention without a mask is the fastest.

    Raise a SettingsError if attention of the family cannot be causal.
    """
    if causal and not family.causal:
        raise SettingsError(
            f"attention of a {family.name} model cannot be causal; start from another family for objectives that "
            "predict from left to right"
        )
    if family.name == "xlm":
        model.base_model.causal = causal  # XLM's encoder takes it as an attribute only
        return inputs
    if not causal:
        if SEQUENCE_ENDS in inputs and family.name == "modernbert":
            return {**inputs, "attention_mask": dict.fromkeys(set(model.config.layer_types))}
        return inputs
    arguments: dict[str, Any] = {**inputs, "is_causal": True}
    arguments.pop("attention_mask", None)
    if family.name == "rembert":
        # its attention adds a mask to the scores, and knows no causal one
        visible = causal_mask(inputs["input_ids"], inputs["input_ids"].shape[1])
        scores = torch.zeros(visible.shape, device=visible.device)
        arguments["attention_mask"] = scores.masked_fill(
            ~visible, torch.finfo(scores.dtype).min
        )
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
