"""Torch building blocks of losses: cross-entropy over a vocabulary, sums of states, a frozen encoder.

Legend: N predictions, B sequences, L tokens of the longest, H width, V vocabulary, E gathered states.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from interlace.models.backbone import Backbone, Tensors

# logits in memory at once, in float32; their softmax takes the same memory again
MAX_LOGITS = 1 << 27
# of errors, which are at most 1: below fp16's maximum, and 1e-12 is not yet 0
_FP16_SCALE = 2.0**15


def states_at(states: Tensor, at: tuple[Tensor, Tensor]) -> Tensor:
    """Return the (N, H) states at N rows and columns of (B, L, H) states.

    Selecting rows of the flattened states is one operation on a GPU, and one in the backward pass, where indexing with
    two tensors sorts the indices.
    """
    rows, columns = at
    return states.flatten(0, 1).index_select(0, rows * states.shape[1] + columns)


def vocabulary_loss(
    backbone: Backbone, states: Tensor, labels: Tensor, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return `linear_cross_entropy` of the predictions of a backbone's vocabulary head from (N, H) states."""
    head = backbone.vocabulary_head()
    return linear_cross_entropy(head.features(states), head.decoder, labels, smoothing)


def linear_cross_entropy(
    features: Tensor, decoder: nn.Linear, labels: Tensor, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return the summed cross-entropy of a linear layer's predictions, and (N,) unsmoothed ones without a gradient.

    Logits are computed in chunks of `MAX_LOGITS` and never kept: the forward pass also computes the gradients, which
    takes as long as computing them later (recomputing logits takes a third longer). Products have autocast's precision,
    but float32 instead of bf16 on a CPU: there copies of a large table in bf16 take gigabytes and save no time. All
    sums are float32. In fp16 the errors are scaled up, and results of products are float32, because the sum of a
    frequent token would overflow. The gradient can be computed once.

    features: (N, H). labels: (N,). smoothing: share of a label's weight that is spread over the vocabulary (Szegedy et
        al. 2016, section 7; Vaswani et al. 2017, section 5.4).
    """
    apply: Any = _LinearCrossEntropy.apply
    total, nll = apply(
        features, decoder.weight, decoder.bias, labels, smoothing, torch.is_grad_enabled()
    )
    return total, nll


class _LinearCrossEntropy(torch.autograd.Function):
    """The cross-entropy of `linear_cross_entropy` with its gradients, chunk by chunk."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        smoothing: float,
        learn: bool,
    ) -> tuple[Tensor, Tensor]:
        """Return the total and its parts; if `learn`, keep the gradients of the total."""
        chunk = max(1, MAX_LOGITS // len(weight))
        dtype = _product_dtype(features, weight)
        gradients: list[Tensor | None] = []
        for tensor, is_needed in zip(
            (features, weight, bias), ctx.needs_input_grad, strict=False
        ):
            if learn and is_needed and tensor is not None:
                gradients.append(torch.zeros_like(tensor))
            else:
                gradients.append(None)
        nll = features.new_empty(len(labels), dtype=torch.float32)
        spread = nll.new_zeros(())
        with torch.autocast(features.device.type, enabled=False):
            read = features.to(dtype)
            table = weight.to(dtype)
            offset = None if bias is None else bias.to(dtype)
            for start in range(0, len(labels), chunk):
                rows = slice(start, start + chunk)
                logs = _log_probabilities(read[rows], table, offset)
                nll[rows] = functional.nll_loss(logs, labels[rows], reduction="none")
                if smoothing:
                    spread -= smoothing / len(weight) * logs.sum()
                if learn:
                    _to_errors(logs, labels[rows], smoothing)
                    _add_gradients(gradients, logs, read[rows], table, rows)
                del logs  # before the next chunk
        ctx.gradients = gradients
        ctx.mark_non_differentiable(nll)
        return (1 - smoothing) * nll.sum() + spread, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Return the kept gradients, scaled in place."""
        # the only reference, so autograd need not copy them
        gradients = ctx.gradients
        ctx.gradients = None
        if gradients is None:
            raise RuntimeError("the gradient of linear_cross_entropy can be computed once")
        for gradient in gradients:
            if gradient is not None:
                gradient.mul_(outer)
        return *gradients, None, None, None


def _log_probabilities(read: Tensor, table: Tensor, offset: Tensor | None) -> Tensor:
    """Return (n, V) float32 log-probabilities of a linear layer's predictions from (n, H) features."""
    logits = functional.linear(read, table, offset)
    return functional.log_softmax(logits, 1, dtype=torch.float32)


def _to_errors(logs: Tensor, labels: Tensor, smoothing: float) -> None:
    """Change (n, V) log-probabilities to the gradient of the loss by their logits."""
    logs.exp_()
    if smoothing:
        logs.sub_(smoothing / logs.shape[1])
    rows = torch.arange(len(labels), device=labels.device)
    logs[rows, labels] -= 1 - smoothing


def _product_dtype(features: Tensor, weight: Tensor) -> torch.dtype:
    """Return the precision of products: autocast's, but not bf16 on a CPU."""
    kind = features.device.type
    dtype = features.dtype
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    if kind == "cpu" and dtype == torch.bfloat16:
        return weight.dtype
    return dtype


def _add_gradients(
    gradients: list[Tensor | None], errors: Tensor, read: Tensor, table: Tensor, rows: slice
) -> None:
    """Add the gradients of a chunk: errors (n, V) of the logits, which read (n, H) with the table (V, H) makes."""
    features, weight, bias = gradients
    if bias is not None:
        bias += errors.sum(0)
    if table.dtype == torch.float16:
        errors = errors.mul_(_FP16_SCALE).to(table.dtype)
        if features is not None:
            features[rows] = (
                _float32_product(errors, table).div_(_FP16_SCALE).to(features.dtype)
            )
        if weight is not None:
            weight.add_(_float32_product(errors.T, read), alpha=1 / _FP16_SCALE)
        return
    errors = errors.to(table.dtype)
    if features is not None:
        features[rows] = errors @ table
    if weight is not None and weight.dtype == errors.dtype:
        weight.addmm_(errors.T, read)  # without a second (V, H)
    elif weight is not None:
        weight += errors.T @ read


def _float32_product(matrix: Tensor, other_matrix: Tensor) -> Tensor:
    """Return the product of half-precision matrices without rounding sums to half precision."""
    if matrix.is_cuda and hasattr(torch.ops.aten.mm, "dtype"):  # since torch 2.8
        return torch.mm(matrix, other_matrix, out_dtype=torch.float32)
    return matrix.float() @ other_matrix.float()


def weighted_sums(
    states: Tensor, places: Tensor, to: Tensor, weights: Tensor, rows: int
) -> Tensor:
    """Return (rows, H) float32 sums: row `to[e]` adds `weights[e]` times the state at `places[e]`.

    states: (B, L, H). places: (E,) indices into the flattened states. to, weights: (E,). Memory grows with E, not
    with L x L.
    """
    gathered = states.flatten(0, 1).index_select(0, places).float()  # (E, H)
    weighted = gathered * weights[:, None]
    sums = weighted.new_zeros(rows, weighted.shape[1])
    return sums.index_add(0, to, weighted)


class FrozenEncoder(nn.Module):
    """A copy of an encoder as it is, with its sentence head, without gradients and dropout.

    It takes the encoder's memory again (4 bytes per parameter: 0.7 GB for mBERT, 1.1 GB for XLM-R base), but no
    gradients and optimizer states. Checkpoints contain it, so that a resumed run keeps the same copy.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        encoder = Backbone(backbone.model.base_model, sentence_head=backbone.sentence_head)
        self.encoder = deepcopy(encoder).requires_grad_(requires_grad=False)
        self.train()

    def train(self, mode: bool = True) -> FrozenEncoder:  # noqa: ARG002 - torch's signature
        """Stay in evaluation mode."""
        return super().train(mode=False)

    def encode(self, inputs: Tensors) -> Tensor:
        """Return (B, L, H) states."""
        with torch.no_grad():
            return self.encoder.encode(inputs)

    def sentence_vectors(self, inputs: Tensors) -> Tensor:
        """Return (B, D) sentence vectors."""
        with torch.no_grad():
            return self.encoder.sentence_vectors(inputs)
