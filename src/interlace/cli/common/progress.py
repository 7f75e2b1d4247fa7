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
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from interlace.cli import notes

if TYPE_CHECKING:
    from interlace.training.steps import TrainingStep

log = logging.getLogger(__name__)
BAR_WIDTH = 16  # so that 80 columns hold step, remaining time, speed and a loss
LOG_EVERY = 30.0  # seconds between log lines without a terminal


class _LogLines:
    """Logs the progress of tasks at intervals, with the time left at the mean speed since a task began here."""

    def __init__(self) -> None:
        self.logged = time.monotonic()
        self.task = ""
        self.start = self.logged
        self.done_at_start = 0

    def show(self, task: str, done: int, total: int, state: str) -> None:
        """Take the progress of a task, which may be a new one."""
        now = time.monotonic()
        if task != self.task or done < self.done_at_start:
            self.task = task
            self.start = now
            self.done_at_start = done
        if now - self.logged < LOG_EVERY:
            return
        self.logged = now
        line = f"{task}: {done:,}"
        if total:
            line += f" of {total:,}"
        since_start = done - self.done_at_start
        if total and since_start > 0:
            seconds = (total - done) * (now - self.start) / since_start
            line += f", {timedelta(seconds=round(seconds))} left"
        if state:
            line += f", {state}"
        log.info("%s", line)


@contextmanager
def watching() -> Iterator[Callable[..., None]]:
    """Yield a progress callback (description, done, total, state); a total of 0 is unknown, the state optional."""
    state_column = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # the width that is left
    columns = (
        TextColumn("{task.description}"),
        BarColumn(BAR_WIDTH),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[state]}", table_column=state_column),
    )
    with Progress(
        *columns, console=notes, transient=True, expand=True, disable=not notes.is_terminal
    ) as progress:
        bar = progress.add_task("", total=None, state="")
        log_lines = _LogLines()

        def show(task: str, done: int, total: int, state: str = "") -> None:
            progress.update(
                bar,
                description=escape(task),
                completed=done,
                total=total or None,
                state=escape(state),
            )
            if not notes.is_terminal:
                log_lines.show(task, done, total, state)

        yield show


class _TrainingState:
    """Smoothed speed and losses of a training run as text for the progress bar."""

    def __init__(self) -> None:
        self.averages: dict[str, float] = {}
        self.step = 0

    def update(self, step: TrainingStep) -> str:
        """Take a step, which may be of a new run; return the text."""
        if step.index <= self.step:
            self.averages.clear()
        self.step = step.index
        speed = self._smoothed("tokens/s", step.tokens / max(step.seconds, 1e-9))
        if not step.skipped:
            for term, loss in step.losses.items():
                name = term if term == step.objective else f"{step.objective}/{term}"
                self._smoothed(name, loss)
        if speed < 1000:
            parts = [f"{speed:.0f} tokens/s"]
        else:
            parts = [f"{speed / 1000:.1f}k tokens/s"]
        for name, average in self.averages.items():
            if name != "tokens/s":
                parts.append(f"{name} {average:.3f}")
        return "  ".join(parts)

    def _smoothed(self, name: str, value: float) -> float:
        average = self.averages.get(name, value)
        self.averages[name] = 0.95 * average + 0.05 * value
        return self.averages[name]


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
