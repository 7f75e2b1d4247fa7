"""Which objective and corpus a step takes, and which rows: all of it a function of seed and step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from interlace.errors import SettingsError
from interlace.randomness import Purpose, generator
from interlace.schedules import value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlace.objectives import Batch, Objective, Prepared


class Plan(Protocol):
    """A corpus's epochs as numbered batches, counted over all epochs."""

    def examples(self, index: int) -> Any:
        """The examples of batch `index`; any index may be asked for at any time."""


@dataclass(frozen=True)
class Source:
    """An objective on a corpus.

    objective: the name its head and its losses go by.
    share: its part among the sources of the same objective (language sampling).
    weight: how often the objective is drawn, a number or a schedule over steps.
    """

    objective: str
    corpus: str
    learner: Objective
    prepared: Prepared
    plan: Plan
    share: float = 1.0
    weight: str = "1"

    @property
    def name(self) -> str:
        """Objective and corpus, as reports show it."""
        return f"{self.objective}/{self.corpus}"


@dataclass(frozen=True)
class Draw:
    """What a step takes: the source's number, its first batch, and all counters after the step."""

    step: int
    source: int
    first: int
    drawn: tuple[int, ...]


class Mixture:
    """All sources of a run; hands out batches by slot (micro-batch x world size + rank)."""

    def __init__(self, sources: Sequence[Source], seed: int) -> None:
        if not sources:
            raise SettingsError("the mixture is empty: no objective has a corpus that it can read")
        self.sources = list(sources)
        self.seed = seed

    def draws(self, done: int, last: int, drawn: Sequence[int], slots: int) -> Iterator[Draw]:
        """The draws of steps `done + 1` to `last`, from the counters of batches given out so far."""
        counters = list(drawn) or [0] * len(self.sources)
        for step in range(done + 1, last + 1):
            source = self._source(step)
            first = counters[source]
            counters[source] += slots
            yield Draw(step, source, first, tuple(counters))

    def batch(self, draw: Draw, slot: int) -> Batch:
        """The batch of one slot: pure, so that a background thread may make it ahead of time."""
        source = self.sources[draw.source]
        rng = generator(Purpose.BATCH, self.seed, draw.step, slot)
        return source.learner.batch(source.plan.examples(draw.first + slot), source.prepared, draw.step, rng)

    def _source(self, step: int) -> int:
        """The number of the source of `step`; the same on every process."""
        weights = np.array([source.share * value_at(source.weight, step) for source in self.sources])
        if weights.sum() <= 0:
            raise SettingsError(f"at step {step} the weights of all objectives are 0")
        return int(generator(Purpose.MIX, self.seed, step).choice(len(weights), p=weights / weights.sum()))
