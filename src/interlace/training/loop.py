"""The whole of training: a generator that yields after each update.

A step is one objective on one corpus. All its micro-batches are built first, so their counts can be summed over
micro-batches and processes, and each loss is divided by the same global count: a step equals one large batch,
whatever the split (law 6).

Counts of a step, summed over micro-batches and processes, as long as all of them count the same things.

Processes add numbers up by their place in a vector, so a name that one batch has and another has not would be added to
something else without a word. The first batch that a source (an objective on a corpus) gives says what it counts. Those
of all processes are compared then, and each later one with the first of its own process; one number more in every sum
tells all processes whether somewhere one differed, so that all of them stop and none waits.
"""

from __future__ import annotations

import math
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import nn

from interlace.core.errors import RunError
from interlace.core.randomness import Purpose, torch_seed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accelerate import Accelerator
    from torch import Tensor
    from torch.optim import Optimizer

    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Objective
    from interlace.training.mixture import Mixture, MixtureDraw, MixtureSource
    from interlace.training.optimizer import OptimizerSettings


AHEAD = 2  # steps whose batches are made in the background


@dataclass(frozen=True)
class TrainingStep:
    """What one update did.

    index: number of updates so far, this one included.
    losses: mean loss a prediction, by term, over the whole step.
    counts: predictions by term; tokens: real subwords; rows: of the batches; all over all processes.
    languages: real subwords by language, where the objective tells.
    seconds: wall time of the step; waited: of it, for data.
    """

    index: int
    objective: str
    corpus: str
    losses: dict[str, float]
    counts: Counts
    tokens: int
    learning_rate: float
    gradient_norm: float
    seconds: float
    waited: float
    rows: int = 0
    languages: dict[str, int] = field(default_factory=dict)


@dataclass
class Progress:
    """Where a run stands; what a checkpoint restores beside the weights and moments.

    drawn: batches each source of the mixture has given out.
    stop: set by an observer to end the loop after this step; reason: why, for people.
    """

    done: int = 0
    drawn: tuple[int, ...] = ()
    stop: bool = False
    reason: str = ""


class TrainingModel(nn.Module):
    """A backbone and the heads of all objectives; one forward runs one objective's whole loss, as DDP needs."""

    def __init__(self, backbone: Backbone, objectives: dict[str, Objective], seed: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.objectives = objectives
        self.heads = nn.ModuleDict()
        for number, (name, objective) in enumerate(objectives.items()):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(torch_seed(Purpose.HEADS, seed, slot=number))
                self.heads[name] = objective.modules(backbone)

    def forward(self, name: str, batch: Batch, counts: Counts) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss to backpropagate, and each term's plain total for the record."""
        heads: Any = self.heads[name]
        terms = self.objectives[name].loss(self.backbone, heads, batch)
        if set(terms) != set(batch.counts):
            found, expected = (", ".join(map(repr, sorted(names))) for names in (terms, batch.counts))
            raise RunError(f"{name}: its loss has the terms {found}, but its batch counts {expected}; they must agree")
        parts = [term.weight * term.total / max(counts[key], 1) for key, term in terms.items()]
        return torch.stack(parts).sum(), {key: term.total.detach() for key, term in terms.items()}


@dataclass(frozen=True)
class Training:
    """What the loop works on; `model` is a `TrainingModel` as `accelerator.prepare` returned it."""

    model: nn.Module
    mixture: Mixture
    optimiser: Optimizer
    settings: OptimizerSettings
    accelerator: Accelerator
    last: int
    micro_batches: int = 1


def steps(training: Training, progress: Progress) -> Iterator[TrainingStep]:
    """Train from `progress.done` to `training.last`, yielding after each update; `progress.stop` ends it.

    Raises:
        RunError: a loss or the gradient's norm is not finite, or an objective does not count the same things in all
            its batches; the weights are those of the step before.
    """
    counting = StepCounts(training.accelerator)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches") as background:
        for draw, pending in _supply(training, progress, background):
            start = time.perf_counter()
            batches = [future.result() for future in pending]
            waited = time.perf_counter() - start
            step = _update(training, draw, batches, counting)
            progress.done, progress.drawn = draw.step, draw.drawn
            yield replace(step, seconds=time.perf_counter() - start, waited=waited)
            if progress.stop:
                background.shutdown(wait=False, cancel_futures=True)
                return


def _supply(
    training: Training, progress: Progress, background: ThreadPoolExecutor
) -> Iterator[tuple[MixtureDraw, list[Future[Batch]]]]:
    """Draws with their batches under way, a few steps ahead; this process's slots only."""
    accelerator, mixture = training.accelerator, training.mixture
    world = accelerator.num_processes
    slots = [micro * world + accelerator.process_index for micro in range(training.micro_batches)]
    queue: deque[tuple[MixtureDraw, list[Future[Batch]]]] = deque()
    for draw in mixture.draws(progress.done, training.last, progress.drawn, world * training.micro_batches):
        queue.append((draw, [background.submit(mixture.batch, draw, slot) for slot in slots]))
        if len(queue) > AHEAD:
            yield queue.popleft()
    yield from queue


def _update(training: Training, draw: MixtureDraw, batches: list[Batch], counting: StepCounts) -> TrainingStep:
    """One optimiser step over this process's micro-batches."""
    accelerator, settings = training.accelerator, training.settings
    source = training.mixture.sources[draw.source]
    counts = counting.of(source, batches)
    totals = counting.reduced(_backward(training, draw, batches, counts))
    norm = float(accelerator.clip_grad_norm_(training.model.parameters(), settings.clip) or 0)
    tokens, rows = int(counts.pop("tokens")), int(counts.pop("rows"))
    languages = {key.removeprefix(IN): int(counts.pop(key)) for key in list(counts) if key.startswith(IN)}
    losses = {key: total / max(counts[key], 1) for key, total in totals.items()}
    _must_be_finite(draw, source, {**losses, "gradient norm": norm})
    rate = settings.rate(draw.step, training.last)
    for group in training.optimiser.param_groups:
        group["lr"] = rate
    training.optimiser.step()
    training.optimiser.zero_grad()
    return TrainingStep(
        draw.step, source.objective, source.corpus, losses, counts, tokens, rate, norm,
        seconds=0, waited=0, rows=rows, languages=languages,
    )  # fmt: skip


def _must_be_finite(draw: MixtureDraw, source: MixtureSource, numbers: dict[str, float]) -> None:
    """Stop before a diverged step reaches the weights; every process sees the same numbers."""
    for name, number in numbers.items():
        if not math.isfinite(number):
            raise RunError(
                f"step {draw.step}, {source.name}: the {name} is {number}: training has diverged; start anew with a "
                "lower learning rate or a longer warm-up"
            )


def _backward(training: Training, draw: MixtureDraw, batches: list[Batch], counts: Counts) -> Counts:
    """Accumulate the gradient of every micro-batch; dropout is keyed by slot. Returns this process's totals."""
    accelerator = training.accelerator
    world, rank = accelerator.num_processes, accelerator.process_index
    name = training.mixture.sources[draw.source].objective
    totals: dict[str, Any] = {}  # tensors until the end: reading one would wait for the device
    training.model.train()
    for micro, batch in enumerate(batches):
        torch.manual_seed(torch_seed(Purpose.DROPOUT, training.mixture.seed, draw.step, micro * world + rank))
        last = micro == len(batches) - 1
        with _synchronised(accelerator, training.model, last):
            loss, parts = training.model(name, batch.to(accelerator.device), counts)
            accelerator.backward(loss * world)  # DDP takes the mean over processes; we want the sum
        for key in batch.counts:  # whose order is the same in all processes
            totals[key] = totals.get(key, 0.0) + parts[key]
    return {key: float(total) for key, total in totals.items()}


def _synchronised(accelerator: Accelerator, model: nn.Module, last: bool) -> Any:
    """Processes exchange gradients only with the last micro-batch of a step."""
    from contextlib import nullcontext

    return nullcontext() if last else accelerator.no_sync(model)


IN = "tokens in "  # before a language, among the counts of a step


Counts = dict[str, float]


Names = tuple[str, ...]


T = TypeVar("T")


_DIFFERS = "differs"


class StepCounts:
    """Sums of counts over a run; it remembers what the batches of each source count."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._first: dict[str, Names] = {}  # source -> what its batches count

    def of(self, source: MixtureSource, batches: Sequence[Batch]) -> Counts:
        """Predictions by term, `tokens`, `rows` and subwords by language of a step, over all processes.

        Raises:
            RunError: a batch counts other things than the first of its source, or than those of another process.
        """
        each = [_counts(batch) for batch in batches]
        if source.name not in self._first:
            self._first[source.name] = self._agreed(source, tuple(each[0]))
        first = self._first[source.name]
        other = next((tuple(counts) for counts in each if tuple(counts) != first), None)
        sums = {name: sum(counts.get(name, 0.0) for counts in each) for name in first}
        total = self.reduced({**sums, _DIFFERS: float(other is not None)})
        if total.pop(_DIFFERS):
            found = next(names for names in self._everyone(other) if names is not None)
            raise RunError(_message(source, first, found))
        return total

    def reduced(self, counts: Mapping[str, float]) -> Counts:
        """Sums over all processes, which have the same names in the same order."""
        if self._accelerator.num_processes == 1:
            return dict(counts)
        values = torch.tensor(list(counts.values()), dtype=torch.float64, device=self._accelerator.device)
        return dict(zip(counts, self._accelerator.reduce(values, "sum").tolist(), strict=True))

    def _agreed(self, source: MixtureSource, mine: Names) -> Names:
        """What all processes count."""
        everyone = self._everyone(mine)
        for names in everyone:
            if names != everyone[0]:
                raise RunError(_message(source, everyone[0], names))
        return mine

    def _everyone(self, mine: T) -> list[T]:
        """What each process has; all of them must ask."""
        if self._accelerator.num_processes == 1:
            return [mine]
        from accelerate.utils import gather_object

        return list(gather_object([mine]))


def _counts(batch: Batch) -> Counts:
    languages = {IN + language: float(count) for language, count in batch.languages.items()}
    return {"tokens": float(batch.tokens), "rows": float(len(batch.inputs["input_ids"])), **batch.counts, **languages}


def _message(source: MixtureSource, first: Names, other: Names) -> str:
    return (
        f"{source.name}: its first batch counts {_listed(first)}, another one {_listed(other)}; "
        f"{source.objective}.batch must give the same `counts` and `languages`, in the same order, for every batch "
        "of a corpus (0 where there is none)"
    )


def _listed(names: Names) -> str:
    return ", ".join(repr(name.removeprefix(IN)) for name in names if name not in {"tokens", "rows"}) or "nothing"
