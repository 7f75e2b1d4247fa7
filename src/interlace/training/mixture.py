"""The mixture of objectives and corpora: what each step takes, as a function of seed and step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import SettingsError
from interlace.core.ragged import DoubleArray, IntArray
from interlace.core.randomness import Purpose, generator
from interlace.core.schedules import value_at
from interlace.data.sampling import BucketPlan, PackedPlan, StreamPlan, temperature
from interlace.objectives import Batch, Objective, Prepared

if TYPE_CHECKING:
    from interlace.data.packing import Streams

# at which schedules of weights are evaluated to estimate the passes over corpora
_SAMPLED_STEPS = 1000


@dataclass(frozen=True)
class StreamedBatches:
    """Full sequences of running text; the cuts move from epoch to epoch."""

    streams: Streams
    plan: StreamPlan

    def __len__(self) -> int:
        """Return the number of batches an epoch."""
        return len(self.plan)

    def examples(self, index: int) -> Any:
        """Return the sequences of batch `index`."""
        rows, epoch = self.plan.batch(index)
        return self.streams.take(rows, shift=self.plan.shift(epoch))


@dataclass(frozen=True)
class BucketedBatches:
    """Sequences of similar length, or of all lengths for packed rows.

    rows: numbers of the sequences that the plan counts, or None where it counts all.
    """

    corpus: Any
    plan: BucketPlan | PackedPlan
    rows: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of batches an epoch."""
        return len(self.plan)

    def examples(self, index: int) -> Any:
        """Return the sequences of batch `index`."""
        rows, _ = self.plan.batch(index)
        return self.corpus.take(rows if self.rows is None else self.rows[rows])


BatchPlan = StreamedBatches | BucketedBatches


@dataclass(frozen=True)
class MixtureSource:
    """An objective on a corpus.

    objective: name of its head and its losses. size: sequences or tokens that it counts for among the sources of its
    objective (language sampling). weight: how often the objective is drawn, a number or a schedule over steps; the same
    in all its sources. loss_weight: factor of its loss, likewise; while it is 0, the objective is not drawn.
    """

    objective: str
    corpus: str
    learner: Objective
    prepared: Prepared
    plan: BatchPlan
    size: float = 1.0
    weight: str = "1"
    loss_weight: str = "1"

    @property
    def name(self) -> str:
        """Objective and corpus, as in reports."""
        return f"{self.objective}/{self.corpus}"

    @property
    def language(self) -> str:
        """Language or language pair of the corpus: `en` of `en-de:en`, `en-de` of `web:en-de`."""
        return self.corpus.rpartition(":")[2]


@dataclass(frozen=True)
class MixtureDraw:
    """What a step takes: index of the source, its first batch, and all counters after the step."""

    step: int
    source: int
    first: int
    drawn: tuple[int, ...]


class Mixture:
    """All sources of a run; gives out batches by slot (micro-batch x number of processes + rank)."""

    def __init__(
        self,
        sources: Sequence[MixtureSource],
        seed: int,
        *,
        alpha: str = "1",
        alternate: bool = False,
    ) -> None:
        """Group the sources, which are objectives on corpora, by objective; raise a SettingsError if there are none.

        alpha: exponent of language sampling, a number or a schedule over steps.
        alternate: take the objectives with a weight above 0 in turn; only corpora are drawn.
        """
        if not sources:
            raise SettingsError(
                "the mixture is empty: no objective has a corpus that it can read"
            )
        self.sources = list(sources)
        self.seed = seed
        self.alpha = alpha
        self.alternate = alternate
        self._groups: dict[str, list[int]] = {}  # objective -> its sources
        for number, source in enumerate(self.sources):
            self._groups.setdefault(source.objective, []).append(number)

    def draws(
        self,
        done: int,
        last: int,
        drawn: Sequence[int],
        slots: int,
    ) -> Iterator[MixtureDraw]:
        """Yield the draws of steps `done + 1` to `last`, from the counters of batches given out so far.

        Raise a SettingsError if all weights are 0 at a step.
        """
        counters = list(drawn) or [0] * len(self.sources)
        for step in range(done + 1, last + 1):
            weights = self._source_weights(step)
            rng = generator(Purpose.MIX, self.seed, step)  # the same in every process
            source = int(rng.choice(len(weights), p=weights / weights.sum()))
            first = counters[source]
            counters[source] += slots
            yield MixtureDraw(step, source, first, tuple(counters))

    def batch(self, draw: MixtureDraw, slot: int) -> Batch:
        """Return the batch of one slot; a pure function, so several threads may build batches ahead of time."""
        source = self.sources[draw.source]
        rng = generator(Purpose.BATCH, self.seed, draw.step, slot)
        return source.learner.batch(
            source.plan.examples(draw.first + slot), source.prepared, draw.step, rng
        )

    def first_batch(self, source: int) -> Batch:
        """Return the first batch of a source, as step 1 would build it."""
        return self.batch(MixtureDraw(1, source, 0, ()), 0)

    def _source_weights(self, step: int) -> DoubleArray:
        """Return (sources,) weights with which a step draws its source."""
        by_objective = self._objective_weights(step)
        if self.alternate:
            active = [name for name, weight in by_objective.items() if weight > 0]
            turn = active[(step - 1) % len(active)]
            by_objective = dict.fromkeys(by_objective, 0.0)
            by_objective[turn] = 1.0
        return self.shares(step) * [by_objective[source.objective] for source in self.sources]

    def _objective_weights(self, step: int) -> dict[str, float]:
        """Return the weight of each objective at a step; 0 where its loss has no weight."""
        weights = {}
        for name, group in self._groups.items():
            source = self.sources[group[0]]
            if value_at(source.loss_weight, step) > 0:
                weights[name] = value_at(source.weight, step)
            else:
                weights[name] = 0.0
        if sum(weights.values()) <= 0:
            raise SettingsError(f"at step {step} the weights of all objectives are 0")
        return weights

    def shares(self, step: int) -> DoubleArray:
        """Return (sources,) shares within each objective: q ~ p^alpha over languages, then by size of their corpora."""
        alpha = value_at(self.alpha, step)
        shares = np.empty(len(self.sources))
        for group in self._groups.values():
            sizes = np.array([self.sources[number].size for number in group], np.float64)
            languages = [self.sources[number].language for number in group]
            names = list(dict.fromkeys(languages))
            owner = np.array([names.index(language) for language in languages])  # (group,)
            totals = np.bincount(owner, sizes)  # (languages,)
            within = np.divide(
                sizes, totals[owner], out=np.zeros_like(sizes), where=totals[owner] > 0
            )
            shares[group] = temperature(totals, alpha)[owner] * within
        return shares

    def batches_by_objective(self, last: int, slots: int) -> dict[str, float]:
        """Return the expected batches of each objective during the run."""
        steps = np.unique(np.linspace(1, max(last, 1), _SAMPLED_STEPS, dtype=np.int64)).tolist()
        parts = dict.fromkeys(self._groups, 0.0)
        for step in steps:
            weights = self._objective_weights(step)
            if self.alternate:
                weights = {name: float(weight > 0) for name, weight in weights.items()}
            for name, weight in weights.items():
                parts[name] += weight / sum(weights.values())
        return {name: part / len(steps) * last * slots for name, part in parts.items()}
