"""Updates of Hugging Face's Trainer and of ours by turns, in one process, so that a slow spell meets both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class Turns(TrainerCallback):
    """Times an update of the Trainer, from the end of what came before it, then lets the other side do one.

    other: ours, an update a `next`, which gives its size. size: that of the Trainer's last update, in the same unit.
    theirs, mine: (size, seconds of `clock`) by turn.
    """

    other: Iterator[int]
    size: Callable[[], int]
    clock: Callable[[], float]
    theirs: list[tuple[int, float]] = field(default_factory=list)
    mine: list[tuple[int, float]] = field(default_factory=list)
    start: float = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.start = self.clock()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        middle = self.clock()
        self.theirs.append((self.size(), middle - self.start))
        mine = next(self.other)
        self.start = self.clock()
        self.mine.append((mine, self.start - middle))


def rate(turns: list[tuple[int, float]]) -> float:
    """Units a second over all turns, however unequal they are."""
    sizes, seconds = zip(*turns, strict=True)
    return sum(sizes) / sum(seconds)
