"""Word types: numbered spellings, which aligners and phrase tables count instead of strings."""

from collections.abc import Iterable

import numpy as np

from interlace.core.ragged import Int32Array, Ragged
from interlace.text import Text
from interlace.text.characters import line_starts


class WordTypes:
    """A growing list of spellings; the number of a type is its position. Case is kept; aligners fold it on types."""

    def __init__(self, spellings: Iterable[str] = ()) -> None:
        self._numbers = {spelling: number for number, spelling in enumerate(spellings)}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def spellings(self) -> list[str]:
        """All spellings by number."""
        return list(self._numbers)

    def number(self, text: Text) -> Ragged:
        """Return the type of each word (one int32 row per line); new spellings are added."""
        spellings, indices = distinct(text)
        return Ragged(self.add(spellings)[indices], text.words.offsets - text.words.offsets[0])

    def add(self, spellings: Iterable[str]) -> Int32Array:
        """(n,) number of each spelling; new ones are added."""
        numbers = self._numbers
        return np.fromiter(
            (numbers.setdefault(spelling, len(numbers)) for spelling in spellings), np.int32
        )

    def find(self, spellings: Iterable[str]) -> Int32Array:
        """(n,) number of each spelling, -1 if unknown."""
        return np.fromiter(
            (self._numbers.get(spelling, -1) for spelling in spellings), np.int32
        )


def distinct(text: Text) -> tuple[list[str], Int32Array]:
    """Return the distinct spellings of a text's words, and (words,) the index of each word's spelling."""
    line_begins = line_starts(text.lines)[text.words.rows()]  # (words,)
    spans = text.words.flat + line_begins[:, None]  # (words, 2) of all lines
    starts = spans[:, 0].tolist()
    ends = spans[:, 1].tolist()
    joined = "\n".join(text.lines)
    words = list(map(joined.__getitem__, map(slice, starts, ends)))
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    indices = np.fromiter(map(numbers.__getitem__, words), np.int32, len(words))
    return list(numbers), indices
