"""Registry of filters: rules that drop lines or pairs from training text, one per module.

A `FilterChain` applies several rules in turn and counts the rows that each drops: a row is counted by the first rule
that drops it.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np

from interlace.core.json_files import JsonMapping
from interlace.core.ragged import BoolArray, IntArray
from interlace.core.registry import Registry
from interlace.core.settings import RegistryEntry
from interlace.text import Text, TextPairs
from interlace.text.characters import line_starts

Chunk = Text | TextPairs
Mask = BoolArray
Keep = Callable[[Chunk], Mask]  # a chunk -> (n,) rows to keep


class Filter(RegistryEntry, ABC):
    """One rule. A rule about pairs keeps every line of a single language."""

    @property
    def compares_rows(self) -> bool:
        """Whether a row is judged by the rows before it."""
        return type(self).start is not Filter.start

    def start(self) -> Keep:
        """Return the function to call with each chunk of a corpus, in order: `keep`, or one with a state."""
        return self.keep

    @abstractmethod
    def keep(self, chunk: Chunk) -> Mask:
        """(n,) which lines or pairs of a chunk to keep; `script` raises a DataError for unknown languages."""


FILTERS: Registry[Filter] = Registry(__name__, "filter", Filter)


def build_filters(rules: Mapping[str, JsonMapping]) -> list[Filter]:
    """Build filters in the given order; raise a SettingsError if a name or setting is wrong."""
    return [
        FILTERS.build({**settings, "name": name}, f"filters.{name}")
        for name, settings in rules.items()
    ]


class FilterChain:
    """A pass of several filters over one corpus; `dropped` counts rows by filter."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.dropped: Counter[str] = Counter()
        self._rules = [(rule.name, rule.start()) for rule in filters]

    def keep(self, chunk: Chunk, among: Mask) -> Mask:
        """(n,) which rows of the mask `among` pass all filters; the filters do not see other rows."""
        kept = among.copy()
        for name, keep in self._rules:
            passed = keep(chunk.where(kept))
            kept[np.flatnonzero(kept)[~passed]] = False
            dropped = int((~passed).sum())
            if dropped:
                self.dropped[name] += dropped
        return kept


def sides(chunk: Chunk) -> tuple[Text, ...]:
    """Return one text, or the two of pairs."""
    if isinstance(chunk, TextPairs):
        return (chunk.source, chunk.target)
    return (chunk,)


def chunk_of(texts: Sequence[Text]) -> Chunk:
    """Return a single text itself, or two as pairs."""
    if len(texts) == 1:
        return texts[0]
    return TextPairs(texts[0], texts[1])


def on_all_sides(chunk: Chunk, holds: Callable[[Text], Mask]) -> Mask:
    """(n,) where a condition holds on every side."""
    return reduce(np.logical_and, map(holds, sides(chunk)))


def characters(text: Text) -> IntArray:
    """(n,) characters per line."""
    return np.fromiter(map(len, text.lines), np.int64, len(text))


def count_by_line(marks: Mask, lines: Sequence[str]) -> IntArray:
    """(n,) marked characters per line; `marks` cover all lines and their line feeds."""
    if not lines:
        return np.zeros(0, np.int64)
    return np.add.reduceat(
        marks,
        line_starts(lines)[:-1],
        dtype=np.int64,
    )
