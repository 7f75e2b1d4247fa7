"""A batch as people read it: a line of what the model sees, and below each subword what is asked of it there.

What is asked, an objective tells itself (`Objective.preview`); here it is set in columns.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.objectives import pieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.data.vocab import Vocab
    from interlace.objectives import Batch, Objective


@dataclass(frozen=True)
class Line:
    """What is said of some columns of a row."""

    name: str
    cells: Mapping[int, str]


@dataclass(frozen=True)
class Rendering:
    """The rows of a batch, several lines each, and what is said of all of it."""

    rows: list[list[Line]]
    notes: list[str]

    def text(self) -> list[str]:
        """Lines of text: the columns of a row stand below each other, an empty line between rows."""
        width = max((len(line.name) for row in self.rows for line in row), default=0)
        blocks = [_table(row, width) for row in self.rows]
        return [line for block in blocks for line in (*block, "")][:-1] + self.notes


def render(batch: Batch, vocab: Vocab, objective: Objective, languages: Sequence[str]) -> Rendering:
    """Any objective's batch.

    languages: of the two sides, or of the one that there is.
    """
    ids = batch.inputs["input_ids"]
    real = batch.inputs.get("attention_mask", np.ones_like(ids)).astype(bool)
    preview = objective.preview(batch, vocab)
    mixed = batch.sides is not None and not _side_by_side(batch, real, vocab)
    rows = []
    for row, count in enumerate(real.sum(axis=1).tolist()):
        lines = [Line("reads", dict(enumerate(pieces(vocab, ids[row, :count]))))]
        if mixed:
            sides = batch.sides[row, :count].tolist()
            lines.append(Line("language", {column: languages[side] for column, side in enumerate(sides)}))
        lines += _inputs(batch, row, count)
        lines += [Line(name, found) for name, cells in preview.lines.items() if (found := cells.get(row))]
        rows.append(lines)
    return Rendering(rows, [*preview.notes, f"counts: {_counts(batch)}"])


def _side_by_side(batch: Batch, real: Any, vocab: Vocab) -> bool:
    """Whether every row is one side and then the other, with a special between, so that nobody need be told."""
    turns = (np.diff(batch.sides) != 0) & real[:, 1:]
    behind_special = np.isin(batch.inputs["input_ids"][:, :-1], vocab.special_ids)
    return bool((turns.sum(axis=1) == 1).all() and behind_special[turns].all())


def _inputs(batch: Batch, row: int, count: int) -> list[Line]:
    """What the encoder reads beside the subwords."""
    lines = []
    for key, name in (("position_ids", "position"), ("token_type_ids", "language id"), ("langs", "language id")):
        if key in batch.inputs:
            values = batch.inputs[key][row, :count].tolist()
            lines.append(Line(name, {column: str(value) for column, value in enumerate(values)}))
    return lines


def _counts(batch: Batch) -> str:
    terms = {name: count for name, count in batch.counts.items() if not name.endswith(("_share", "_ratio"))}
    return ", ".join(f"{term} {count:g}" for term, count in terms.items())


def _table(lines: Sequence[Line], width: int) -> list[str]:
    columns = sorted({column for line in lines for column in line.cells})
    widths = {column: max(_cells(line.cells.get(column, "")) for line in lines) for column in columns}
    found = []
    for line in lines:
        cells = [_padded(line.cells.get(column, ""), widths[column]) for column in columns]
        found.append("  ".join([line.name.ljust(width), *cells]).rstrip())
    return found


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))


def _cells(text: str) -> int:
    """Columns of a terminal that a text takes."""
    kept = (character for character in text if not unicodedata.combining(character))
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in kept)
