"""The training loop: a generator that yields after each update.

A step is one objective on one corpus. Its micro-batches are built first, so their counts can be summed over
micro-batches and processes, and each loss is divided by the same global count: a step equals one large batch, however
it is split.

Processes sum counts as vectors, by position. So the first batch of each source (an objective on a corpus) defines what
its batches count; these names are compared between processes once, and later batches with the first of their process.
One more number in each sum tells all processes about a difference, so that all stop and none waits.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from interlace.core.errors import RunError
from interlace.core.randomness import Purpose, torch_seed
from interlace.core.schedules import value_at

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch.optim import Optimizer

    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Objective
    from interlace.training.mixture import Mixture, MixtureDraw, MixtureSource
    from interlace.training.optimizer import OptimizerSettings

Counts = dict[str, float]
Names = tuple[str, ...]
T = TypeVar("T")

PREFETCH = 2  # steps whose batches are built in the background

_LANGUAGE = "tokens in "  # prefix of a language among the counts of a step
_DIFFERS = "differs"


@dataclass(frozen=True)
class TrainingStep:
    """The record of one update; all counts are sums over all processes.

    index: number of updates so far, this one included.
    losses: mean loss a prediction, by term, over the whole step.
    counts: predictions by term; tokens: real tokens; rows: sequences of the batches.
    languages: real tokens by language, where the objective counts them.
    seconds: wall-clock time of the step; waited: part of it spent waiting for data.
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
    """The position of a run, which checkpoints store in addition to weights and optimizer state.

    drawn: batches that each source of the mixture has given out.
    stop: set by a callback to end the loop after this step; reason: the reason, for the user.
    """

    done: int = 0
    drawn: tuple[int, ...] = ()
    stop: bool = False
    reason: str = ""


class TrainingModel(nn.Module):
    """A backbone and the heads of all objectives; one forward computes the whole loss of one objective, for DDP."""

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
        """Return the loss to backpropagate, and the unweighted total of each term."""
        heads: Any = self.heads[name]
        terms = self.objectives[name].loss(self.backbone, heads, batch)
        if set(terms) != set(batch.counts):
            found, expected = (", ".join(map(repr, sorted(names))) for names in (terms, batch.counts))
            raise RunError(f"{name}: its loss has the terms {found}, but its batch counts {expected}; they must agree")
        parts = [term.weight * term.total / max(counts[key], 1) for key, term in terms.items()]
        return torch.stack(parts).sum(), {key: term.total.detach() for key, term in terms.items()}


@dataclass(frozen=True)
class Training:
    """What the loop works on.

    model: a `TrainingModel` as `accelerator.prepare` returned it.
    micro_batches: of an update, over all processes; a multiple of their number.
    """

    model: nn.Module
    mixture: Mixture
    optimizer: Optimizer
    settings: OptimizerSettings
    accelerator: Accelerator
    last: int
    micro_batches: int = 1


def steps(training: Training, progress: Progress) -> Iterator[TrainingStep]:
    """Train from `progress.done` to `training.last`, yielding after each update; `progress.stop` ends the loop.

    Raises:
        RunError: a loss or the gradient norm is not finite, or the batches of an objective count different things; the
            weights are those of the step before.
    """
    counter = StepCounts(training.accelerator)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches") as background:
        for draw, pending in _prefetched(training, progress, background):
            start = time.perf_counter()
            batches = [future.result() for future in pending]
            waited = time.perf_counter() - start
            step = _update(training, draw, batches, counter)
            progress.done, progress.drawn = draw.step, draw.drawn
            yield replace(step, seconds=time.perf_counter() - start, waited=waited)
            if progress.stop:
                background.shutdown(wait=False, cancel_futures=True)
                return


def _prefetched(
    training: Training, progress: Progress, background: ThreadPoolExecutor
) -> Iterator[tuple[MixtureDraw, list[Future[Batch]]]]:
    """Yield draws with their batches under construction, a few steps ahead; this process's micro-batches only."""
    accelerator, mixture = training.accelerator, training.mixture
    slots = range(accelerator.process_index, training.micro_batches, accelerator.num_processes)
    queue: deque[tuple[MixtureDraw, list[Future[Batch]]]] = deque()
    for draw in mixture.draws(progress.done, training.last, progress.drawn, training.micro_batches):
        queue.append((draw, [background.submit(mixture.batch, draw, slot) for slot in slots]))
        if len(queue) > PREFETCH:
            yield queue.popleft()
    yield from queue


def _update(training: Training, draw: MixtureDraw, batches: list[Batch], counter: StepCounts) -> TrainingStep:
    """Do one optimizer step over this process's micro-batches."""
    accelerator, settings = training.accelerator, training.settings
    source = training.mixture.sources[draw.source]
    counts = counter.of(source, batches)
    totals = counter.reduced(_backward(training, draw, batches, counts))
    norm = float(accelerator.clip_grad_norm_(training.model.parameters(), settings.clip) or 0)
    tokens, rows = int(counts.pop("tokens")), int(counts.pop("rows"))
    languages = {key.removeprefix(_LANGUAGE): int(counts.pop(key)) for key in list(counts) if key.startswith(_LANGUAGE)}
    losses = {key: total / max(counts[key], 1) for key, total in totals.items()}
    for name, number in {**losses, "gradient norm": norm}.items():
        if not math.isfinite(number):  # before it reaches the weights; every process sees the same numbers
            raise RunError(
                f"step {draw.step}, {source.name}: the {name} is {number}: training has diverged; restart with a "
                "lower learning rate or a longer warm-up"
            )
    rate = settings.rate(draw.step, training.last)
    for group in training.optimizer.param_groups:
        group["lr"] = rate
    training.optimizer.step()
    training.optimizer.zero_grad()
    return TrainingStep(
        draw.step, source.objective, source.corpus, losses, counts, tokens, rate, norm,
        seconds=0, waited=0, rows=rows, languages=languages,
    )  # fmt: skip


def _backward(training: Training, draw: MixtureDraw, batches: list[Batch], counts: Counts) -> Counts:
    """Accumulate the gradient of every micro-batch, with dropout keyed by slot; return this process's totals."""
    accelerator = training.accelerator
    world, rank = accelerator.num_processes, accelerator.process_index
    source = training.mixture.sources[draw.source]
    factor = world * value_at(source.loss_weight, draw.step)  # DDP averages over processes, but we need the sum
    totals: dict[str, Any] = {}  # tensors until the end: reading one would wait for the device
    training.model.train()
    for micro, batch in enumerate(batches):
        torch.manual_seed(torch_seed(Purpose.DROPOUT, training.mixture.seed, draw.step, micro * world + rank))
        last = micro == len(batches) - 1  # processes exchange gradients only with the last micro-batch
        with nullcontext() if last else accelerator.no_sync(training.model):
            loss, parts = training.model(source.objective, batch.to(accelerator.device), counts)
            accelerator.backward(loss * factor)
        for key in batch.counts:  # in the same order in all processes
            totals[key] = totals.get(key, 0.0) + parts[key]
    return {key: float(total) for key, total in totals.items()}


class StepCounts:
    """Sums counts over micro-batches and processes, and checks that the batches of a source count the same things."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._first: dict[str, Names] = {}  # source -> what its batches count

    def of(self, source: MixtureSource, batches: Sequence[Batch]) -> Counts:
        """Return predictions by term, `tokens`, `rows` and tokens by language of a step, over all processes.

        Raises:
            RunError: a batch counts other things than the first of its source, or than one of another process.
        """
        each = []
        for batch in batches:
            real = {"tokens": float(batch.tokens), "rows": float(len(batch.inputs["input_ids"]))}
            languages = {_LANGUAGE + language: float(count) for language, count in batch.languages.items()}
            each.append({**real, **batch.counts, **languages})
        if source.name not in self._first:
            everyone = self._gathered(tuple(each[0]))
            for other in everyone:
                if other != everyone[0]:
                    raise RunError(_message(source, everyone[0], other))
            self._first[source.name] = everyone[0]
        first = self._first[source.name]
        differing = next((tuple(counts) for counts in each if tuple(counts) != first), None)
        sums = {name: sum(counts.get(name, 0.0) for counts in each) for name in first}
        total = self.reduced({**sums, _DIFFERS: float(differing is not None)})
        if total.pop(_DIFFERS):
            found = next(names for names in self._gathered(differing) if names is not None)
            raise RunError(_message(source, first, found))
        return total

    def reduced(self, counts: Mapping[str, float]) -> Counts:
        """Return sums over all processes, which must have the same names in the same order."""
        if self._accelerator.num_processes == 1:
            return dict(counts)
        values = torch.tensor(list(counts.values()), dtype=torch.float64, device=self._accelerator.device)
        return dict(zip(counts, self._accelerator.reduce(values, "sum").tolist(), strict=True))

    def _gathered(self, value: T) -> list[T]:
        """Return the value of each process; all processes must call this."""
        if self._accelerator.num_processes == 1:
            return [value]
        from accelerate.utils import gather_object

        return list(gather_object([value]))


def _message(source: MixtureSource, first: Names, other: Names) -> str:
    one, another = (
        ", ".join(repr(name.removeprefix(_LANGUAGE)) for name in names if name not in {"tokens", "rows"}) or "nothing"
        for names in (first, other)
    )
    return (
        f"{source.name}: its first batch counts {one}, another one {another}; "
        f"{source.objective}.batch must give the same `counts` and `languages`, in the same order, for every batch "
        "of a corpus (0 where there is none)"
    )
