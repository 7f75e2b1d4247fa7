"""Gradient checkpointing and compilation of a backbone's layers, in training only.

Both replace a layer's `forward` and leave its weights and their names alone. The rest of a step is not compiled: it is
short on a GPU, and one compiled layer serves all layers of a kind.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from interlace.models.backbone import Backbone

COMPILER = "inductor"  # of torch.compile
LENGTHS = 64  # lengths of padded batches are multiples of it on a GPU, so that few are compiled
_VARIANTS = 64  # of a layer, by shape, mask and kind: torch's limit of 8 is below what a mixture of objectives has


def wrap_blocks(backbone: Backbone, *, checkpointing: bool, compiled: bool) -> None:
    """Recompute the activations of layers in the backward pass (Chen et al. 2016), compile layers, or both, in place.

    A decoder's layers are included. Evaluation runs the plain layers.
    """
    if compiled:
        torch.compiler.config.recompile_limit = _VARIANTS
        backbone.length_multiple = LENGTHS if torch.cuda.is_available() else 1
    for block in blocks_of(backbone.model.base_model):
        _wrap(block, "forward", checkpointing=checkpointing, compiled=compiled)
    decoder: Any = getattr(backbone, "decoder", None)
    if decoder is not None:
        _wrap(decoder, "run_layer", checkpointing=checkpointing, compiled=compiled)


def blocks_of(model: nn.Module) -> Iterator[nn.Module]:
    """Yield the members of a model's lists of layers; XLM has a list for each part of a layer."""
    for child in model.children():
        if not isinstance(child, nn.ModuleList):
            yield from blocks_of(child)
            continue
        for block in child:
            if not isinstance(block, nn.LayerNorm):
                yield block


def _wrap(module: nn.Module, name: str, *, checkpointing: bool, compiled: bool) -> None:
    """Replace a method by one that recomputes, is compiled, or both, while the module is trained."""
    plain: Callable[..., Any] = getattr(module, name)
    inner: Any = torch.compile(plain, backend=COMPILER) if compiled else plain

    def forward(*arguments: Any, **options: Any) -> Any:
        if not (module.training and torch.is_grad_enabled()):
            return plain(*arguments, **options)
        # XLM fills one even in training, and a second pass would append to it
        if "cache" in options:
            options["cache"] = None
        if checkpointing:
            return checkpoint(inner, *arguments, use_reentrant=False, **options)
        return inner(*arguments, **options)

    setattr(module, name, forward)
