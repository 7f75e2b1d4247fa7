"""Drops what was there before: pairs, lines, or pairs with a side that was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from interlace.data.filters import Filter
from interlace.data.filters._seen import Seen, hashes
from interlace.data.filters._sides import sides

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs


class Duplicates(Filter):
    """The first of equal ones is kept. White space at the ends does not count; eight bytes a line are remembered."""

    by: Literal["pair", "source", "target", "either"] = Field(
        "pair", description="What must not repeat: the pair, one side, or either of both sides. A line is a pair alone."
    )
    ignore_case: bool = Field(False, description="Whether lines that differ in case alone are equal.")

    def memory(self) -> tuple[Seen, Seen]:
        """What was met on each side; pairs stand in the first."""
        return Seen(), Seen()

    def keep(self, chunk: Text | TextPairs, memory: Any = None) -> NDArray[np.bool_]:
        """(n,) where it is new."""
        source, target = memory or self.memory()
        columns = [self._shaped(text) for text in sides(chunk)]
        if len(columns) == 1 or self.by == "source":
            return np.asarray(source.add(hashes(columns[0])))
        if self.by == "target":
            return np.asarray(target.add(hashes(columns[1])))
        if self.by == "pair":
            return np.asarray(source.add(hashes(map("\n".join, zip(*columns, strict=True)))))
        return _new_on_both(source, target, hashes(columns[0]), hashes(columns[1]))

    def _shaped(self, text: Text) -> list[str]:
        lines = [line.strip() for line in text.lines]
        return [line.casefold() for line in lines] if self.ignore_case else lines


def _new_on_both(
    source: Seen, target: Seen, sources: NDArray[np.uint64], targets: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Where neither side was met in a pair that is kept; pairs of the chunk are judged in their order."""
    free = ~(source.has(sources) | target.has(targets))
    met: tuple[set[int], set[int]] = (set(), set())
    for row in np.flatnonzero(free).tolist():
        pair = int(sources[row]), int(targets[row])
        free[row] = pair[0] not in met[0] and pair[1] not in met[1]
        if free[row]:
            met[0].add(pair[0])
            met[1].add(pair[1])
    source.add(sources[free])
    target.add(targets[free])
    return free
