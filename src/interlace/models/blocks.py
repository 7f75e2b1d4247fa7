"""Gradient checkpointing and compilation of a backbone, in training only.

Both replace a `forward` and leave weights and their names alone. Layers are compiled one by one, and one compiled layer
serves all of a kind; of packed rows, whose shape is fixed, the encoder is one graph. The rest of a step is not
compiled: it is short on a GPU.
"""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from interlace.models.backbone import Backbone
from interlace.models.families import SEQUENCE_ENDS

log = logging.getLogger(__name__)

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
    if isinstance(decoder, nn.Module):  # layers of a pre-trained one are among the model's
        _wrap(decoder, "run_layer", checkpointing=checkpointing, compiled=compiled)


def compile_encoder(backbone: Backbone, *, cuda_graphs: bool) -> None:
    """Compile the encoder of packed rows as one graph, in place; call it after `wrap_blocks`.

    cuda_graphs: replay each pass as one launch, for models that would wait for kernels to be launched. The gradients of
    an update are then of one micro-batch: those of an earlier one would be overwritten.
    """
    encoder = backbone.model.base_model
    plain: Callable[..., Any] = encoder.forward
    mode = "reduce-overhead" if cuda_graphs else None
    compiled: Any = torch.compile(plain, backend=COMPILER, dynamic=False, mode=mode)
    begin_pass: Any = torch.compiler.cudagraph_mark_step_begin
    seconds: list[float] = []  # of the first pass

    def forward(*arguments: Any, **options: Any) -> Any:
        is_packed = SEQUENCE_ENDS in options
        if not (is_packed and encoder.training and torch.is_grad_enabled()):
            return plain(*arguments, **options)
        if cuda_graphs:
            begin_pass()
        start = time.perf_counter()
        states = compiled(*arguments, **options)
        if not seconds:
            seconds.append(time.perf_counter() - start)
            log.info("compiled the encoder in %.0f s", seconds[0])
        return states

    encoder.forward = forward


def waits_for_launches(backbone: Backbone, tokens: int) -> bool:
    """Return whether a GPU computes an update of `tokens` in less time than its kernels take to be launched.

    Launches of 12 layers took 64 ms on an H100, at any width; it computes some 4e14 operations a second
    (docs/results/gpu.md), six for each weight and token.
    """
    layers = list(blocks_of(backbone.model.base_model))
    weights = sum(parameter.numel() for layer in layers for parameter in layer.parameters())
    seconds = 6 * weights * tokens / 4e14
    return seconds < 64e-3 / 12 * len(layers)


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
