"""MUSE: map each language onto the pivot without a dictionary, by adversarial training, then refine.

Conneau et al. (2018, sections 2.1 and 3). The discriminator learns to distinguish mapped vectors of one language from
vectors of the other; the mapping learns to fool it. After each of its updates the mapping is drawn back towards the
orthogonal matrices (section 3.3, equation 7).

Adversarial training does not always converge, which no criterion without a dictionary reveals: it also rises on wrong
rotations. Two checks: a right rotation is found again by another run, and random rotations that are refined likewise
reach a lower criterion. If one of them fails, a warning says so, and the run's record does too.

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
    procrustes,
)

if TYPE_CHECKING:
    from torch import Tensor

log = logging.getLogger(__name__)

MIN_AGREEMENT = 0.9  # of two runs that found the same rotation; wrong results on the toy corpus had 0.27 to 0.73


class Adversary(Settings):
    """Adversarial training; defaults from Conneau et al. 2018, sections 3.1 to 3.3, else from MUSE's code."""

    words: int = Field(
        50_000, ge=2, description="Most frequent words of each language to sample (3.2)."
    )
    epochs: int = Field(
        5, ge=1, description="Epochs; the criterion is computed after each (MUSE: 5)."
    )
    updates: int = Field(
        31_250, ge=1, description="Updates of the mapping per epoch (MUSE: a million words)."
    )
    batch: int = Field(32, ge=1, description="Words of each language per update (3.1).")
    discriminator_steps: int = Field(
        5, ge=1, description="Discriminator updates per mapping update (MUSE: 5)."
    )
    hidden: int = Field(
        2048, ge=1, description="Width of the discriminator's two hidden layers (3.1)."
    )
    dropout: float = Field(
        0.1, ge=0, lt=1, description="Dropout on the discriminator's input (3.1)."
    )
    smoothing: float = Field(
        0.2,
        ge=0,
        lt=1,
        description="Label smoothing s of the discriminator: labels 1 - s/2 and s/2 (3.1: 0.2; MUSE).",
    )
    learning_rate: float = Field(0.1, gt=0, description="SGD learning rate of both players (3.1).")
    decay: float = Field(
        0.95, gt=0, le=1, description="Factor of the learning rate after each epoch (3.1)."
    )
    shrink: float = Field(
        0.5, gt=0, le=1, description="Additional factor if the criterion has decreased (3.1)."
    )
    beta: float = Field(
        0.01, ge=0, le=1, description="Step of the mapping towards the orthogonal matrices (3.3)."
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
                        progress(f"adversarial run {number + 1}", done, self.epochs * self.updates)
                left, _, right = np.linalg.svd(players.mapping.detach().cpu().numpy())
                rotations.append(
                    np.asarray(left @ right, np.float32)
                )  # the nearest orthogonal matrix
                history.append(pair.criterion(rotations[-1]))
                message = (
                    "adversarial run %d, epoch %d: criterion %.4f, discriminator accuracy %.2f"
                )
                log.info(message, number, epoch, history[-1], players.accuracy)
                has_decreased = len(history) > 1 and history[-1] < history[-2]
                rate *= self.decay * (self.shrink if has_decreased else 1.0)
        return Refined(rotations[int(np.argmax(history))], history)


class Muse(MappingMethod):
    """Vectors of each language alone, mapped without supervision."""

    adversary: Adversary = Field(
        default_factory=Adversary, description="Training of the initial rotation."
    )
    random_starts: int = Field(
        3,
        ge=1,
        description="Random rotations, also refined, that a converged result must beat by the criterion.",
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
        chance = self._chance(pair)
        record = {
            "runs": [_rounded(run.history) for run in runs],
            "chance": round(chance, 4),
            "agreement": agreement,
            "converged": has_converged(pair, criteria[best], chance, agreement),
        }
        return Start(refined[best], record)

    def _chance(self, pair: MappedPair) -> float:
        """Return the best criterion that refinement reaches from random rotations."""
        width = pair.source.width
        rng = generator(Purpose.VECTORS, pair.seed, 0, 2)
        criteria: list[float] = []
        for _ in range(self.random_starts):
            matrix = rng.standard_normal((width, width)).astype(np.float32)
            rotation = procrustes(np.eye(width, dtype=np.float32), matrix)
            criteria += pair.refine(rotation).history
        return max(criteria)


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 4) for value in values]


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
    pair: MappedPair, reached: float, chance: float, agreement: float | None
) -> bool | None:
    """Return whether adversarial training has converged; None if a single run leaves it unchecked.

    reached: the criterion. chance: what refinement reaches from random rotations. agreement: of two runs.
    """
    advice = "translations may be wrong. Try more restarts, another seed, or the methods identical and procrustes"
    names = (pair.source.language, pair.target.language)
    if reached <= chance:
        log.warning(
            "muse: %s onto %s: criterion %.3f, but %.3f by chance; %s",
            *names,
            reached,
            chance,
            advice,
        )
        return False
    if agreement is not None and agreement < MIN_AGREEMENT:
        log.warning(
            "muse: %s onto %s: runs disagree (agreement %.2f); %s", *names, agreement, advice
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
            torch.from_numpy(side.vectors[: rules.words]).to(device)
            for side in (pair.source, pair.target)
        ]
        self.mapping = torch.eye(pair.source.width, device=device, requires_grad=True)
        self._discriminator = nn.Sequential(
            nn.Dropout(rules.dropout),
            nn.Linear(pair.source.width, rules.hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(rules.hidden, rules.hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(rules.hidden, 1),
        ).to(device)
        ones = torch.ones(rules.batch, device=device)
        truth = torch.cat([ones, torch.zeros_like(ones)])  # (2 B,)
        self._labels = (
            truth * (1 - rules.smoothing) + rules.smoothing / 2
        )  # whether a vector was mapped
        self.accuracy = 0.5  # running accuracy of the discriminator

    def update(self, rate: float) -> None:
        """Update the discriminator some times, and the mapping once."""
        import torch

        self._discriminator.train()
        for _ in range(self._rules.discriminator_steps):
            with torch.no_grad():
                words = self._sample()
            scores = self._step(words, self._labels, list(self._discriminator.parameters()), rate)
        is_right = (scores > 0) == (self._labels > 0.5)
        self.accuracy += 0.01 * (float(is_right.float().mean()) - self.accuracy)
        self._discriminator.eval()
        self._step(self._sample(), 1 - self._labels, [self.mapping], rate)
        with torch.no_grad():
            beta = self._rules.beta
            mapping = self.mapping
            mapping.copy_((1 + beta) * mapping - beta * mapping @ mapping.T @ mapping)

    def _sample(self) -> Tensor:
        """(2 B, H) random words of both languages, the source's mapped."""
        import torch

        samples = []
        for side in self._sides:
            rows = torch.from_numpy(self._rng.integers(len(side), size=self._rules.batch)).to(
                side.device
            )
            samples.append(side[rows])
        source, target = samples
        return torch.cat([source @ self.mapping, target])

    def _step(self, words: Tensor, labels: Tensor, parameters: list[Any], rate: float) -> Tensor:
        """Take one SGD step on the parameters; return the scores before it."""
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits

        scores: Tensor = self._discriminator(words).squeeze(1)
        loss = binary_cross_entropy_with_logits(scores, labels)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_sub_(parameters, gradients, alpha=rate)
        return scores.detach()
