"""Progress bars on standard error; log lines where there is no terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from interlace.cli import notes, print_line

if TYPE_CHECKING:
    from interlace.training.loop import TrainingStep

log = logging.getLogger(__name__)
LOG_EVERY = 30.0  # seconds between log lines without a terminal


@contextmanager
def watching() -> Iterator[Callable[..., None]]:
    """Yield a progress callback (description, done, total, state); a total of 0 is unknown, the state optional."""
    what, state = TextColumn("{task.description}"), TextColumn("{task.fields[state]}")
    columns = (what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), state)
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        bar = progress.add_task("", total=None, state="")
        logged = time.monotonic()

        def show(what: str, done: int, total: int, state: str = "") -> None:
            nonlocal logged
            progress.update(bar, description=escape(what), completed=done, total=total or None, state=escape(state))
            if not notes.is_terminal and time.monotonic() - logged >= LOG_EVERY:
                logged = time.monotonic()
                log.info("%s: %s%s%s", what, f"{done:,}", f" of {total:,}" * bool(total), f", {state}" * bool(state))

        yield show


@contextmanager
def training_bar(title: str, total: int | None) -> Iterator[Callable[[TrainingStep], None]]:
    """Show tokens per second, remaining time and smoothed losses; yields the callback that advances the bar."""
    losses: dict[str, float] = {}
    speed, last = 0.0, 0
    with resume_hint(), watching() as show:

        def watch(step: TrainingStep) -> None:
            nonlocal speed, last
            if step.index <= last:  # another training run
                losses.clear()
                speed = 0.0
            last = step.index
            now = step.tokens / max(step.seconds, 1e-9)
            speed = now if not speed else 0.95 * speed + 0.05 * now
            for key, loss in step.losses.items() if not step.skipped else ():
                losses[key] = loss if key not in losses else 0.95 * losses[key] + 0.05 * loss
            shown = "".join(f"  {key} {loss:.3f}" for key, loss in losses.items())
            peak = "" if step.peak_share is None else f" ({step.peak_share:.0%} of the peak)"
            rate = f"{step.flops / max(step.seconds, 1e-9) / 1e12:.3g} TFLOP/s{peak}  " if step.flops else ""
            rate += f"{step.memory / 1e9:.1f} GB"
            waiting = f"  waiting {step.waited / max(step.seconds, 1e-9):.0%}"
            show(title, step.index, total or 0, f"{speed / 1000:.1f}k tokens/s  {rate}{waiting}{shown}")

        yield watch


@contextmanager
def resume_hint() -> Iterator[None]:
    """Print how to resume on Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:  # Typer exits with code 130 silently
        print_line("stopped; rerun the same command to resume", notes)
        raise
