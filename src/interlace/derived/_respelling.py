"""Words exchanged for others, type by type, and the share of types that is left alone.

Every map here exchanges words: what a word becomes, becomes that word. So it can be undone by doing it again, and a
type and what it becomes are drawn as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.derived._layout import Layout, respelt
from interlace.text.types import distinct
from interlace.text.words._characters import code_points, line_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from interlace.derived import Derived
    from interlace.text import Text


def exchanged(text: Text, exchange: Callable[[Sequence[str]], list[str]]) -> Derived:
    """Every word as `exchange` spells its type; it is handed all types of the text, each once."""
    words, numbers = distinct(text)
    return respelt(Layout(text), numbers, exchange(words))


def some_of(old: Sequence[str], new: Sequence[str], share: float, key: int) -> list[str]:
    """The new words of a share of all pairs of old and new, and the old words of the others."""
    if share >= 1:
        return list(new)
    pairs = [min(one, other) for one, other in zip(old, new, strict=True)]
    chosen = draws(pairs, key) < share
    return [other if taken else one for one, other, taken in zip(old, new, chosen.tolist(), strict=True)]


def draws(words: Sequence[str], key: int) -> NDArray[np.float64]:
    """A number from 0 to 1 for each word, which hangs on its letters and the key alone."""
    from interlace.derived._keys_kernels import hash_words

    bounds = line_starts(words)
    bits = np.empty(len(words), np.uint64)
    hash_words(code_points(words), bounds[:-1], bounds[1:] - 1, np.uint64(key), bits)
    return (bits >> np.uint64(11)).astype(np.float64) / 2.0**53
