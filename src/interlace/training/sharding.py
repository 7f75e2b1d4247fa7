"""Sharded training by FSDP2: each process holds a part of the weights, gradients and moments (Zhao et al. 2023).

Layers are gathered one at a time for their forward and backward pass, everything else for the whole pass. A translation
model is gathered as a whole, because processes run its layers differently often to generate. Evaluation needs whole
weights at other times: it reads a copy of the model in main memory, which the processes fill together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import torch

from interlace.core.errors import SettingsError
from interlace.models.blocks import blocks_of
from interlace.training import checkpoint

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch import nn

    from interlace.training.loop import Training, TrainingModel


def shard(model: TrainingModel, accelerator: Accelerator) -> Any:
    """Shard a model over all processes, in place; they must have the same weights. Return it prepared for training."""
    for name, parameter in model.named_parameters():
        if not parameter.ndim:
            hint = "give it one, as torch.zeros(1) has, or set train.shard = false"
            raise SettingsError(f"train.shard: {name} has no dimension that can be divided; {hint}")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    prepared = accelerator.prepare_model(model, device_placement=False, evaluation_mode=True)  # autocast only
    mesh = init_device_mesh(accelerator.device.type, (accelerator.num_processes,))
    layers = [] if hasattr(model.backbone, "decode") else blocks_of(model.backbone.model.base_model)
    for part in [*layers, prepared]:
        fully_shard(part, mesh=mesh)
    return prepared


def copy_of(model: TrainingModel) -> TrainingModel:
    """Return a copy for evaluation; to be made before layers are wrapped and sharded."""
    return deepcopy(model).requires_grad_(requires_grad=False).eval()


@contextmanager
def whole_model(training: Training) -> Iterator[TrainingModel]:
    """Yield the model with all its weights; of sharded training the copy. All processes must enter this together."""
    model: Any = training.accelerator.unwrap_model(training.model)
    if training.copy is None:
        yield model
        return
    fill(training.copy.to(training.accelerator.device), model)
    yield training.copy
    training.copy.to("cpu")


@torch.no_grad()
def fill(copy: nn.Module, model: nn.Module) -> None:
    """Gather the weights of a sharded model into a whole one; all processes must call this together."""
    weights: Any = zip(checkpoint.named_weights(copy), checkpoint.named_weights(model), strict=True)
    for (_, own), (_, part) in weights:
        own.copy_(part.full_tensor() if hasattr(part, "full_tensor") else part)
