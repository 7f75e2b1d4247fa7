"""Registry of filters: rules that drop lines or pairs from training text, one per module.

A `FilterChain` applies several rules in turn and counts the rows that each drops: a row is counted by the first rule
that drops it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.registry import Registry
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs

Keep = Callable[["Text | TextPairs"], "NDArray[np.bool_]"]  # a chunk -> (n,) rows to keep


class Filter(Settings, ABC):
    """One rule. A rule about pairs keeps every line of a single language."""

    @property
    def name(self) -> str:
        """The public name: that of the module."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_plugin_")

    def start(self) -> Keep:
        """Start a pass over a corpus: return the function to call with each chunk, in order.

        The default is `keep`; rules that compare rows across chunks return a function with a state.
        """
        return self.keep

    @abstractmethod
    def keep(self, chunk: Text | TextPairs) -> NDArray[np.bool_]:
        """(n,) which lines or pairs of a single chunk to keep.

        Raises:
            DataError: the scripts of a language are not known.
        """


FILTERS: Registry[Filter] = Registry(__name__, "filter", Filter)


def build_filters(rules: Mapping[str, Mapping[str, Any]], where: str = "filters") -> list[Filter]:
    """Build filters from their names and settings, in the given order; `where` is named in errors.

    Raises:
        SettingsError: no such filter, or a wrong setting.
    """
    return [FILTERS.build({**settings, "name": name}, f"{where}.{name}") for name, settings in rules.items()]


class FilterChain:
    """A pass of several filters over one corpus; `dropped` counts rows by filter."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.dropped: Counter[str] = Counter()
        self._rules = [(rule.name, rule.start()) for rule in filters]

    def keep(self, chunk: Text | TextPairs, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(n,) which rows of the mask `among` pass all filters; the filters do not see other rows."""
        kept = among.copy()
        for name, keep in self._rules:
            passed = keep(chunk.where(kept))
            kept[np.flatnonzero(kept)[~passed]] = False
            if dropped := int((~passed).sum()):
                self.dropped[name] += dropped
        return kept
