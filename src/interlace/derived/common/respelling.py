"""Respelling of words type by type, and word lists.

Every map exchanges words: if `a` becomes `b`, `b` becomes `a`. So it is its own inverse, and random choices treat a
word and its replacement as one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.core.files import must_exist
from interlace.derived.common.layout import TextLayout, respell
from interlace.text.lines import read_lines
from interlace.text.types import distinct
from interlace.text.word_tokenizers.common.characters import code_points, line_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.derived.common.texts import DerivedText
    from interlace.text import Text


def respelled(text: Text, spell: Callable[[Sequence[str]], list[str]]) -> DerivedText:
    """Spell every word as `spell` spells its type; it gets each type of the text once."""
    words, numbers = distinct(text)
    return respell(TextLayout(text), numbers, spell(words))


def uniform(words: Sequence[str], key: int) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each word, which depends on its letters and the key alone."""
    from interlace.derived.common.kernels import hash_words

    bounds = line_starts(words)
    bits = np.empty(len(words), np.uint64)
    hash_words(code_points(words), bounds[:-1], bounds[1:] - 1, np.uint64(key), bits)
    return (bits >> np.uint64(11)).astype(np.float64) / 2.0**53


def pair_uniform(old: Sequence[str], new: Sequence[str], key: int) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each pair of a word and its replacement, the same in both directions."""
    return uniform([min(one, other) for one, other in zip(old, new, strict=True)], key)


def read_words(path: Path) -> tuple[str, ...]:
    """Return the first column of a file, each word once, in order.

    Raises:
        DataError: the file is missing or empty, or a line has no word; names the line.
    """
    stat = must_exist(path).stat()
    return _read(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, _size: int, _mtime: int) -> tuple[str, ...]:
    words: dict[str, None] = {}
    for number, line in enumerate(read_lines(path), 1):
        word = line.partition("\t")[0].strip()
        if not word:
            raise DataError(f"{path}, line {number}: no word in the first column")
        words[word] = None
    return tuple(words)
