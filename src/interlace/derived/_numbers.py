"""Strings as numbers: a loop over millions of tags that never leaves the interpreter's compiled part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


class _Numbers(dict[str, int]):
    """Numbers strings as they are met."""

    def __missing__(self, string: str) -> int:
        self[string] = len(self)
        return self[string]


def numbered(strings: Iterable[str], count: int) -> tuple[NDArray[np.int32], list[str]]:
    """(count,) which string each is, and the strings, each once: one is looked at once, and never copied."""
    numbers = _Numbers()
    return np.fromiter(map(numbers.__getitem__, strings), np.int32, count), list(numbers)
