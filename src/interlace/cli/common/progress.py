"""Progress bars on standard error; log lines where there is no terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from interlace.cli import notes

if TYPE_CHECKING:
    from interlace.training.steps import TrainingStep

log = logging.getLogger(__name__)
BAR_WIDTH = 16  # so that 80 columns hold step, remaining time, speed and a loss
LOG_EVERY = 30.0  # seconds between log lines without a terminal


class _Clock:
    """Estimates the remaining time of the current task since it began here, and when to log."""

    def __init__(self) -> None:
        self.logged = time.monotonic()
        self.task = ""
        self.start = self.logged
        self.done_at_start = 0
        self.done = 0

    def update(self, task: str, done: int) -> float:
        """Take the progress of a task, which may be a new one; return the time."""
        now = time.monotonic()
        if task != self.task or done < self.done_at_start:
            self.task = task
            self.start = now
            self.done_at_start = done
        self.done = done
        return now

    def remaining(self, total: int, now: float) -> str:
        """Return the time left at the mean speed since the start; "" if unknown."""
        since_start = self.done - self.done_at_start
        if not total or since_start <= 0:
            return ""
        seconds = (total - self.done) * (now - self.start) / since_start
        return f"{timedelta(seconds=round(seconds))} left"


@contextmanager
def watching() -> Iterator[Callable[..., None]]:
    """Yield a progress callback (description, done, total, state); a total of 0 is unknown, the state optional."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(BAR_WIDTH),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn(
            "{task.fields[state]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")
        ),
    )  # the last one gets the width that the others leave
    with Progress(
        *columns, console=notes, transient=True, expand=True, disable=not notes.is_terminal
    ) as progress:
        bar = progress.add_task("", total=None, state="")
        clock = _Clock()

        def show(task: str, done: int, total: int, state: str = "") -> None:
            progress.update(
                bar,
                description=escape(task),
                completed=done,
                total=total or None,
                state=escape(state),
            )
            now = clock.update(task, done)
            if notes.is_terminal or now - clock.logged < LOG_EVERY:
                return
            clock.logged = now
            if total:
                count = f"{done:,} of {total:,}"
            else:
                count = f"{done:,}"
            parts = [count, clock.remaining(total, now), state]
            log.info("%s: %s", task, ", ".join(part for part in parts if part))

        yield show


class _TrainingState:
    """Smoothed speed and losses of a training run as text for the progress bar."""

    def __init__(self) -> None:
        self.losses: dict[str, float] = {}
        self.speed = 0.0
        self.step = 0

    def update(self, step: TrainingStep) -> str:
        """Take a step, which may be of a new run; return the text."""
        if step.index <= self.step:
            self.losses.clear()
            self.speed = 0.0
        self.step = step.index
        seconds = max(step.seconds, 1e-9)
        self.speed = _smoothed(self.speed or None, step.tokens / seconds)
        if not step.skipped:
            for term, loss in step.losses.items():
                if term == step.objective:
                    key = term
                else:
                    key = f"{step.objective}/{term}"
                self.losses[key] = _smoothed(self.losses.get(key), loss)
        parts = [f"{self.speed / 1000:.1f}k tokens/s"]
        parts += [f"{key} {loss:.3f}" for key, loss in self.losses.items()]
        parts.append(f"{step.memory / 1e9:.1f} GB")
        if step.flops:
            if step.peak_share is None:
                peak = ""
            else:
                peak = f" ({step.peak_share:.0%} of the peak)"
            parts.append(f"{step.flops / seconds / 1e12:.3g} TFLOP/s{peak}")
        parts.append(f"waiting {step.waited / seconds:.0%}")
        return "  ".join(parts)


def _smoothed(average: float | None, value: float) -> float:
    if average is None:
        return value
    return 0.95 * average + 0.05 * value


@contextmanager
def training_bar(title: str) -> Iterator[Callable[..., None]]:
    """Show tokens per second, remaining time and smoothed losses.

    Yields the callback that advances the bar; it takes a step, and a title if this is not the training of `title`.
    """
    state = _TrainingState()
    with watching() as show:

        def watch(step: TrainingStep, title: str = title) -> None:
            show(title, step.index, step.last, state.update(step))

        yield watch


@contextmanager
def fine_tuning_bar() -> Iterator[Callable[[str, int], Callable[[TrainingStep], None]]]:
    """Yield a function that returns the callback for the fine-tuning of a task with a seed."""
    with training_bar("fine-tuning") as watch:
        yield lambda task, seed: partial(watch, title=f"fine-tuning {task}, seed {seed}")
