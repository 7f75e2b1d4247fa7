"""Text of a task as subwords: all chunks together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.data.apart import concatenated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.text import Text


def encode(texts: Iterable[Text], vocab: Vocab) -> Sentences:
    """Chunks of text as one column."""
    return concatenated(list(vocab.encode_texts(texts)))
