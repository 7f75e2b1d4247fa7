"""A rotation without a dictionary: a mapping and a discriminator play against each other (Conneau et al. 2018, 2.1).

The discriminator learns to tell mapped vectors of one language from those of the other; the mapping learns to fool it.
After each of its updates the mapping is drawn back towards the orthogonal ones (section 3.3, equation 7).

Legend: B words of each language in a batch, H width. A mapping W is (H, H); x is moved to x W.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from interlace.core.randomness import Purpose, generator, torch_seed
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from interlace.core.progress import Progress
    from interlace.embeddings._mapping import Sides

    Floats = NDArray[np.float32]

log = logging.getLogger(__name__)


class Adversary(Settings):
    """The game; defaults are those of Conneau et al. 2018, sections 3.1 to 3.3, or of MUSE where it is silent."""

    words: int = Field(50_000, ge=2, description="Words of each language that are drawn, the most frequent (3.2).")
    epochs: int = Field(5, ge=1, description="Parts of the game; after each the criterion is taken (MUSE: 5).")
    updates: int = Field(31_250, ge=1, description="Updates of the mapping in an epoch (MUSE: a million words).")
    batch: int = Field(32, ge=1, description="Words of each language in an update (3.1).")
    turns: int = Field(5, ge=1, description="Updates of the discriminator before each of the mapping (MUSE: 5).")
    hidden: int = Field(2048, ge=1, description="Width of the discriminator's two hidden layers (3.1).")
    dropout: float = Field(0.1, ge=0, lt=1, description="Noise on the discriminator's input (3.1).")
    smoothing: float = Field(0.2, ge=0, lt=1, description="Smoothing s of the discriminator's labels (3.1: 0.2).")
    smoothed: Literal["spread", "flipped"] = Field(
        "spread",
        description="What s means, which the paper leaves open. 'spread': it is shared by both labels, which are then "
        "1 - s/2 and s/2 (0.9 and 0.1, as in MUSE's code); 'flipped': 1 - s and s (0.8 and 0.2).",
    )
    learning_rate: float = Field(0.1, gt=0, description="SGD's, of both sides (3.1).")
    decay: float = Field(0.95, gt=0, le=1, description="What the learning rate is multiplied by each epoch (3.1).")
    shrink: float = Field(0.5, gt=0, le=1, description="And where the criterion has fallen (3.1).")
    beta: float = Field(0.01, ge=0, le=1, description="How far a mapping is drawn back to the orthogonal ones (3.3).")
    restarts: int = Field(
        2, ge=1, description="Games that are played; the best by the criterion counts, if another one agrees with it."
    )

    def model_post_init(self, _context: Any) -> None:
        """What is right must stay likelier than what is wrong."""
        if self.wrong >= 0.5:
            message = f"smoothing = {self.smoothing} makes both labels alike; with 'flipped' it is below 0.5"
            raise ValueError(message)

    @property
    def wrong(self) -> float:
        """The label of what is not so; that of what is so is 1 minus it."""
        return self.smoothing / 2 if self.smoothed == "spread" else self.smoothing

    def play(self, sides: Sides, seed: int, game: int, progress: Progress) -> tuple[Floats, list[float]]:
        """The best rotation of one game by the criterion, and the criterion after each epoch."""
        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        best, history, rate = np.eye(sides.source.width, dtype=np.float32), list[float](), self.learning_rate
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(torch_seed(Purpose.VECTORS, seed, game))
            board = _Board(self, sides, device, generator(Purpose.VECTORS, seed, game, 1))
            for epoch in range(self.epochs):
                for update in range(self.updates):
                    board.update(rate)
                    if update % 100 == 0:
                        progress(f"game {game + 1}", epoch * self.updates + update, self.epochs * self.updates)
                rotation = _orthogonal(board.mapping.detach().cpu().numpy())
                found = sides.criterion(rotation)
                log.info("game %d, epoch %d: criterion %.4f, told apart %.2f", game, epoch, found, board.told_apart)
                rate *= self.decay * (self.shrink if history and found < history[-1] else 1.0)
                best = rotation if found > max(history, default=-np.inf) else best
                history.append(found)
        return best, history


class _Board:
    """Both players and their vectors."""

    def __init__(self, rules: Adversary, sides: Sides, device: Any, rng: np.random.Generator) -> None:
        import torch

        self._rules, self._rng = rules, rng
        self._sides = [
            torch.from_numpy(side.vectors[: rules.words]).to(device) for side in (sides.source, sides.target)
        ]
        self.mapping = torch.eye(sides.source.width, device=device, requires_grad=True)
        self._judge = _discriminator(sides.source.width, rules).to(device)
        truth = torch.cat([torch.full((rules.batch,), value, device=device) for value in (1.0, 0.0)])
        self._labels = truth * (1 - 2 * rules.wrong) + rules.wrong  # whether a vector was moved
        self.told_apart = 0.5  # running share of words whose language the discriminator tells

    def update(self, rate: float) -> None:
        """The discriminator's turns, and one of the mapping."""
        import torch

        self._judge.train()
        for _ in range(self._rules.turns):
            with torch.no_grad():
                words = self._drawn()
            scores = self._step(words, self._labels, list(self._judge.parameters()), rate)
        self.told_apart += 0.01 * (float(((scores > 0) == (self._labels > 0.5)).float().mean()) - self.told_apart)
        self._judge.eval()
        self._step(self._drawn(), 1 - self._labels, [self.mapping], rate)
        with torch.no_grad():
            beta, own = self._rules.beta, self.mapping
            own.copy_((1 + beta) * own - beta * own @ own.T @ own)

    def _drawn(self) -> Tensor:
        """(2 B, H) random words of both, the source's moved."""
        import torch

        source, target = (
            side[torch.from_numpy(self._rng.integers(len(side), size=self._rules.batch)).to(side.device)]
            for side in self._sides
        )
        return torch.cat([source @ self.mapping, target])

    def _step(self, words: Tensor, labels: Tensor, moved: list[Any], rate: float) -> Tensor:
        """One step of SGD on what is moved; the scores that it was taken on."""
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits

        scores: Tensor = self._judge(words).squeeze(1)
        loss = binary_cross_entropy_with_logits(scores, labels)
        gradients = torch.autograd.grad(loss, moved)
        with torch.no_grad():
            torch._foreach_sub_(moved, gradients, alpha=rate)
        return scores.detach()


def _discriminator(width: int, rules: Adversary) -> nn.Module:
    from torch import nn

    return nn.Sequential(
        nn.Dropout(rules.dropout),
        nn.Linear(width, rules.hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(rules.hidden, rules.hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(rules.hidden, 1),
    )


def _orthogonal(mapping: Floats) -> Floats:
    """The nearest rotation."""
    left, _, right = np.linalg.svd(mapping)
    return np.asarray(left @ right, np.float32)
