"""What an update has read and spent."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TrainingStep:
    """The record of one update; all counts are sums over all processes.

    index: number of updates so far, this one included.
    losses: mean loss a prediction, by term, over the whole step.
    tokens: real tokens; rows: sequences of the batches.
    languages: real tokens by language, where the objective counts them.
    seconds: wall-clock time of the step, or the mean of the updates that were read together; waited: part of it spent
        waiting for data.
    memory: peak of this process so far, in bytes: of the GPU's, else resident.
    last: number of the last update of the training; 0: unknown.
    """

    index: int
    objective: str
    corpus: str
    losses: dict[str, float]
    tokens: int
    learning_rate: float
    gradient_norm: float
    seconds: float
    waited: float
    rows: int = 0
    languages: dict[str, int] = field(default_factory=dict)
    memory: int = 0
    last: int = 0

    @property
    def skipped(self) -> bool:
        """Whether the gradient was not finite, so that the weights stayed as they were."""
        return not math.isfinite(self.gradient_norm)
