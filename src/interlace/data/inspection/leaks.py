"""Held-out text that also stands in training text: lines of dev and test sets, compared letter by letter."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from interlace.data.filters._seen import hashes
from interlace.data.inspection import Example, Examples, Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from interlace.text import Text

_FEWEST = 3  # words; shorter lines, such as "Yes.", are the same in any two texts


class HeldOut:
    """The lines of one held-out set in one language; memory grows with these and not with training text."""

    def __init__(self, name: str, language: str) -> None:
        self.name = name
        self.language = language
        self._parts: list[NDArray[np.uint64]] = []
        self._keys = np.zeros(0, np.uint64)
        self._counts = np.zeros(0, np.int64)
        self._met = np.zeros(0, np.bool_)
        self._examples = Examples()

    def add(self, text: Text) -> None:
        """Lines that should not be trained on."""
        self._parts.append(hashes(map(str.strip, text.where(text.words.lengths >= _FEWEST).lines)))

    def close(self) -> None:
        """All lines are there."""
        self._keys, self._counts = np.unique(np.concatenate([self._keys, *self._parts]), return_counts=True)
        self._met = np.zeros(len(self._keys), np.bool_)
        self._parts = []

    def meet(self, keys: NDArray[np.uint64], lines: list[str], where: Callable[[int], str]) -> None:
        """Training lines and their hashes; `where` names the place of each."""
        if not len(self._keys):
            return
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        rows = np.flatnonzero(self._keys[at] == keys)
        fresh = rows[~self._met[at[rows]]]
        self._met[at[rows]] = True
        self._examples.add(len(rows), [partial(_example, where, row, lines[row]) for row in fresh[:3].tolist()])

    def finding(self) -> Finding | None:
        """How many of the held-out lines were met."""
        count, total = int(self._counts[self._met].sum()), int(self._counts.sum())
        if not count:
            return None
        about = f"lines of {self.name} ({self.language}) that are in training text too ({self._examples.count} times)"
        return Finding("warning", "leak", count, total, about, tuple(self._examples.kept))


class Leaks:
    """All held-out sets beside all training text."""

    def __init__(self) -> None:
        self.sets: list[HeldOut] = []

    def hold_out(self, name: str, language: str) -> HeldOut:
        """The set of this name and language, opened where it is new."""
        for known in self.sets:
            if (known.name, known.language) == (name, language):
                return known
        self.sets.append(HeldOut(name, language))
        return self.sets[-1]

    def close(self) -> None:
        """All sets are there; training text may come."""
        for held in self.sets:
            held.close()

    def meet(self, text: Text, where: Callable[[int], str]) -> None:
        """A chunk of training text."""
        mine = [held for held in self.sets if held.language == text.language]
        if mine:
            keys = hashes(map(str.strip, text.lines))
            for held in mine:
                held.meet(keys, text.lines, where)

    def findings(self) -> list[Finding]:
        """One for each set with lines that were met."""
        return [finding for held in self.sets if (finding := held.finding()) is not None]


def _example(where: Callable[[int], str], row: int, line: str) -> Example:
    return Example.of(where(row), line)
