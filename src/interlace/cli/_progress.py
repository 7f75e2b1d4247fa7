"""The progress bar: rate in real tokens a second, time left, and the latest losses; in a log a line now and then."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from interlace.cli import notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.train.loop import Step

log = logging.getLogger(__name__)
LOG_EVERY = 30.0  # seconds between lines where no terminal shows a bar


@contextmanager
def training_bar(title: str, total: int | None) -> Iterator[Callable[[Step], None]]:
    """A bar on standard error; yields the observer that moves it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[rate]}  {task.fields[losses]}"),
    )
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        bar = progress.add_task(title, total=total, rate="", losses="")
        losses: dict[str, float] = {}
        speed = 0.0
        logged = time.monotonic()

        def watch(step: Step) -> None:
            nonlocal speed, logged
            now = step.tokens / max(step.seconds, 1e-9)
            speed = now if not speed else 0.95 * speed + 0.05 * now
            for key, loss in step.losses.items():
                losses[key] = loss if key not in losses else 0.95 * losses[key] + 0.05 * loss
            shown = "  ".join(f"{key} {loss:.3f}" for key, loss in losses.items())
            rate = f"{speed / 1000:.1f}k tokens/s"
            progress.update(bar, completed=step.index, rate=rate, losses=shown)
            if not notes.is_terminal and time.monotonic() - logged >= LOG_EVERY:
                logged = time.monotonic()
                log.info("%s: step %d%s, %s  %s", title, step.index, f" of {total}" if total else "", rate, shown)

        try:
            yield watch
        except KeyboardInterrupt:  # Typer turns it into exit code 130 without a word
            notes.print("stopped; the same command goes on from what is saved", highlight=False)
            raise
