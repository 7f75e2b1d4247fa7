"""From similarities of units (words or subwords) to links: four ways, each over a whole batch.

Legend: B pairs; I source and J target units of the longest; H width. `real` (B, I, J) is true where both units are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor


def cosines(source: Tensor, target: Tensor) -> Tensor:
    """(B, I, J) cosine of (B, I, H) and (B, J, H), moved into 0 to 1 (Jalili Sabet et al. 2020, section 2.1)."""
    from torch.nn.functional import normalize

    products: Tensor = normalize(source, dim=2) @ normalize(target, dim=2).transpose(1, 2)
    return ((1 + products) / 2).clamp(0, 1)


def distorted(similarity: Tensor, source: Tensor, target: Tensor, strength: float) -> Tensor:
    """Similarities lowered by how far two units stand from the diagonal (the same, section 2.3).

    source, target: (B, I) and (B, J) which units are real.
    """
    places = [real.cumsum(1) / real.sum(1, keepdim=True).clamp(min=1) for real in (source, target)]
    return similarity * (1 - strength * (places[0][:, :, None] - places[1][:, None, :]) ** 2)


def argmax(similarity: Tensor, real: Tensor) -> Tensor:
    """(B, I, J) where two units are each the most similar to the other (the same, section 2.2); ties to the first."""
    import torch

    hidden = similarity.masked_fill(~real, -torch.inf)
    of_source = hidden.argmax(2)  # (B, I)
    of_target = hidden.argmax(1)  # (B, J)
    mutual = of_target.gather(1, of_source) == torch.arange(real.shape[1], device=real.device)
    return torch.zeros_like(real).scatter_(2, of_source[:, :, None], mutual[:, :, None]) & real


def itermax(similarity: Tensor, real: Tensor, alpha: float, iterations: int) -> Tensor:
    """Argmax again and again: two linked units are out, one linked unit counts `alpha` (the same, section 2.2).

    The authors' program also stops where all units of a side are linked or a side has at most two, which the paper
    does not say; here these are treated like all others.
    """
    linked = argmax(similarity, real)
    for _ in range(iterations - 1):
        source, target = linked.any(2, keepdim=True), linked.any(1, keepdim=True)
        discounted = similarity * (1 - (1 - alpha) * (source | target))
        linked |= argmax(discounted, real & ~(source & target))
    return linked


def match(similarity: Tensor, real: Tensor) -> Tensor:
    """The assignment, one to one, with the highest sum of similarities (the same, section 2.2)."""
    import torch
    from scipy.optimize import linear_sum_assignment

    values, masks = similarity.cpu().numpy(), real.cpu().numpy()
    linked = np.zeros_like(masks)
    for row, (value, mask) in enumerate(zip(values, masks, strict=True)):
        source, target = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        chosen = linear_sum_assignment(value[np.ix_(source, target)], maximize=True)
        linked[row, source[chosen[0]], target[chosen[1]]] = True
    return torch.from_numpy(linked).to(real.device)


def softmax(products: Tensor, real: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Where the probabilities of both directions pass the threshold, and their geometric mean.

    Each direction is a softmax over dot products (Dou & Neubig 2021, section 2.1).
    """
    import torch

    hidden = products.masked_fill(~real, torch.finfo(products.dtype).min)
    forward, backward = hidden.softmax(2), hidden.softmax(1)
    linked = (forward > threshold) & (backward > threshold) & real
    return linked, (forward * backward).sqrt()
