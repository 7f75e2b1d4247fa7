"""Counts of a step, summed over micro-batches and processes, as long as all of them count the same things.

Processes add numbers up by their place in a vector, so a name that one batch has and another has not would be added to
something else without a word. The first batch that a source (an objective on a corpus) gives says what it counts. Those
of all processes are compared then, and each later one with the first of its own process; one number more in every sum
tells all processes whether somewhere one differed, so that all of them stop and none waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import torch

from interlace.core.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accelerate import Accelerator

    from interlace.objectives import Batch
    from interlace.training.mixture import Source

IN = "tokens in "  # before a language, among the counts of a step

Counts = dict[str, float]
Names = tuple[str, ...]
T = TypeVar("T")

_DIFFERS = "differs"


class Counting:
    """Sums of counts over a run; it remembers what the batches of each source count."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._first: dict[str, Names] = {}  # source -> what its batches count

    def of(self, source: Source, batches: Sequence[Batch]) -> Counts:
        """Predictions by term, `tokens`, `rows` and subwords by language of a step, over all processes.

        Raises:
            RunError: a batch counts other things than the first of its source, or than those of another process.
        """
        each = [_counts(batch) for batch in batches]
        if source.name not in self._first:
            self._first[source.name] = self._agreed(source, tuple(each[0]))
        first = self._first[source.name]
        other = next((tuple(counts) for counts in each if tuple(counts) != first), None)
        sums = {name: sum(counts.get(name, 0.0) for counts in each) for name in first}
        total = self.reduced({**sums, _DIFFERS: float(other is not None)})
        if total.pop(_DIFFERS):
            found = next(names for names in self._everyone(other) if names is not None)
            raise RunError(_message(source, first, found))
        return total

    def reduced(self, counts: Mapping[str, float]) -> Counts:
        """Sums over all processes, which have the same names in the same order."""
        if self._accelerator.num_processes == 1:
            return dict(counts)
        values = torch.tensor(list(counts.values()), dtype=torch.float64, device=self._accelerator.device)
        return dict(zip(counts, self._accelerator.reduce(values, "sum").tolist(), strict=True))

    def _agreed(self, source: Source, mine: Names) -> Names:
        """What all processes count."""
        everyone = self._everyone(mine)
        for names in everyone:
            if names != everyone[0]:
                raise RunError(_message(source, everyone[0], names))
        return mine

    def _everyone(self, mine: T) -> list[T]:
        """What each process has; all of them must ask."""
        if self._accelerator.num_processes == 1:
            return [mine]
        from accelerate.utils import gather_object

        return list(gather_object([mine]))


def _counts(batch: Batch) -> Counts:
    languages = {IN + language: float(count) for language, count in batch.languages.items()}
    return {"tokens": float(batch.tokens), "rows": float(len(batch.inputs["input_ids"])), **batch.counts, **languages}


def _message(source: Source, first: Names, other: Names) -> str:
    return (
        f"{source.name}: its first batch counts {_listed(first)}, another one {_listed(other)}; "
        f"{source.objective}.batch must give the same `counts` and `languages`, in the same order, for every batch "
        "of a corpus (0 where there is none)"
    )


def _listed(names: Names) -> str:
    return ", ".join(repr(name.removeprefix(IN)) for name in names if name not in {"tokens", "rows"}) or "nothing"
