"""The training loop: a generator that yields after each update.

A step is one objective on one corpus. Its micro-batches are built first, so their counts can be summed over
micro-batches and processes, and each loss is divided by the same global count: a step equals one large batch, however
it is split.

Processes sum counts as vectors, by position. So the first batch of each source (an objective on a corpus) defines what
its batches count; these names are compared between processes once, and later batches with the first of their process.
Each vector ends with two flags: whether a batch counts other things, and whether a process has received SIGTERM. Their
sums are the same in all processes, so all stop after the same update.

No part of an update waits for the device. An update changes nothing if the norm of its gradient is not finite: the
optimizer skips it on the device by `found_inf`, as with torch's `GradScaler`.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import torch
from torch import Tensor, nn
from torch.amp import GradScaler

from interlace.core.errors import RunError
from interlace.core.randomness import Purpose, torch_seed
from interlace.core.schedules import value_at
from interlace.training.device import peak_flops, peak_memory, training_flops
from interlace.training.mixture import MixtureDraw
from interlace.training.steps import TrainingStep, TrainingTotals

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch.optim import Optimizer

    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Objective
    from interlace.training.mixture import Mixture, MixtureSource
    from interlace.training.optimizer import OptimizerSettings

log = logging.getLogger(__name__)
Counts = dict[str, float]
Names = tuple[str, ...]
T = TypeVar("T")

PREFETCH = 2  # steps whose batches are built in the background
READ_EVERY = 8  # updates between reads from a GPU
MAX_SKIPPED, MAX_SKIPPED_FP16 = 3, 27  # updates in a row whose gradient is not finite; fp16 halves its scale at each

_LANGUAGE = "tokens in "  # prefix of a language among the counts of a step
_DIFFERS, _ENDING = "differs", "ending"
_NO_TERMS = {"tokens", "rows", _DIFFERS, _ENDING}


@dataclass
class Progress:
    """The position of a run, which checkpoints store in addition to weights and optimizer state.

    drawn: batches that each source of the mixture has given out.
    stop: set by a callback to end the loop after this step; reason: the reason, for the user.
    ending: set by anyone in one process to end the loop soon, as if it was killed; ended: it yields its last step.
    skipped: number of updates without effect before this one, without interruption.
    totals: of all updates, those before an interruption included.
    """

    done: int = 0
    drawn: tuple[int, ...] = ()
    stop: bool = False
    reason: str = ""
    ending: bool = False
    ended: bool = False
    skipped: int = 0
    totals: TrainingTotals = field(default_factory=TrainingTotals)


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
        parts = [term.weight * term.total / _at_least_one(counts[key]) for key, term in terms.items()]
        return torch.stack(parts).sum(), {key: term.total.detach() for key, term in terms.items()}


def uses_all_parameters(model: TrainingModel, mixture: Mixture, accelerator: Accelerator) -> bool:
    """Return whether the loss of every objective reaches all trainable parameters; found by a batch of each.

    A plugin's loss may reach other parameters in another batch, so False if there is one.
    """
    if any(not type(objective).__module__.startswith("interlace.") for objective in model.objectives.values()):
        return False
    trained = {parameter for parameter in model.parameters() if parameter.requires_grad}
    first = {source.objective: number for number, source in reversed(list(enumerate(mixture.sources)))}
    for name, number in first.items():
        batch = mixture.first_batch(number).to(accelerator.device)
        with accelerator.autocast():
            loss, _ = model(name, batch, dict.fromkeys(batch.counts, 1.0))
        nodes, seen = [loss.grad_fn], set[Any]()
        while nodes:
            node = nodes.pop()
            if node is not None and node not in seen:
                seen.add(node)
                nodes += [following for following, _ in node.next_functions]
        if trained - {node.variable for node in seen if hasattr(node, "variable")}:
            return False
    return True


@dataclass(frozen=True)
class Training:
    """What the loop works on.

    model: a `TrainingModel` as `accelerator.prepare` returned it.
    micro_batches: of an update, over all processes; a multiple of their number.
    read_every: updates between reads from the device, see `steps`; 0: `READ_EVERY` on a GPU, else 1.
    count_flops: measure the operations of an update, by one more forward pass of a batch of each source.
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
    count_flops: bool = True
    loss_scale: GradScaler | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Set the default of `read_every`, and make the scale of the loss for fp16."""
        if not self.read_every:
            object.__setattr__(self, "read_every", READ_EVERY if self.accelerator.device.type == "cuda" else 1)
        if self.accelerator.mixed_precision == "fp16":  # accelerate has none for a CPU
            object.__setattr__(self, "loss_scale", GradScaler(self.accelerator.device.type))


def steps(
    training: Training, progress: Progress, due: Callable[[int], bool] = lambda _: False
) -> Iterator[TrainingStep]:
    """Train from `progress.done` to `training.last`, yielding after each update; `progress.stop` ends the loop.

    Reading a number waits for a GPU, so updates on one are yielded in groups of `read_every`, and where one is due.
    An update with a gradient that is not finite is skipped; several in a row raise a RunError, and so do batches of an
    objective that count different things.

    due: whether the consumers need the weights of a step, so that it must be yielded before the next update.
    """
    counter, pending = StepCounts(training.accelerator), list[_Update]()
    peak, began = peak_flops(training.accelerator), 0.0
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches") as background:
        for draw, futures in _prefetched(training, progress, background):
            start = time.perf_counter()
            began = began if pending else start
            batches = [future.result() for future in futures]
            waited = time.perf_counter() - start
            pending.append(_update(training, draw, batches, counter, waited, ending=progress.ending))
            now = progress.ending and training.accelerator.num_processes == 1  # several processes must read together
            if len(pending) < training.read_every and draw.step < training.last and not (now or due(draw.step)):
                continue
            read = _read(training, pending, counter)
            seconds = (time.perf_counter() - began) / len(pending)
            for update, (step, ending) in zip(pending, read, strict=True):
                _check_finite(training, progress, step)
                progress.done, progress.drawn = update.draw.step, update.draw.drawn
                progress.ended = update is pending[-1] and ending
                share = step.flops / seconds / peak if peak and step.flops else None
                memory = peak_memory(training.accelerator.device)
                timed = replace(step, seconds=seconds, peak_share=share, memory=memory)
                progress.totals.add(timed)
                yield timed
            pending.clear()
            if progress.stop or progress.ended:
                background.shutdown(wait=False, cancel_futures=True)
                return


def _prefetched(
    training: Training, progress: Progress, background: ThreadPoolExecutor
) -> Iterator[tuple[MixtureDraw, list[Future[Batch]]]]:
    """Yield draws with their batches under construction, a few steps ahead; this process's micro-batches only."""
    accelerator, mixture = training.accelerator, training.mixture
    slots = range(accelerator.process_index, training.micro_batches, accelerator.num_processes)
    pin = accelerator.device.type == "cuda"

    def build(draw: MixtureDraw, slot: int) -> Batch:
        batch = mixture.batch(draw, slot)
        return batch.pinned() if pin else batch

    queue: deque[tuple[MixtureDraw, list[Future[Batch]]]] = deque()
    for draw in mixture.draws(progress.done, training.last, progress.drawn, training.micro_batches):
        queue.append((draw, [background.submit(build, draw, slot) for slot in slots]))
        if len(queue) > PREFETCH:
            yield queue.popleft()
    yield from queue


@dataclass
class _Update:
    """An update whose numbers are still on the device.

    counts: over all processes. totals: of this process. differing: names of counts that differ from the first's.
    """

    draw: MixtureDraw
    source: MixtureSource
    counts: dict[str, Any]
    totals: dict[str, Tensor]
    norm: Tensor
    rate: float
    waited: float
    flops: float
    differing: Names | None


def _update(
    training: Training, draw: MixtureDraw, batches: list[Batch], counter: StepCounts, waited: float, *, ending: bool
) -> _Update:
    """Do one optimizer step over this process's micro-batches, without waiting for the device."""
    optimizer, settings, scale = training.optimizer, training.settings, training.loss_scale
    source = training.mixture.sources[draw.source]
    counts, differing = counter.of(source, batches, ending=ending)
    flops = counter.flops(training, source, batches[0], counts)
    totals = _backward(training, draw, batches, counts)
    rate = settings.rate(draw.step, training.last)
    for group in optimizer.param_groups:
        group["lr"] = rate
    if scale is not None:
        scale.unscale_(optimizer)
    norm = torch.as_tensor(training.accelerator.clip_grad_norm_(training.model.parameters(), settings.clip)).detach()
    # a fused optimizer skips its step on the device; finite gradients may have an infinite norm
    setattr(optimizer, "found_inf", (~norm.isfinite()).float())  # noqa: B010 - torch declares no such attribute
    optimizer.step()
    if scale is not None:
        scale.update()
    optimizer.zero_grad()
    return _Update(draw, source, counts, totals, norm, rate, waited, flops, differing)


def _backward(training: Training, draw: MixtureDraw, batches: list[Batch], counts: dict[str, Any]) -> dict[str, Tensor]:
    """Accumulate the gradient of every micro-batch, with dropout keyed by slot; return this process's totals."""
    accelerator, scale = training.accelerator, training.loss_scale
    world, rank = accelerator.num_processes, accelerator.process_index
    source = training.mixture.sources[draw.source]
    factor = world * value_at(source.loss_weight, draw.step)  # DDP averages over processes, but we need the sum
    totals: dict[str, Any] = {}
    terms = [key for key in counts if key not in _NO_TERMS and not key.startswith(_LANGUAGE)]
    training.model.train()
    for micro, batch in enumerate(batches):
        torch.manual_seed(torch_seed(Purpose.DROPOUT, training.mixture.seed, draw.step, micro * world + rank))
        last = micro == len(batches) - 1  # processes exchange gradients only with the last micro-batch
        with nullcontext() if last else accelerator.no_sync(training.model):
            known = {**dict.fromkeys(batch.counts, 1.0), **counts}  # a batch that differs stops all processes later
            loss, parts = training.model(source.objective, batch.to(accelerator.device), known)
            one = loss.detach() * 0 + 1  # if the loss is not finite, neither is the gradient, in all processes
            loss = loss * (factor * one)
            (loss if scale is None else scale.scale(loss)).backward()
        for key in terms:  # in the same order in all processes
            totals[key] = totals.get(key, loss.new_zeros(())) + parts.get(key, 0.0)
    return totals


def _read(training: Training, pending: list[_Update], counter: StepCounts) -> list[tuple[TrainingStep, bool]]:
    """Wait for the device and return the steps, and whether a process is to end; one transfer for all updates."""
    device = training.accelerator.device
    sums = counter.summed(torch.stack([each.double() for update in pending for each in update.totals.values()]))
    shared = [each for update in pending for each in update.counts.values() if isinstance(each, Tensor)]
    norms = [update.norm.double() for update in pending]
    numbers = iter(torch.cat([sums, torch.stack([*norms, *(each.to(device) for each in shared)])]).tolist())
    totals = [{key: next(numbers) for key in update.totals} for update in pending]
    found_norms = [next(numbers) for _ in pending]
    read = []
    for update, total, norm in zip(pending, totals, found_norms, strict=True):
        counts = {key: next(numbers) if isinstance(each, Tensor) else each for key, each in update.counts.items()}
        if counts.pop(_DIFFERS):
            counter.raise_difference(update.source, update.differing)
        ending, tokens, rows = (int(counts.pop(name)) for name in (_ENDING, "tokens", "rows"))
        names = [key for key in counts if key.startswith(_LANGUAGE)]
        languages = {key.removeprefix(_LANGUAGE): int(counts.pop(key)) for key in names}
        losses = {key: each / max(counts[key], 1) for key, each in total.items()}
        step = TrainingStep(
            update.draw.step, update.source.objective, update.source.corpus, losses, counts, tokens, update.rate, norm,
            seconds=0, waited=update.waited, rows=rows, languages=languages, flops=update.flops * tokens,
            last=training.last,
        )  # fmt: skip
        read.append((step, bool(ending)))
    return read


def _check_finite(training: Training, progress: Progress, step: TrainingStep) -> None:
    """Count skipped updates in a row; raise a RunError if there are too many."""
    progress.skipped = progress.skipped + 1 if step.skipped else 0
    if not step.skipped:
        return
    numbers = {**step.losses, "gradient norm": step.gradient_norm}
    name, number = next((name, number) for name, number in numbers.items() if not math.isfinite(number))
    where = f"step {step.index}, {step.objective}/{step.corpus}: the {name} is {number}"
    most = MAX_SKIPPED if training.loss_scale is None else MAX_SKIPPED_FP16
    if progress.skipped >= min(most, training.last):
        cause = "training has diverged; restart with a lower learning rate or a longer warm-up"
        if progress.skipped == step.index and training.loss_scale is None:
            cause = "no update had an effect, so the model that it starts from computes such values; check its weights"
        raise RunError(f"{where}, as in {progress.skipped} updates in a row: {cause}")
    log.log(logging.WARNING if training.loss_scale is None else logging.INFO, "%s; skipped the update", where)


class StepCounts:
    """Sums counts over micro-batches and processes, and checks that the batches of a source count the same things."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._first: dict[str, Names] = {}  # source -> what its batches count
        self._flops: dict[str, float] = {}  # source -> floating-point operations per token

    def of(
        self, source: MixtureSource, batches: Sequence[Batch], *, ending: bool = False
    ) -> tuple[dict[str, Any], Names | None]:
        """Return sums over all processes, and the names of a batch of this process that counts other things.

        The sums are predictions by term, `tokens`, `rows` and tokens by language of a step, and how many processes end
        or have such a batch: numbers, or with several processes tensors that are not read here. A single process raises
        a RunError for such a batch.
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
        sums |= {_DIFFERS: float(differing is not None), _ENDING: float(ending)}
        if self._accelerator.num_processes == 1:
            if differing is not None:
                raise RunError(_message(source, first, differing))
            return dict(sums), None
        return dict(zip(sums, self._sent(sums).unbind(), strict=True)), differing

    def raise_difference(self, source: MixtureSource, differing: Names | None) -> NoReturn:
        """Raise the error about a batch that counts other things; all processes must call this."""
        found = next(names for names in self._gathered(differing) if names is not None)
        raise RunError(_message(source, self._first[source.name], found))

    def flops(self, training: Training, source: MixtureSource, batch: Batch, counts: dict[str, Any]) -> float:
        """Return the floating-point operations of matrix products per token of a source, measured by its first batch.

        What gradient checkpointing repeats is not counted. 0 (unknown) for back-translation, which also generates, and
        if layers are frozen.
        """
        if source.name not in self._flops:
            model = self._accelerator.unwrap_model(training.model)
            moved = batch.to(self._accelerator.device)
            known = training.count_flops and not source.learner.generates
            used = training_flops(lambda: model(source.objective, moved, counts)) if known else 0
            self._flops[source.name] = used / max(batch.tokens, 1)
        return self._flops[source.name]

    def reduced(self, counts: Mapping[str, float]) -> Counts:
        """Return sums over all processes, which must have the same names in the same order."""
        return dict(zip(counts, self._sent(counts).tolist(), strict=True))

    def summed(self, values: Tensor) -> Tensor:
        """Return the sum over all processes."""
        alone = self._accelerator.num_processes == 1
        total: Tensor = values if alone else self._accelerator.reduce(values, "sum")
        return total

    def _sent(self, counts: Mapping[str, float]) -> Tensor:
        values, device = torch.tensor(list(counts.values()), dtype=torch.float64), self._accelerator.device
        return self.summed((values.pin_memory() if device.type == "cuda" else values).to(device, non_blocking=True))

    def _gathered(self, value: T) -> list[T]:
        """Return the value of each process; all processes must call this."""
        if self._accelerator.num_processes == 1:
            return [value]
        from accelerate.utils import gather_object

        return list(gather_object([value]))


def _at_least_one(count: Any) -> Any:
    return count.clamp(min=1) if isinstance(count, Tensor) else max(count, 1)


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
