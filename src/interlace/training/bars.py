"""Progress bars of training: tokens per second, remaining time and losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from interlace.core.bars import watching
from interlace.training.steps import TrainingStep

if TYPE_CHECKING:
    from rich.console import Console


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
def training_bar(title: str, console: Console | None = None) -> Iterator[Callable[..., None]]:
    """Show tokens per second, remaining time and smoothed losses.

    Yields the callback that advances the bar; it takes a step, and a title if this is not the training of `title`.
    console: see `watching`.
    """
    state = _TrainingState()
    with watching(console) as show:

        def watch(step: TrainingStep, title: str = title) -> None:
            show(title, step.index, step.last, state.update(step))

        yield watch


@contextmanager
def fine_tuning_bar(
    console: Console | None = None,
) -> Iterator[Callable[[str, int], Callable[[TrainingStep], None]]]:
    """Yield a function that returns the callback for the fine-tuning of a task with a seed."""
    with training_bar("fine-tuning", console) as watch:
        yield lambda task, seed: partial(watch, title=f"fine-tuning {task}, seed {seed}")
