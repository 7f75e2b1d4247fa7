"""MUSE: map each language onto the pivot without a dictionary, by adversarial training, then refine.

Conneau et al. (2018, sections 2.1 and 3). The discriminator learns to distinguish mapped vectors of one language from
vectors of the other; the mapping learns to fool it. After each of its updates the mapping is drawn back towards the
orthogonal matrices (section 3.3, equation 7).

Adversarial training does not always converge, which no criterion without a dictionary reveals: it also rises on wrong
rotations. But a right rotation is found again by another run, and has a higher criterion than random rotations that are
refined likewise: otherwise a warning says so, and the run's record does too.

Legend: B words of each language in a batch, H width. A mapping W is (H, H); x is mapped to x W.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.neighbors import unit
from interlace.core.progress import Progress
from interlace.core.randomness import Purpose, generator, torch_seed
from interlace.core.settings import Settings
from interlace.embeddings import EmbeddingSources
from interlace.embeddings.common.mapping import (
    CRITERION_WORDS,
    Floats,
    MappedPair,
    MappingMethod,
    Refined,
    Start,
    nearest_orthogonal,
)

if TYPE_CHECKING:
    from torch import Tensor

log = logging.getLogger(__name__)

MIN_AGREEMENT = 0.9  # of two runs that found the same rotation; wrong results on the toy corpus had 0.27 to 0.73
_RANDOM_STARTS = 3  # rotations whose criterion after refinement a converged run exceeds

_WORDS = 50_000  # most frequent words of each language to sample (3.2)
_BATCH = 32  # words of each language per update (3.1)
_DROPOUT = 0.1  # on the discriminator's input (3.1)
_SMOOTHING = 0.2  # s: labels of the discriminator are 1 - s/2 and s/2 (3.1: 0.2; MUSE)
_DECAY = 0.95  # of the learning rate after each epoch (3.1)
_SHRINK = 0.5  # additional factor if the criterion has decreased (3.1)
_BETA = 0.01  # step of the mapping towards the orthogonal matrices (3.3)


class Adversary(Settings):
    """Adversarial training; defaults from Conneau et al. 2018, section 3.1, else from MUSE's code."""

    epochs: int = Field(
        5, ge=1, description="Epochs; the criterion is computed after each (MUSE: 5)."
    )
    updates: int = Field(
        31_250, ge=1, description="Updates of the mapping per epoch (MUSE: a million words)."
    )
    discriminator_steps: int = Field(
        5, ge=1, description="Discriminator updates per mapping update (MUSE: 5)."
    )
    hidden: int = Field(
        2048, ge=1, description="Width of the discriminator's two hidden layers (3.1)."
    )
    learning_rate: float = Field(
        0.1, gt=0, description="SGD learning rate of both players (3.1)."
    )
    restarts: int = Field(
        2,
        ge=1,
        description="Independent runs; the best by the criterion counts, if another one agrees with it.",
    )

    def run(self, pair: MappedPair, seed: int, number: int, progress: Progress) -> Refined:
        """Return the best rotation of one run by the criterion, and the criterion after each epoch."""
        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        rotations: list[Floats] = []
        history: list[float] = []
        rate = self.learning_rate
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(torch_seed(Purpose.VECTORS, seed, number))
            players = _Players(self, pair, device, generator(Purpose.VECTORS, seed, number, 1))
            for epoch in range(self.epochs):
                for update in range(self.updates):
                    players.update(rate)
                    if update % 100 == 0:
                        done = epoch * self.updates + update
                        progress(
                            f"adversarial run {number + 1}", done, self.epochs * self.updates
                        )
                rotation = nearest_orthogonal(players.mapping.detach().cpu().numpy())
                rotations.append(rotation)
                history.append(pair.criterion(rotation))
                message = "adversarial run %d, epoch %d: criterion %.4f"
                log.info(message, number, epoch, history[-1])
                rate *= _DECAY
                if len(history) > 1 and history[-1] < history[-2]:
                    rate *= _SHRINK
        return Refined(rotations[int(np.argmax(history))], history)


class Muse(MappingMethod):
    """Vectors of each language alone, mapped without supervision."""

    adversary: Adversary = Field(
        default_factory=Adversary, description="Training of the initial rotation."
    )

    def start(self, pair: MappedPair, sources: EmbeddingSources, progress: Progress) -> Start:  # noqa: ARG002
        """Return the rotation with the best criterion after refinement, of all adversarial runs, and a record."""
        runs = [
            self.adversary.run(pair, pair.seed, number, progress)
            for number in range(self.adversary.restarts)
        ]
        refined = [pair.refine(run.rotation) for run in runs]
        criteria = [max(run.history) for run in refined]
        best = int(np.argmax(criteria))
        agreement = _agreement(pair, [run.rotation for run in refined], best)
        chance = _chance(pair)
        record = {
            "runs": [_rounded(run.history) for run in runs],
            "chance": round(chance, 4),
            "agreement": agreement,
            "converged": has_converged(pair, criteria[best], chance, agreement),
        }
        return Start(refined[best], record)


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 4) for value in values]


def _chance(pair: MappedPair) -> float:
    """Return the best criterion that refinement reaches from random rotations."""
    rng = generator(Purpose.VECTORS, pair.seed, 0, 2)
    criteria: list[float] = []
    for _ in range(_RANDOM_STARTS):
        matrix = rng.standard_normal((pair.source.width, pair.source.width))
        criteria += pair.refine(nearest_orthogonal(matrix)).history
    return max(criteria)


def _agreement(pair: MappedPair, rotations: list[Floats], best: int) -> float | None:
    """Return the mean cosine of words that the best rotation and the most similar other one map; None without others.

    Equal rotations have 1.
    """
    words = pair.source.vectors[:CRITERION_WORDS]
    mapped = [unit(words @ rotation) for rotation in rotations]
    cosines = []
    for number, vectors in enumerate(mapped):
        if number != best:
            cosines.append(round(float((mapped[best] * vectors).sum(axis=1).mean()), 4))
    return max(cosines, default=None)


def has_converged(
    pair: MappedPair, criterion: float, chance: float, agreement: float | None
) -> bool | None:
    """Return whether the criterion is higher than by chance, and two runs agree; None after a single run above chance.

    If not, log a warning.
    """
    disagree = agreement is not None and agreement < MIN_AGREEMENT
    if disagree or criterion <= chance:
        log.warning(
            "muse: %s onto %s: criterion %.3f, random rotations %.3f, agreement of runs %s; translations may be wrong. "
            "Try more restarts, another seed, or the methods identical and procrustes",
            pair.source.language,
            pair.target.language,
            criterion,
            chance,
            agreement,
        )
        return False
    return None if agreement is None else True


class _Players:
    """The mapping, the discriminator, and their vectors."""

    def __init__(
        self, rules: Adversary, pair: MappedPair, device: Any, rng: np.random.Generator
    ) -> None:
        import torch
        from torch import nn

        self._rules = rules
        self._rng = rng
        self._sides = [
            torch.from_numpy(side.vectors[:_WORDS]).to(device)
            for side in (pair.source, pair.target)
        ]
        self.mapping = torch.eye(pair.source.width, device=device, requires_grad=True)
        self._discriminator = nn.Sequential(
            nn.Dropout(_DROPOUT),
            nn.Linear(pair.source.width, rules.hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(rules.hidden, rules.hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(rules.hidden, 1),
        ).to(device)
        ones = torch.ones(_BATCH, device=device)
        truth = torch.cat([ones, torch.zeros_like(ones)])  # (2 B,)
        # whether a vector was mapped
        self._labels = truth * (1 - _SMOOTHING) + _SMOOTHING / 2

    def update(self, rate: float) -> None:
        """Update the discriminator some times, and the mapping once."""
        import torch

        self._discriminator.train()
        for _ in range(self._rules.discriminator_steps):
            with torch.no_grad():
                words = self._sample()
            self._step(words, self._labels, list(self._discriminator.parameters()), rate)
        self._discriminator.eval()
        self._step(self._sample(), 1 - self._labels, [self.mapping], rate)
        with torch.no_grad():
            mapping = self.mapping
            mapping.copy_((1 + _BETA) * mapping - _BETA * mapping @ mapping.T @ mapping)

    def _sample(self) -> Tensor:
        """(2 B, H) random words of both languages, the source's mapped."""
        import torch

        samples = []
        for side in self._sides:
            rows = torch.from_numpy(self._rng.integers(len(side), size=_BATCH))
            samples.append(side[rows.to(side.device)])
        source, target = samples
        return torch.cat([source @ self.mapping, target])

    def _step(self, words: Tensor, labels: Tensor, parameters: list[Any], rate: float) -> None:
        """Take one SGD step on the parameters."""
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits

        scores = self._discriminator(words).squeeze(1)
        loss = binary_cross_entropy_with_logits(scores, labels)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=rate)
