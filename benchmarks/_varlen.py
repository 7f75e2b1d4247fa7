"""A stand-in for torch's variable-length attention, which runs on GPUs only: one operation with the same results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from interlace.models import attention

to_list = Tensor.tolist  # counts of waits replace the method


def sequences(ends: Tensor) -> Iterator[slice]:
    """Yield the tokens of each sequence that is not empty."""
    for start, end in pairwise(to_list(ends)):
        if end > start:
            yield slice(start, end)


def attention_weights(query: Tensor, key: Tensor, scale: float, reach: int) -> Tensor:
    """Return (A, L, L) weights of a sequence; `reach` tokens to either side, -1 for all."""
    scores = scale * torch.einsum("qad,kad->aqk", query, key)
    if reach >= 0:
        positions = torch.arange(len(query))
        far = (positions[:, None] - positions).abs() > reach
        scores = scores.masked_fill(far, float("-inf"))
    return scores.softmax(-1)


@torch.library.custom_op("interlace_benchmarks::varlen", mutates_args=())
def varlen(
    query: Tensor, key: Tensor, value: Tensor, ends: Tensor, scale: float, reach: int
) -> Tensor:
    """Return (T, A, D) attention of each sequence to itself, as one operation."""
    states = torch.empty_like(query)
    for tokens in sequences(ends):
        weights = attention_weights(query[tokens], key[tokens], scale, reach)
        states[tokens] = torch.einsum("aqk,kad->qad", weights, value[tokens])
    return states


@torch.library.custom_op("interlace_benchmarks::varlen_backward", mutates_args=())
def varlen_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    ends: Tensor,
    scale: float,
    reach: int,
) -> list[Tensor]:
    """Return the gradients of the query, the key and the value."""
    gradients = [torch.empty_like(states) for states in (query, key, value)]
    for tokens in sequences(ends):
        weights = attention_weights(query[tokens], key[tokens], scale, reach)
        of_weights = torch.einsum("qad,kad->aqk", gradient[tokens], value[tokens])
        mean = (of_weights * weights).sum(-1, keepdim=True)
        of_scores = scale * weights * (of_weights - mean)
        gradients[0][tokens] = torch.einsum("aqk,kad->qad", of_scores, key[tokens])
        gradients[1][tokens] = torch.einsum("aqk,qad->kad", of_scores, query[tokens])
        gradients[2][tokens] = torch.einsum("aqk,qad->kad", weights, gradient[tokens])
    return gradients


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.scale, ctx.reach = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    gradients = varlen_backward(gradient, *ctx.saved_tensors, ctx.scale, ctx.reach)
    return (*gradients, None, None, None)


varlen.register_fake(lambda query, *_: torch.empty_like(query))
varlen_backward.register_fake(
    lambda _, *states: [torch.empty_like(part) for part in states[:3]]
)
varlen.register_autograd(_backward, setup_context=_keep)


def stand_in(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    ends: Tensor,
    *_: Any,
    scale: float,
    window_size: tuple[int, int],
) -> Tensor:
    """Return what `torch.nn.attention.varlen.varlen_attn` returns."""
    return varlen(query, key, value, ends, scale, window_size[0])


@contextmanager
def replaced_varlen() -> Iterator[None]:
    """Use the stand-in."""
    with patch.object(attention, "varlen_attn", stand_in):
        yield
