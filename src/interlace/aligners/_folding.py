"""Word types as an aligner counts them: case folded or kept, numbered anew, unknown ones told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Fold = Literal["lower", "none"]
UNKNOWN = -1
_OPEN = -2  # not looked up yet


def folded(spelling: str, fold: Fold) -> str:
    """A spelling as the model knows it."""
    return spelling.lower() if fold == "lower" else spelling


class Vocabulary:
    """The folded types of one side, in the order in which they were first added."""

    def __init__(self, fold: Fold, types: Iterable[str] = ()) -> None:
        self.fold = fold
        self._numbers = {spelling: number for number, spelling in enumerate(types)}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def types(self) -> list[str]:
        """All folded spellings by number."""
        return list(self._numbers)

    def add(self, spellings: Iterable[str]) -> NDArray[np.int32]:
        """(n,) the number of each spelling; new ones are added."""
        numbers = self._numbers
        found = (numbers.setdefault(folded(spelling, self.fold), len(numbers)) for spelling in spellings)
        return np.fromiter(found, np.int32)

    def find(self, spellings: Iterable[str]) -> NDArray[np.int32]:
        """(n,) the number of each spelling, UNKNOWN where it is not there."""
        found = (self._numbers.get(folded(spelling, self.fold), UNKNOWN) for spelling in spellings)
        return np.fromiter(found, np.int32)


class Renumbering:
    """From the types of a text to those of a vocabulary; only types that occur are looked up, each once."""

    def __init__(self, spellings: Sequence[str], vocabulary: Vocabulary) -> None:
        self._spellings = spellings
        self._vocabulary = vocabulary
        self._numbers = np.full(len(spellings), _OPEN, np.int32)

    def __call__(self, rows: Ragged, *, grow: bool = False) -> Ragged:
        """The rows in the vocabulary's numbers, with offsets from 0. grow: new types are added to it."""
        return Ragged(self.of(np.asarray(rows.flat), grow=grow), rows.offsets - rows.offsets[0])

    def of(self, types: NDArray[np.integer], *, grow: bool = False) -> NDArray[np.int32]:
        """(n,) the vocabulary's number of each type of the text, UNKNOWN where it has none."""
        if (self._numbers[types] == _OPEN).any():
            occurring = np.zeros(len(self._numbers), bool)
            occurring[types] = True
            new = np.flatnonzero(occurring & (self._numbers == _OPEN))
            look_up = self._vocabulary.add if grow else self._vocabulary.find
            self._numbers[new] = look_up([self._spellings[number] for number in new.tolist()])
        numbers: NDArray[np.int32] = self._numbers[types]
        return numbers
