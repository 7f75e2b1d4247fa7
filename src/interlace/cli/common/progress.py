"""Progress bars on standard error; log lines where there is no terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from interlace.cli import notes

if TYPE_CHECKING:
    from interlace.training.steps import TrainingStep

log = logging.getLogger(__name__)
BAR_WIDTH = 16  # so that 80 columns hold step, remaining time, speed and a loss
LOG_EVERY = 30.0  # seconds between log lines without a terminal


class _Start(NamedTuple):
    """When progress of something was shown first, and how much was done then."""

    what: str
    done: int
    time: float

    def remaining(self, done: int, total: int, now: float) -> str:
        """Return the time left at the mean speed since the start; "" if unknown."""
        if not total or done <= self.done:
            return ""
        left = (total - done) * (now - self.time) / (done - self.done)
        return f"{timedelta(seconds=round(left))} left"


@contextmanager
def watching() -> Iterator[Callable[..., None]]:
    """Yield a progress callback (description, done, total, state); a total of 0 is unknown, the state optional."""
    what = TextColumn("{task.description}")
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # gets the width that step and remaining time leave
    state = TextColumn("{task.fields[state]}", table_column=rest)
    columns = (what, BarColumn(BAR_WIDTH), MofNCompleteColumn(), TimeRemainingColumn(), state)
    with Progress(*columns, console=notes, transient=True, expand=True, disable=not notes.is_terminal) as progress:
        bar = progress.add_task("", total=None, state="")
        logged = time.monotonic()
        start = _Start("", 0, logged)

        def show(what: str, done: int, total: int, state: str = "") -> None:
            nonlocal logged, start
            progress.update(bar, description=escape(what), completed=done, total=total or None, state=escape(state))
            now = time.monotonic()
            if what != start.what or done < start.done:
                start = _Start(what, done, now)
            if not notes.is_terminal and now - logged >= LOG_EVERY:
                logged = now
                count = f"{done:,} of {total:,}" if total else f"{done:,}"
                parts = [count, start.remaining(done, total, now), state]
                log.info("%s: %s", what, ", ".join(filter(None, parts)))

        yield show


@contextmanager
def training_bar(title: str) -> Iterator[Callable[..., None]]:
    """Show tokens per second, remaining time and smoothed losses.

    Yields the callback that advances the bar; it takes a step, and a title if this is not the training of `title`.
    """
    losses: dict[str, float] = {}
    speed, last = 0.0, 0
    with watching() as show:

        def watch(step: TrainingStep, title: str = title) -> None:
            nonlocal speed, last
            if step.index <= last:  # another training run
                losses.clear()
                speed = 0.0
            last = step.index
            now = step.tokens / max(step.seconds, 1e-9)
            speed = now if not speed else 0.95 * speed + 0.05 * now
            for term, loss in step.losses.items() if not step.skipped else ():
                key = term if term == step.objective else f"{step.objective}/{term}"
                losses[key] = loss if key not in losses else 0.95 * losses[key] + 0.05 * loss
            shown = "".join(f"  {key} {loss:.3f}" for key, loss in losses.items())
            peak = "" if step.peak_share is None else f" ({step.peak_share:.0%} of the peak)"
            rate = f"  {step.flops / max(step.seconds, 1e-9) / 1e12:.3g} TFLOP/s{peak}" if step.flops else ""
            memory = f"  {step.memory / 1e9:.1f} GB"
            waiting = f"  waiting {step.waited / max(step.seconds, 1e-9):.0%}"
            show(title, step.index, step.last, f"{speed / 1000:.1f}k tokens/s{shown}{memory}{rate}{waiting}")

        yield watch


@contextmanager
def fine_tuning_bar() -> Iterator[Callable[[str, int], Callable[[TrainingStep], None]]]:
    """Yield a function that returns the callback for the fine-tuning of a task with a seed."""
    with training_bar("fine-tuning") as watch:
        yield lambda task, seed: partial(watch, title=f"fine-tuning {task}, seed {seed}")
