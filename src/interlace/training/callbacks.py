"""Consumers of the loop: each is called after every step, in order; those with a state are saved in checkpoints.

By what evaluations are compared, where one of them is to be the best.

A model that is to translate and learns to copy, to say nothing or to go on for ever, told early.

These are the ways in which back-translation fails.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

from interlace.objectives.back_translation import COPIED, LENGTH
from interlace.training import checkpoint
from interlace.training.run_folder import append_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from accelerate import Accelerator
    from torch import nn

    from interlace.training.loop import Progress, Training, TrainingStep


log = logging.getLogger(__name__)


_MISSING = {
    "perplexity": "perplexity has not fallen",
    "bleu": "BLEU has not risen",
    "round-trip": "BLEU of round trips has not risen",
}


class Callback(Protocol):
    """Anything that looks at steps."""

    def __call__(self, step: TrainingStep) -> None:
        """Look at one finished step."""


@dataclass
class MetricsWriter:
    """Writes a JSON line a step."""

    path: Path

    def __call__(self, step: TrainingStep) -> None:
        """Append the step's record."""
        append_line(
            self.path,
            {
                "kind": "step",
                "step": step.index,
                "objective": step.objective,
                "corpus": step.corpus,
                "losses": {key: round(loss, 6) for key, loss in step.losses.items()},
                "tokens": step.tokens,
                "rows": step.rows,
                "languages": step.languages,
                "learning_rate": step.learning_rate,
                "seconds": round(step.seconds, 5),
                "waited": round(step.waited, 5),
                "gradient_norm": round(step.gradient_norm, 5),
            },
        )


@dataclass
class TrackerCallback:
    """Sends losses and learning rate to accelerate's trackers (TensorBoard and others)."""

    accelerator: Accelerator

    def __call__(self, step: TrainingStep) -> None:
        """Log losses by objective and corpus."""
        values = {f"{step.objective}/{step.corpus}/{key}": loss for key, loss in step.losses.items()}
        self.accelerator.log({**values, "learning_rate": step.learning_rate}, step=step.index)


@dataclass
class HeldOutEvaluation:
    """Measures held-out text every so often and stops when it gets no better (XLM, section 5.1).

    measure: returns scores by name, among them the mean of what it goes by.
    patience: evaluations without improvement before the run is stopped; 0 never stops.
    by: `perplexity`, `bleu` or `round-trip`.
    best: the lowest cost so far, as `early_stopping_cost` has it.
    """

    measure: Callable[[], dict[str, float]]
    every: int
    patience: int
    progress: Progress
    last: int
    record: Callable[[dict[str, Any]], None]
    by: str = "perplexity"
    best: float = math.inf
    best_step: int = 0
    bad: int = 0

    def __call__(self, step: TrainingStep) -> None:
        """Evaluate where it is time."""
        if not self.every or (step.index % self.every and step.index != self.last):
            return
        scores = self.measure()
        self.record({"kind": "evaluation", "step": step.index, "scores": scores})
        means = ", ".join(f"{name.partition('/')[0]} {scores[name]:.2f}" for name in scores if name.endswith("/mean"))
        log.info("step %d: %s", step.index, means or "measured")
        cost = early_stopping_cost(scores, self.by)
        if cost < self.best:
            self.best, self.best_step, self.bad = cost, step.index, 0
        else:
            self.bad += 1
        if self.patience and self.bad >= self.patience:
            self.progress.stop = True
            missing = _MISSING[self.by]
            self.progress.reason = f"{missing} for {self.bad} evaluations"

    def state(self) -> dict[str, Any]:
        """What early stopping remembers."""
        best = None if math.isinf(self.best) else self.best
        return {"best": best, "best_step": self.best_step, "bad": self.bad}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up where a checkpoint left off."""
        self.best = math.inf if state["best"] is None else state["best"]
        self.best_step, self.bad = state["best_step"], state["bad"]


@dataclass
class CheckpointCallback:
    """Saves every so often, at the end, and when the run is stopped; comes last, so that it sees all other states."""

    folder: Path
    every: int
    keep: int
    training: Training
    progress: Progress
    evaluation: HeldOutEvaluation | None = None
    saved: list[int] = field(default_factory=list)

    def __call__(self, step: TrainingStep) -> None:
        """Save where it is time."""
        if not self._due(step.index):
            return
        accelerator = self.training.accelerator
        if accelerator.is_main_process:
            model = accelerator.unwrap_model(self.training.model)
            checkpoint.save(self.folder, step.index, model, self.training.optimiser, self._state())
            best = self.evaluation.best_step if self.evaluation and self.evaluation.patience else None
            checkpoint.prune(self.folder, self.keep, best)
        _forget(self.training.model)
        accelerator.wait_for_everyone()

    def resume(self) -> int:
        """Load the newest checkpoint, if there is one; returns the step it stands at (0: from the start)."""
        found = checkpoint.steps_in(self.folder)
        if not found:
            return 0
        model = self.training.accelerator.unwrap_model(self.training.model)
        state = checkpoint.load(checkpoint.path_of(self.folder, found[-1]), model, self.training.optimiser)
        self.progress.done, self.progress.drawn = state["step"], tuple(state["drawn"])
        self.progress.stop, self.progress.reason = state["stop"], state["reason"]
        if (before := state.get("slots")) not in (None, now := self._slots()):
            log.warning("a step was %d micro-batches over all processes and is %d from here on", before, now)
        if self.evaluation is not None:
            self.evaluation.restore(state["evaluation"])
        return found[-1]

    def _due(self, step: int) -> bool:
        best = self.evaluation is not None and bool(self.evaluation.patience) and self.evaluation.best_step == step
        regular = bool(self.every) and step % self.every == 0
        return best or regular or step == self.training.last or self.progress.stop

    def _state(self) -> dict[str, Any]:
        progress = self.progress
        evaluation = self.evaluation.state() if self.evaluation else None
        return {
            "drawn": progress.drawn,
            "slots": self._slots(),
            "stop": progress.stop,
            "reason": progress.reason,
            "evaluation": evaluation,
        }

    def _slots(self) -> int:
        """Micro-batches a step, over all processes."""
        processes: int = self.training.accelerator.num_processes
        return self.training.micro_batches * processes


def _forget(model: nn.Module) -> None:
    """Drop what modules keep beside their weights, in every process: a run that goes on from here has none of it."""
    for module in model.modules():
        if callable(forget := getattr(module, "forget", None)):
            forget()


def run_callbacks(step: TrainingStep, observers: Sequence[Callback]) -> None:
    """Call every observer in order."""
    for observer in observers:
        observer(step)


def early_stopping_cost(scores: Mapping[str, float], by: str) -> float:
    """What early stopping lowers: the mean of perplexity, or minus that of a BLEU; infinite where it is missing."""
    sign = 1 if by == "perplexity" else -1
    return sign * scores.get(f"{by}/mean", sign * math.inf)


log = logging.getLogger(__name__)


MOST = 0.8  # languages that share names and signs stay below: copying is near 1


LENGTHS = (0.2, 2.0)  # subwords by those of the sentence: between these, whatever the languages


WINDOW = 100  # steps of back-translation


@dataclass
class CopyingWarning:
    """Warns when, over some time, most of what a model writes stood in what it read, or is far too short or too long.

    Each language that it reads is looked at by itself: one direction may collapse beside a sound one. Of each kind of
    failure it warns again only after it got better.
    seen: shares and ratios of the last steps, by corpus. told: what was warned of, by corpus.
    """

    most: float = MOST
    lengths: tuple[float, float] = LENGTHS
    window: int = WINDOW
    seen: defaultdict[str, deque[tuple[float, float]]] = field(default_factory=lambda: defaultdict(deque))
    told: dict[str, set[str]] = field(default_factory=dict)

    def __call__(self, step: TrainingStep) -> None:
        """Look at a step of back-translation."""
        if COPIED not in step.losses:
            return
        seen = self.seen[step.corpus]
        seen.append((step.losses[COPIED], step.losses[LENGTH]))
        if len(seen) < self.window:
            return
        share, ratio = (fmean(values) for values in zip(*seen, strict=True))
        seen.popleft()
        wrong = self._wrong(share, ratio)
        for kind, message in wrong.items():
            if kind not in self.told.get(step.corpus, ()):
                log.warning("step %d: over %d steps that read %s, %s", step.index, self.window, step.corpus, message)
        self.told[step.corpus] = set(wrong)

    def _wrong(self, share: float, ratio: float) -> dict[str, str]:
        """What is wrong, by its kind, and what may help."""
        least, most = self.lengths
        cure = "begin from a model of both languages (model.start)"
        found = {}
        if share > self.most:
            found["copies"] = (
                f"{share:.0%} of what the model wrote in another language stood in what it had read: it copies and "
                f"learns no translation; {cure}, or lower the weight of denoise"
            )
        if not least <= ratio <= most:
            length = "next to nothing" if ratio < least else "without end"
            found["lengths"] = (
                f"the model wrote {ratio:.2g} subwords in another language for each that it had read: it says {length} "
                f"and learns no translation; {cure}, or let denoise come first (weight of back_translation)"
            )
        return found
