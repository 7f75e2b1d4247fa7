"""A vocabulary head for a checkpoint that has none: trained alone before the first update.

The gradient of a random head changes an encoder before the head can use what the encoder knows. Training the new layers
first and then all of them avoids this (Kumar et al. 2022, "Fine-Tuning can Distort Pretrained Features and Underperform
Out-of-Distribution", section 3.4).
"""

from __future__ import annotations

import logging
from statistics import fmean
from typing import TYPE_CHECKING

import torch
from accelerate.utils import broadcast

from interlace.core.progress import current_progress
from interlace.models.backbone import eval_mode, parts_of

if TYPE_CHECKING:
    from interlace.training.loop import Training, TrainingModel

log = logging.getLogger(__name__)

_MAX_STEPS = 500
_WINDOW = 50  # updates over which losses are averaged
_MIN_GAIN = 0.01  # of the loss from one window to the next; below it, the loss has settled
_LEARNING_RATE = 3e-3


def train_fresh_head(training: Training) -> None:
    """Train the vocabulary head alone on the first batches of the mixture, in place, until its loss settles.

    All other weights stay. The result depends on the mixture and its seed only, so an interrupted run repeats it
    exactly. Objectives that do not use the head are left out.
    """
    accelerator = training.accelerator
    mixture = training.mixture
    model: TrainingModel = accelerator.unwrap_model(training.model)
    head = [weight for weight in parts_of(model.backbone)["head"] if weight.requires_grad]
    if not head:
        return
    optimizer = torch.optim.AdamW(head, lr=_LEARNING_RATE)
    losses: list[float] = []
    progress = current_progress()
    without_head = set()  # numbers of sources
    with eval_mode(model):
        for draw in mixture.draws(0, _MAX_STEPS, (), slots=1):
            if draw.source in without_head:
                continue
            batch = mixture.batch(draw, slot=0).to(accelerator.device)
            objective = mixture.sources[draw.source].objective
            loss, _ = model(objective, batch, batch.counts)
            gradients = torch.autograd.grad(loss, head, allow_unused=True)
            if all(gradient is None for gradient in gradients):
                without_head.add(draw.source)
                continue
            for weight, gradient in zip(head, gradients, strict=True):
                weight.grad = gradient
            optimizer.step()
            losses.append(loss.item())
            progress("training a new vocabulary head", len(losses), _MAX_STEPS)
            if _is_settled(losses):
                break
    optimizer.zero_grad()
    with torch.no_grad():
        for weight in head:  # processes may round differently
            weight.copy_(broadcast(weight.detach()))
    if losses:
        message = "no vocabulary head in the checkpoint: trained a new one alone for %d updates, loss %.2f to %.2f"
        log.info(message, len(losses), losses[0], fmean(losses[-_WINDOW:]))


def _is_settled(losses: list[float]) -> bool:
    """Return whether the last window of losses is hardly below the one before."""
    if len(losses) < 2 * _WINDOW:
        return False
    earlier = fmean(losses[-2 * _WINDOW : -_WINDOW])
    return fmean(losses[-_WINDOW:]) > (1 - _MIN_GAIN) * earlier
