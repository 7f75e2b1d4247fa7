"""The training loop: a generator that yields after each update.

A step is one objective on one corpus. Its micro-batches are built first, so their counts can be summed over
micro-batches and processes, and each loss is divided by the same global count: a step equals one large batch, however
it is split.

Processes sum counts as vectors, by position. So the first batch of each source (an objective on a corpus) defines what
its batches count; later batches are compared with it.
Each vector ends with a flag: whether a process has received SIGTERM. Its sum is the same in all processes, so all stop
after the same update.

No part of an update waits for the device. An update changes nothing if the norm of its gradient is not finite: the
optimizer skips it on the device by `found_inf`, as with torch's `GradScaler`.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.amp import GradScaler

from interlace.core.errors import RunError
from interlace.core.json_files import JsonMapping
from interlace.core.randomness import Purpose, torch_seed
from interlace.core.schedules import value_at
from interlace.objectives import UpdateObjective
from interlace.training.device import peak_memory
from interlace.training.mixture import MixtureDraw
from interlace.training.steps import TrainingStep

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch.optim import Optimizer

    from interlace.models.backbone import Backbone, Tensors
    from interlace.objectives import Batch, Objective
    from interlace.objectives.common.packed_rows import PackedRow
    from interlace.training.mixture import Mixture, MixtureSource
    from interlace.training.optimizer import OptimizerSettings

log = logging.getLogger(__name__)
Counts = dict[str, float]

WORKERS = 4  # threads that build batches, on as many processors
PREFETCH = 4  # steps whose batches are built ahead, so that no thread waits for micro-batches
READ_EVERY = 8  # updates between reads from a GPU
MAX_SKIPPED = 3  # updates in a row whose gradient is not finite
MAX_SKIPPED_FP16 = 27  # fp16 halves its scale at each

_LANGUAGE = "tokens in "  # prefix of a language among the counts of a step
_ENDING = "ending"
_NO_TERMS = {"tokens", "rows", _ENDING}


@dataclass
class Progress:
    """The position of a run, which checkpoints store in addition to weights and optimizer state.

    drawn: batches that each source of the mixture has given out.
    stop: set by a callback to end the loop after this step; reason: the reason, for the user.
    ending: set by anyone in one process to end the loop soon, as if it was killed; ended: it yields its last step.
    skipped: number of updates without effect before this one, without interruption.
    tokens: real tokens by source, such as `mlm/en`, of all updates, those before an interruption included.
    """

    done: int = 0
    drawn: tuple[int, ...] = ()
    stop: bool = False
    reason: str = ""
    ending: bool = False
    ended: bool = False
    skipped: int = 0
    tokens: Counter[str] = field(default_factory=Counter)


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

    def forward(self, name: str, batch: Batch, counts: Counts) -> tuple[Tensor, Tensors]:
        """Return the loss to backpropagate, and the unweighted total of each term."""
        heads: Any = self.heads[name]
        terms = self.objectives[name].loss(self.backbone, heads, batch)
        if set(terms) != set(batch.counts):
            lost = ", ".join(map(repr, sorted(terms)))
            counted = ", ".join(map(repr, sorted(batch.counts)))
            raise RunError(
                f"{name}: its loss has the terms {lost}, but its batch counts {counted}; they must agree"
            )
        losses = [
            term.weight * term.total / _at_least_one(counts[key]) for key, term in terms.items()
        ]
        totals = {key: term.total.detach() for key, term in terms.items()}
        return torch.stack(losses).sum(), totals


@dataclass
class Training:
    """What the loop works on.

    model: a `TrainingModel` as `accelerator.prepare` returned it.
    micro_batches: of an update, over all processes; a multiple of their number.
    read_every: updates between reads from the device, see `steps`; 0: `READ_EVERY` on a GPU, else 1.
    row: the shape of packed batches; None: batches are padded.
    loss_scale: of fp16 (Micikevicius et al. 2018, section 3.2), else None.
    """

    model: nn.Module
    mixture: Mixture
    optimizer: Optimizer
    settings: OptimizerSettings
    accelerator: Accelerator
    last: int
    micro_batches: int = 1
    read_every: int = 0
    row: PackedRow | None = None
    loss_scale: GradScaler | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Set the default of `read_every`, and make the scale of the loss for fp16."""
        device = self.accelerator.device.type
        if not self.read_every:
            self.read_every = READ_EVERY if device == "cuda" else 1
        if self.accelerator.mixed_precision == "fp16":  # accelerate has none for a CPU
            self.loss_scale = GradScaler(device)


def steps(
    training: Training, progress: Progress, due: Callable[[int], bool] = lambda _: False
) -> Iterator[TrainingStep]:
    """Train from `progress.done` to `training.last`, yielding after each update; `progress.stop` ends the loop.

    Reading a number waits for a GPU, so updates on one are yielded in groups of `read_every`, and where one is due.
    An update with a gradient that is not finite is skipped; several in a row raise a RunError, and so do batches of an
    objective that count different things.

    due: whether the consumers need the weights of a step, so that it must be yielded before the next update.
    """
    from interlace.core.kernels import processors

    counter = StepCounts(training.accelerator)
    pending: list[_Update] = []
    began = 0.0
    background = ThreadPoolExecutor(min(WORKERS, processors()), thread_name_prefix="batches")
    try:
        for draw, futures in _prefetched(training, progress, background):
            start = time.perf_counter()
            if not pending:
                began = start
            batches = [future.result() for future in futures]
            waited = time.perf_counter() - start
            update = _update(training, draw, batches, counter, waited, ending=progress.ending)
            pending.append(update)
            # several must read together
            ending_alone = progress.ending and training.accelerator.num_processes == 1
            last = draw.step == training.last
            if len(pending) < training.read_every and not (
                last or ending_alone or due(draw.step)
            ):
                continue
            for update, step in zip(
                pending, _read(training, pending, counter, began), strict=True
            ):
                _check_finite(training, progress, step)
                progress.done = step.index
                progress.drawn = update.draw.drawn
                progress.ended = update.is_ending and update is pending[-1]
                progress.tokens[update.source.name] += step.tokens
                yield step
            pending.clear()
            if progress.stop or progress.ended:
                return
    finally:  # also after an error or an interruption; batches that are not begun are not waited for
        background.shutdown(cancel_futures=True)


def _prefetched(
    training: Training, progress: Progress, background: ThreadPoolExecutor
) -> Iterator[tuple[MixtureDraw, list[Future[Batch]]]]:
    """Yield draws with their batches under construction, a few steps ahead; this process's micro-batches only."""
    accelerator = training.accelerator
    mixture = training.mixture
    slots = range(accelerator.process_index, training.micro_batches, accelerator.num_processes)
    pin = accelerator.device.type == "cuda"

    def build(draw: MixtureDraw, slot: int) -> Batch:
        batch = mixture.batch(draw, slot)
        if training.row is not None and mixture.sources[draw.source].learner.packs:
            batch = training.row.pack(batch)
        return batch.pinned() if pin else batch

    queue: deque[tuple[MixtureDraw, list[Future[Batch]]]] = deque()
    for draw in mixture.draws(
        progress.done, training.last, progress.drawn, training.micro_batches
    ):
        queue.append((draw, [background.submit(build, draw, slot) for slot in slots]))
        if len(queue) > PREFETCH:
            yield queue.popleft()
    yield from queue


@dataclass
class _Update:
    """An update whose numbers are still on the device.

    counts: over all processes. totals: of this process. is_ending: whether a process is to end, once read.
    """

    draw: MixtureDraw
    source: MixtureSource
    counts: dict[str, Any]
    totals: Tensors
    norm: Tensor
    rate: float
    waited: float
    is_ending: bool = False

    @property
    def counts_on_device(self) -> list[Tensor]:
        """The counts that are not read yet."""
        return [count for count in self.counts.values() if isinstance(count, Tensor)]


def _update(
    training: Training,
    draw: MixtureDraw,
    batches: list[Batch],
    counter: StepCounts,
    waited: float,
    *,
    ending: bool,
) -> _Update:
    """Do one optimizer step over this process's micro-batches, without waiting for the device."""
    optimizer = training.optimizer
    settings = training.settings
    scale = training.loss_scale
    source = training.mixture.sources[draw.source]
    counts = counter.of(source, batches, ending=ending)
    totals = _backward(training, draw, batches, counts)
    rate = settings.rate(draw.step, training.last)
    for group in optimizer.param_groups:
        group["lr"] = rate
    if scale is not None:
        scale.unscale_(optimizer)
    norm = torch.as_tensor(
        training.accelerator.clip_grad_norm_(training.model.parameters(), settings.clip)
    ).detach()
    # a fused optimizer skips its step on the device; finite gradients may have an infinite norm
    setattr(optimizer, "found_inf", (~norm.isfinite()).float())  # noqa: B010 - torch declares no such attribute
    optimizer.step()
    if scale is not None:
        scale.update()
    optimizer.zero_grad()
    return _Update(
        draw=draw,
        source=source,
        counts=counts,
        totals=totals,
        norm=norm,
        rate=rate,
        waited=waited,
    )


def _backward(
    training: Training, draw: MixtureDraw, batches: list[Batch], counts: dict[str, Any]
) -> Tensors:
    """Accumulate the gradient of every micro-batch, with dropout keyed by slot; return this process's totals."""
    accelerator = training.accelerator
    scale = training.loss_scale
    world = accelerator.num_processes
    source = training.mixture.sources[draw.source]
    # DDP averages over processes, but we need the sum
    factor = world * value_at(source.loss_weight, draw.step)
    totals: dict[str, Any] = {}
    terms = [key for key in counts if key not in _NO_TERMS and not key.startswith(_LANGUAGE)]
    training.model.train()
    if training.micro_batches > 1 and isinstance(source.learner, UpdateObjective):
        batches = _with_gradients(training, draw, source.learner, batches)
    for micro, batch in enumerate(batches):
        _seed_dropout(training, draw, micro)
        # processes exchange gradients only with the last micro-batch
        last = micro == len(batches) - 1
        with nullcontext() if last else accelerator.no_sync(training.model):
            loss, parts = training.model(source.objective, batch.to(accelerator.device), counts)
            # if the loss is not finite, neither is the gradient, in all processes
            finite = loss.detach() * 0 + 1
            loss = loss * (factor * finite)
            if scale is not None:
                loss = scale.scale(loss)
            loss.backward()
        for key in terms:  # in the same order in all processes
            totals[key] = totals.get(key, loss.new_zeros(())) + parts[key]
    return totals


def _seed_dropout(training: Training, draw: MixtureDraw, micro: int) -> None:
    """Seed torch for a micro-batch of this process."""
    accelerator = training.accelerator
    slot = micro * accelerator.num_processes + accelerator.process_index
    torch.manual_seed(torch_seed(Purpose.DROPOUT, training.mixture.seed, draw.step, slot))


def _with_gradients(
    training: Training, draw: MixtureDraw, objective: UpdateObjective, batches: list[Batch]
) -> list[Batch]:
    """Return micro-batches with the gradient of the whole update's loss in their vectors.

    The vectors are computed as in the pass that follows, with the same dropout. Several processes wait for the device.
    """
    accelerator = training.accelerator
    model: TrainingModel = accelerator.unwrap_model(training.model)
    batches = [batch.to(accelerator.device) for batch in batches]
    vectors = []
    for micro, batch in enumerate(batches):
        _seed_dropout(training, draw, micro)
        with accelerator.autocast():
            vectors.append(objective.vectors(model.backbone, batch).detach())
    return objective.with_gradients(batches, vectors, partial(_gathered, accelerator))


def _gathered(accelerator: Accelerator, rows: Tensor) -> tuple[Tensor, int]:
    """Return the rows of all processes, and the number of the first one of this process."""
    if accelerator.num_processes == 1:
        return rows, 0
    own_count = torch.tensor([len(rows)], device=rows.device)
    counts = accelerator.gather(own_count).tolist()
    padded = rows.new_zeros(max(counts), *rows.shape[1:])
    padded[: len(rows)] = rows
    gathered = accelerator.gather(padded).split(max(counts))
    parts = [part[:count] for part, count in zip(gathered, counts, strict=True)]
    return torch.cat(parts), sum(counts[: accelerator.process_index])


def _read(
    training: Training, pending: list[_Update], counter: StepCounts, began: float
) -> list[TrainingStep]:
    """Wait for the device and return the records of updates; one transfer for all of them.

    began: time of the clock before the first of them.
    """
    totals: list[Tensor] = []
    unshared: list[Tensor] = []  # what is not to be summed over processes
    for update in pending:
        totals += update.totals.values()
        unshared += [update.norm, *update.counts_on_device]
    summed = counter.summed(torch.stack(totals).double())
    unsummed = torch.stack([number.double() for number in unshared])
    numbers = iter(torch.cat([summed, unsummed]).tolist())
    shared = {
        "seconds": (time.perf_counter() - began) / len(pending),
        "memory": peak_memory(training.accelerator.device),
        "last": training.last,
    }
    totals_read = [{term: next(numbers) for term in update.totals} for update in pending]
    steps_read = []
    for update, update_totals in zip(pending, totals_read, strict=True):
        norm = next(numbers)
        counts = {}
        for name, count in update.counts.items():
            counts[name] = next(numbers) if isinstance(count, Tensor) else count
        update.is_ending = bool(counts[_ENDING])
        steps_read.append(_record(update, update_totals, counts, norm, shared))
    return steps_read


def _record(
    update: _Update,
    totals: dict[str, float],
    counts: dict[str, float],
    norm: float,
    shared: JsonMapping,
) -> TrainingStep:
    """Return the record of an update.

    totals: loss by term. counts: predictions by term, `tokens`, `rows`, and tokens by language. shared: what all
    updates that are read together have in common.
    """
    languages = {}
    for name, count in counts.items():
        if name.startswith(_LANGUAGE):
            languages[name.removeprefix(_LANGUAGE)] = int(count)
    return TrainingStep(
        index=update.draw.step,
        objective=update.source.objective,
        corpus=update.source.corpus,
        losses={term: total / max(counts[term], 1) for term, total in totals.items()},
        tokens=int(counts["tokens"]),
        learning_rate=update.rate,
        gradient_norm=norm,
        waited=update.waited,
        rows=int(counts["rows"]),
        languages=languages,
        **shared,
    )


def _check_finite(training: Training, progress: Progress, step: TrainingStep) -> None:
    """Count skipped updates in a row; raise a RunError if there are too many."""
    if not step.skipped:
        progress.skipped = 0
        return
    progress.skipped += 1
    problem = (
        f"step {step.index}, {step.objective}/{step.corpus}: losses or gradients are not finite"
    )
    max_skipped = MAX_SKIPPED if training.loss_scale is None else MAX_SKIPPED_FP16
    if progress.skipped >= min(max_skipped, training.last):
        raise RunError(
            f"{problem}, as in {progress.skipped} updates in a row: training has diverged, or started from such "
            "weights; restart with a lower learning rate, a longer warm-up, or another checkpoint"
        )
    level = logging.WARNING if training.loss_scale is None else logging.INFO
    log.log(level, "%s; skipped the update", problem)


class StepCounts:
    """Sums counts over micro-batches and processes, and checks that the batches of a source count the same things."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._names: dict[str, tuple[str, ...]] = {}  # source -> what its batches count

    def of(
        self, source: MixtureSource, batches: Sequence[Batch], *, ending: bool = False
    ) -> dict[str, Any]:
        """Return sums over all processes: numbers, or with several processes tensors that are not read here.

        They are predictions by term, `tokens`, `rows` and tokens by language of a step, and how many processes end.
        Raise a RunError for a batch that counts other things than the first one of its source.
        """
        sums: dict[str, Any] = {}
        for batch in batches:
            counts = _counts_of(batch)
            expected = self._names.setdefault(source.name, tuple(counts))
            if tuple(counts) != expected:
                raise RunError(
                    f"{source.name}: its first batch counts {', '.join(expected)}, another one {', '.join(counts)}; "
                    f"{source.objective}.batch must give the same `counts` and `languages`, in the same order, for "
                    "every batch of a corpus (0 where there is none)"
                )
            for name, count in counts.items():
                sums[name] = sums.get(name, 0) + count
        sums[_ENDING] = float(ending)
        if self._accelerator.num_processes == 1:
            return sums
        return dict(zip(sums, self._sent(sums).unbind(), strict=True))

    def summed(self, values: Tensor) -> Tensor:
        """Return the sum over all processes."""
        if self._accelerator.num_processes == 1:
            return values
        return self._accelerator.reduce(values, "sum")

    def _sent(self, counts: Mapping[str, float]) -> Tensor:
        values = torch.tensor(list(counts.values()), dtype=torch.float64)
        device = self._accelerator.device
        if device.type == "cuda":
            values = values.pin_memory()
        return self.summed(values.to(device, non_blocking=True))


def _counts_of(batch: Batch) -> Counts:
    """Return what a batch counts: its tokens and sequences, predictions by term, and tokens by language."""
    counts = {
        "tokens": float(batch.tokens),
        "rows": float(batch.sequences),
        **batch.counts,
    }
    for language, count in batch.languages.items():
        counts[_LANGUAGE + language] = float(count)
    return counts


def _at_least_one(count: Any) -> Any:
    if isinstance(count, Tensor):
        return count.clamp(min=1)
    return max(count, 1)
