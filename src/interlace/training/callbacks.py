"""Callbacks: consumers of the training loop that are called after every step, in order."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired

from typing_extensions import TypedDict

from interlace.core.errors import CheckpointError, RunError
from interlace.core.json_files import JsonObject, checked, json_record
from interlace.training import checkpoint
from interlace.training.run_folder import append_line

if TYPE_CHECKING:
    from accelerate import Accelerator

    from interlace.training.loop import Progress, Training
    from interlace.training.steps import TrainingStep

log = logging.getLogger(__name__)


@dataclass
class MetricsWriter:
    """Writes one line of JSON a step."""

    path: Path

    def __call__(self, step: TrainingStep) -> None:
        """Append the step's record."""
        record: JsonObject = {
            "kind": "step",
            "step": step.index,
            "objective": step.objective,
            "corpus": step.corpus,
            "losses": {
                key: round(loss, 6) for key, loss in step.losses.items() if math.isfinite(loss)
            },
            "tokens": step.tokens,
            "rows": step.rows,
            "languages": step.languages,
            "learning_rate": step.learning_rate,
            "seconds": round(step.seconds, 5),
            "waited": round(step.waited, 5),
            "memory": step.memory,
        }
        if step.skipped:
            record["skipped"] = True
        else:
            record["gradient_norm"] = round(step.gradient_norm, 5)
        append_line(self.path, record)


@dataclass
class TrackerCallback:
    """Sends losses and learning rate to accelerate's trackers (TensorBoard and others)."""

    accelerator: Accelerator

    def __call__(self, step: TrainingStep) -> None:
        """Log losses by objective and corpus."""
        values = {
            f"{step.objective}/{step.corpus}/{key}": loss for key, loss in step.losses.items()
        }
        values["learning_rate"] = step.learning_rate
        self.accelerator.log(values, step=step.index)


@dataclass
class HeldOutEvaluation:
    """Evaluates held-out text periodically, and stops the run when it no longer improves (XLM, section 5.1).

    measure: returns scores by name, among them the mean of `by`.
    patience: evaluations without improvement before the run stops; 0 never stops it.
    by: `perplexity` or `bleu`.
    best: minimum of the perplexity, or of minus BLEU, so far; bad: evaluations since then.
    """

    measure: Callable[[], dict[str, float]]
    every: int
    patience: int
    progress: Progress
    last: int
    record: Callable[[JsonObject], None]
    by: str = "perplexity"
    best: float = math.inf
    best_step: int = 0
    bad: int = 0

    def due(self, step: int) -> bool:
        """Return whether the weights of a step are evaluated: every `every` steps and after the last."""
        return bool(self.every) and (step % self.every == 0 or step == self.last)

    def __call__(self, step: TrainingStep) -> None:
        """Evaluate if it is due."""
        if not self.due(step.index):
            return
        scores = self.measure()
        self.record({"kind": "evaluation", "step": step.index, "scores": scores})
        means = {
            name.removesuffix("/mean"): score
            for name, score in scores.items()
            if name.endswith("/mean")
        }
        for measure, mean in means.items():
            if step.index == self.last and not math.isfinite(mean):
                raise RunError(
                    f"step {step.index}: {measure} is {mean}: training has diverged; restart with a lower learning "
                    "rate or a longer warm-up"
                )
        shown = ", ".join(f"{measure} {mean:.2f}" for measure, mean in means.items())
        log.info("step %d: %s", step.index, shown or "evaluated")
        sign = 1 if self.by == "perplexity" else -1
        cost = sign * scores.get(f"{self.by}/mean", sign * math.inf)
        if cost < self.best:
            self.best = cost
            self.best_step = step.index
            self.bad = 0
        else:
            self.bad += 1
        if self.patience and self.bad >= self.patience:
            self.progress.stop = True
            self.progress.reason = f"{self.by} has not improved for {self.bad} evaluations"

    def state(self) -> _StoppingState:
        """Return the state of early stopping."""
        best = None if math.isinf(self.best) else self.best
        return {"best": best, "best_step": self.best_step, "bad": self.bad}

    def restore(self, state: _StoppingState) -> None:
        """Restore the state of a checkpoint."""
        self.best = math.inf if state["best"] is None else state["best"]
        self.best_step = state["best_step"]
        self.bad = state["bad"]


@json_record
class _StoppingState(TypedDict):
    best: float | None
    best_step: int
    bad: int


@json_record
class _LossScale(TypedDict):
    scale: float
    growth_factor: float
    backoff_factor: float
    growth_interval: int
    _growth_tracker: int


@json_record
class _LoopState(TypedDict):
    step: int
    drawn: list[int]
    stop: bool
    reason: str
    skipped: int
    tokens: dict[str, int]
    evaluation: _StoppingState | None
    loss_scale: NotRequired[_LossScale | None]


@dataclass
class CheckpointCallback:
    """Saves checkpoints periodically, and when the run stops or ends; must be last, to see the others' states."""

    folder: Path
    every: int
    keep: int
    training: Training
    progress: Progress
    evaluation: HeldOutEvaluation | None = None
    run: str = ""  # the id of the run, of which all checkpoints are

    def due(self, step: int) -> bool:
        """Return whether a checkpoint of a step is saved in any case."""
        return (bool(self.every) and step % self.every == 0) or step == self.training.last

    def __call__(self, step: TrainingStep) -> None:
        """Save a checkpoint if one is due."""
        best = None
        if self.evaluation is not None and self.evaluation.patience:
            best = self.evaluation.best_step
        if not (
            best == step.index
            or self.due(step.index)
            or self.progress.stop
            or self.progress.ended
        ):
            return
        accelerator = self.training.accelerator
        if accelerator.is_main_process:
            model = accelerator.unwrap_model(self.training.model)
            checkpoint.save(
                self.folder,
                step.index,
                model,
                self.training.optimizer,
                self._state(),
            )
            checkpoint.prune(self.folder, self.keep, best, self.due)
        accelerator.wait_for_everyone()

    def _state(self) -> JsonObject:
        """Return what `resume` reads, as a `_LoopState` without the step, and the id of the run."""
        progress = self.progress
        loss_scale = self.training.loss_scale
        return {
            "run": self.run,
            "drawn": progress.drawn,
            "stop": progress.stop,
            "reason": progress.reason,
            "skipped": progress.skipped,
            "tokens": progress.tokens,
            "evaluation": self.evaluation.state() if self.evaluation else None,
            "loss_scale": loss_scale.state_dict() if loss_scale else None,
        }

    def resume(self) -> int:
        """Load the newest usable checkpoint, and return its step (0: none)."""
        step = self._newest()
        if not step:
            return 0
        path = checkpoint.path_of(self.folder, step)
        model = self.training.accelerator.unwrap_model(self.training.model)
        loaded = checkpoint.load(path, model, self.training.optimizer)
        state_path = str(path / checkpoint.STATE)
        state: _LoopState = checked(loaded, _LoopState, state_path)
        sources = len(self.training.mixture.sources)
        if len(state["drawn"]) not in {0, sources}:  # 0: before the first batch
            numbers = f"{len(state['drawn'])} numbers of batches, expected {sources}"
            raise CheckpointError(f"{state_path}: key 'drawn': {numbers}, one for each source")
        progress = self.progress
        progress.done = state["step"]
        progress.drawn = tuple(state["drawn"])
        # a run without early stopping may go on from the last checkpoint of one that had stopped
        if self.evaluation is not None and self.evaluation.patience:
            progress.stop = state["stop"]
            progress.reason = state["reason"]
        progress.skipped = state["skipped"]
        progress.tokens = Counter(state["tokens"])
        if self.evaluation is not None and state["evaluation"] is not None:
            self.evaluation.restore(state["evaluation"])
        loss_scale = self.training.loss_scale
        stored_scale = state.get("loss_scale")
        if loss_scale is not None and stored_scale is not None:
            loss_scale.load_state_dict(dict(stored_scale))
        return step

    def _newest(self) -> int:
        """Return the step of the newest checkpoint that the first process can use; 0: none.

        Raise a CheckpointError if another process does not see the same checkpoint of this run.
        """
        from accelerate.utils import broadcast_object_list

        accelerator = self.training.accelerator
        step = self._newest_usable() if accelerator.is_main_process else 0
        if accelerator.num_processes == 1:
            return step
        # only the first process knows the id of the run
        step, run = broadcast_object_list([step, self.run])
        if step:
            checkpoint.verify(checkpoint.path_of(self.folder, step), run)
        return int(step)

    def _newest_usable(self) -> int:
        """Return the step of the newest checkpoint that is intact and of this run, 0 if there is none at all.

        Others are named in warnings; raise a CheckpointError if only such are there.
        """
        errors = []
        for step in reversed(checkpoint.steps_in(self.folder)):
            try:
                checkpoint.verify(checkpoint.path_of(self.folder, step), self.run)
            except CheckpointError as error:
                log.warning("%s", error)
                errors.append(error)
                continue
            if errors:
                log.warning("resuming from step %d instead", step)
            return step
        if errors:
            raise errors[0]
        return 0
