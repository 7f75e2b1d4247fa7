"""The progress bar: rate in real tokens a second, time left, and the latest losses."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from interlace.cli import notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.train.loop import Step


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
    with Progress(*columns, console=notes, transient=True) as progress:
        bar = progress.add_task(title, total=total, rate="", losses="")
        losses: dict[str, float] = {}
        speed = 0.0

        def watch(step: Step) -> None:
            nonlocal speed
            now = step.tokens / max(step.seconds, 1e-9)
            speed = now if not speed else 0.95 * speed + 0.05 * now
            for key, loss in step.losses.items():
                losses[key] = loss if key not in losses else 0.95 * losses[key] + 0.05 * loss
            shown = "  ".join(f"{key} {loss:.3f}" for key, loss in losses.items())
            progress.update(bar, completed=step.index, rate=f"{speed / 1000:.1f}k tokens/s", losses=shown)

        yield watch
