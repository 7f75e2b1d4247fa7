"""What people are told of a batch beside what the model reads (`interlace preview`); no model sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.data.vocab import Vocab

MASK = "[M]"
_BLANK = "▁"

Cells = dict[int, dict[int, str]]


@dataclass(frozen=True)
class Preview:
    """What is said of a batch.

    lines: name of a line -> row -> column -> what stands there, below the subword of that column.
    notes: sentences about the whole batch.
    """

    lines: Mapping[str, Cells]
    notes: Sequence[str] = field(default_factory=list)


def placed(rows: Any, columns: Any, texts: Sequence[str]) -> Cells:
    """Texts by row and column; `rows` and `columns` are (n,) arrays."""
    found: Cells = {}
    for row, column, text in zip(rows.tolist(), columns.tolist(), texts, strict=True):
        found.setdefault(row, {})[column] = text
    return found


def pieces(vocab: Vocab, ids: Any) -> list[str]:
    """Subwords without the sign of a blank before them; `+` marks one that goes on with a word, where that is told."""
    specials = {int(number) for number in vocab.special_ids}
    names = vocab.tokens(ids)
    blanks = any(name.startswith(_BLANK) for name in names)
    found = []
    for number, name in zip(np.asarray(ids).tolist(), names, strict=True):
        if number == vocab.mask:
            found.append(MASK)
        elif number in specials or not blanks:
            found.append(name)
        else:
            found.append(name.removeprefix(_BLANK) if name.startswith(_BLANK) else f"+{name}")
    return found
