"""The subwords that a language's text is written with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.readers import READERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.tasks._files import Part
    from interlace.text import Text


def subwords_of(parts: Sequence[Part], language: str, vocab: Vocab) -> NDArray[np.int32]:
    """(r,) the ids that occur in text once it is encoded, sorted.

    parts: files of lines, or CoNLL-U by suffix.

    Raises:
        DataError: a file cannot be read, or rows of one are asked for.
    """
    met = np.zeros(vocab.size, np.bool_)
    for sentences in vocab.encode_texts(_texts(parts, language)):
        met[sentences.ids.flat] = True
    return np.flatnonzero(met).astype(np.int32)


def _texts(parts: Sequence[Part], language: str) -> Iterator[Text]:
    for part in parts:
        if part.rows:
            raise DataError(f"{part.path}: whole files tell what a language is written with; leave the rows out")
        reader: Any = READERS.build("conllu" if ".conllu" in part.path.suffixes else "lines")
        yield from reader.read_chunks([part.path], [language])
