"""Words that a mark stands inside, such as `3.50` and `U.S.`, as one word each, whatever word tokenizer parted them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.derived._layout import Layout
from interlace.derived._sentences import sentences

if TYPE_CHECKING:
    from interlace.text import Text


def whole(text: Text) -> Text:
    """The text with each end mark that ends nothing in one word with what it touches.

    So its words may stand apart and no such mark is taken for an end. Text with tags has the words that its file
    tells, and stays as it is.
    """
    if text.tags:
        return text
    layout = Layout(text)
    joined = sentences(layout, "marks", keep=True).joined
    first = ~np.append(False, joined)[:-1]
    spans = np.stack([text.words.flat[first, 0], text.words.flat[~joined, 1]], axis=1)
    return replace(text, words=Ragged.from_lengths(spans, np.bincount(layout.rows[first], minlength=len(text))))
