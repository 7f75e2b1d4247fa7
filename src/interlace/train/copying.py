"""A model that is to translate and learns to copy: the way in which back-translation fails, told early."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from interlace.objectives.back_translation import COPIED

if TYPE_CHECKING:
    from interlace.train.loop import Step

log = logging.getLogger(__name__)

MOST = 0.8  # languages that share names and signs stay below: copying is near 1
WINDOW = 100  # steps of back-translation


@dataclass
class Copying:
    """Warns when most of what a model writes over some time stood in what it read; again only after it got better.

    shares: of the last steps.
    """

    most: float = MOST
    window: int = WINDOW
    shares: deque[float] = field(default_factory=deque)
    warned: bool = False

    def __call__(self, step: Step) -> None:
        """Look at a step of back-translation."""
        share = step.losses.get(COPIED)
        if share is None:
            return
        self.shares.append(share)
        if len(self.shares) < self.window:
            return
        mean = sum(self.shares) / len(self.shares)
        self.shares.popleft()
        if mean > self.most and not self.warned:
            log.warning(
                "step %d: over %d steps, %.0f %% of what the model wrote in another language stood in what it had "
                "read: it copies and learns no translation; begin from a model of both languages (model.start), or "
                "lower the weight of denoise", step.index, self.window, 100 * mean,
            )  # fmt: skip
        self.warned = mean > self.most
