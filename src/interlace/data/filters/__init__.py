"""Registry of filters: which lines or pairs are worth training on, one rule a file.

A rule says for each line or pair of a chunk whether to keep it. A `FilterChain` applies several rules in turn and
counts the rows that each drops: a line is counted by the first rule that it breaks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.registry import Registry
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs


class Filter(Settings, ABC):
    """One rule. A rule about pairs keeps every line of a single language."""

    @property
    def name(self) -> str:
        """The public name: that of the member's file."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_guest_")

    def memory(self) -> Any:
        """What one pass over a corpus has to remember between chunks; None for a rule that judges a line alone."""
        return None

    @abstractmethod
    def keep(self, chunk: Text | TextPairs, memory: Any = None) -> NDArray[np.bool_]:
        """(n,) which lines or pairs to keep.

        memory: of `memory()`, the same for all chunks of a corpus, in their order.

        Raises:
            DataError: the rule knows too little about a language.
        """


FILTERS: Registry[Filter] = Registry(__name__, "filter", Filter)


def build_filters(rules: Mapping[str, Mapping[str, Any]], where: str = "filters") -> list[Filter]:
    """Filters from their names and settings, in the given order; `where` is named in errors.

    Raises:
        SettingsError: no such filter, or a wrong setting.
    """
    return [FILTERS.build({**settings, "name": name}, f"{where}.{name}") for name, settings in rules.items()]


class FilterChain:
    """Filters at work on one corpus: what they remember, and how many each has dropped so far."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.dropped: Counter[str] = Counter()
        self._rules = [(rule, rule.memory()) for rule in filters]

    def keep(self, chunk: Text | TextPairs, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(n,) which of the rows where `among` holds pass all filters; other rows are never shown to them."""
        kept = among.copy()
        for rule, memory in self._rules:
            passed = rule.keep(chunk.where(kept), memory)
            kept[np.flatnonzero(kept)[~passed]] = False
            if dropped := int((~passed).sum()):
                self.dropped[rule.name] += dropped
        return kept
