"""Word types: numbered spellings, which aligners and phrase tables count instead of strings."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from interlace.core.ragged import AnyArray, Int32Array, Ragged
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
    """Return the distinct spellings of a text's words, and (words,) the index of each word's spelling.

    By buffers: pyarrow's conversions from and to numpy import pandas, and ignore Ctrl-C meanwhile.
    """
    encoded = _spelt(text).dictionary_encode()
    indices = encoded.indices
    buffer = indices.buffers()[1] or b""
    values = np.frombuffer(buffer, np.int32)
    end = indices.offset + len(indices)
    spellings = encoded.dictionary.to_pylist()
    return spellings, values[indices.offset : end]


def _spelt(text: Text) -> Any:
    """Return the words as one Arrow array of strings, sliced from the bytes of the lines.

    Words and gaps alternate, because Arrow needs consecutive offsets: of `a bc` the offsets are 0, 1, 2, 4 and the end.
    """
    data = "\n".join([*text.lines, ""]).encode("utf-8", "surrogatepass")
    units = np.frombuffer(data, np.uint8)  # (bytes,)
    begins_character = (units & 0xC0) != 0x80
    first_bytes = np.flatnonzero(begins_character)  # (C,)
    byte_of_character = np.append(first_bytes, len(units))
    line_begins = line_starts(text.lines)[text.words.rows()]  # (W,)
    character_spans = text.words.flat + line_begins[:, None]  # (W, 2) of all lines
    spans = byte_of_character[character_spans]
    offsets = np.append(spans.reshape(-1), len(units)).astype(np.int64)  # (2 W + 1,)
    words_and_gaps = pa.LargeStringArray.from_buffers(
        2 * len(spans), pa.py_buffer(offsets), pa.py_buffer(data)
    )
    word_numbers = np.arange(0, 2 * len(spans), 2)
    return words_and_gaps.take(arrow_numbers(word_numbers))


def arrow_numbers(values: AnyArray) -> Any:
    """Return (n,) numbers as an Arrow array of the same type, by buffers as in `distinct`."""
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, buffer])
