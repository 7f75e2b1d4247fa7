"""Training under autocast with the weights of all linear layers cast to half precision by one operation.

Autocast casts each weight where it is used, and the gradient of each back to float32: in 12 layers these are 288 of the
1,005 operations of an update, which a GPU computes faster than they are launched. Here two operations do all of them.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call


def call(module: nn.Module, **arguments: Any) -> Any:
    """Return `module(**arguments)`; in training under autocast, its linear layers read weights that are cast together.

    All values are those of autocast, except with dropout of adapters, which peft applies in the type of their weights.
    Several processes leave the casts to autocast: they exchange the gradients of a layer while those of the layers
    below are computed, and here all gradients come at the end.
    """
    weights = _linear_weights(module) if _is_cast(module) else {}
    if not weights:
        return module(**arguments)
    dtype = torch.get_autocast_dtype(_device_type(module))
    apply: Any = _CastTogether.apply
    copies = dict(zip(weights, apply(dtype, *weights.values()), strict=True))
    return functional_call(module, copies, kwargs=arguments, tie_weights=False)


def _is_cast(module: nn.Module) -> bool:
    """Return whether a call is one of training under autocast, in a single process."""
    kind = _device_type(module)
    if not (module.training and torch.is_grad_enabled()):
        return False
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return False
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)


def _device_type(module: nn.Module) -> str:
    return next(module.parameters()).device.type


def _linear_weights(module: nn.Module) -> dict[str, Tensor]:
    """Return the trained float32 weights and biases of linear layers, by name."""
    weights: dict[str, Tensor] = {}
    for path, layer in module.named_modules():
        if not isinstance(layer, nn.Linear):
            continue
        for name, weight in layer.named_parameters(path, recurse=False):
            if weight.requires_grad and weight.dtype == torch.float32:
                weights[name] = weight
    return weights


class _CastTogether(torch.autograd.Function):
    """Copies of float32 weights in half precision, by one operation, and their gradients back by another."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *weights: Tensor) -> tuple[Tensor, ...]:
        """Return the copies."""
        ctx.set_materialize_grads(value=False)  # a weight that is not used has none
        return tuple(_cast(list(weights), dtype))

    @staticmethod
    @once_differentiable
    def backward(_: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        """Return the gradients in float32."""
        used = [gradient for gradient in gradients if gradient is not None]
        copies = iter(_cast(used, torch.float32))
        cast = [None if gradient is None else next(copies) for gradient in gradients]
        return None, *cast


def _cast(tensors: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    copies = [torch.empty_like(tensor, dtype=dtype) for tensor in tensors]
    torch._foreach_copy_(copies, tensors)
    return copies
