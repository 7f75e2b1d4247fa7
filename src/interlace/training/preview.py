"""Batches as people read them: aligned lines for the terminal, and sample sequences for the report."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.json_files import JsonObject
from interlace.core.ragged import BoolArray
from interlace.data.vocab import Vocab
from interlace.objectives import Batch, Objective, token_texts

if TYPE_CHECKING:
    from interlace.training.mixture import Mixture

MAX_TOKENS = 80  # of a sequence in a sample

_INPUTS = (
    ("position_ids", "position"),
    ("token_type_ids", "language id"),
    ("langs", "language id"),
)


@dataclass(frozen=True)
class PreviewLine:
    """A line of text by column of a sequence."""

    name: str
    cells: Mapping[int, str]


@dataclass(frozen=True)
class BatchPreview:
    """The sequences of a batch, several lines each, and notes on the batch."""

    rows: list[list[PreviewLine]]
    notes: list[str]

    def text(self) -> list[str]:
        """Return lines of text with aligned columns, and an empty line between sequences."""
        margin = max((len(line.name) for lines in self.rows for line in lines), default=0)
        text: list[str] = []
        for lines in self.rows:
            if text:
                text.append("")
            text += _aligned(lines, margin)
        return text + self.notes


def _aligned(lines: list[PreviewLine], margin: int) -> list[str]:
    """Return the lines of a sequence as text with aligned columns, after their names in `margin` characters."""
    widths: dict[int, int] = {}  # column -> terminal columns
    for line in lines:
        for column, cell in line.cells.items():
            widths[column] = max(widths.get(column, 0), _width(cell))
    text = []
    for line in lines:
        cells = [line.name.ljust(margin)]
        for column in sorted(widths):
            cell = line.cells.get(column, "")
            cells.append(cell + " " * (widths[column] - _width(cell)))
        text.append("  ".join(cells).rstrip())
    return text


def preview_batch(
    batch: Batch, vocab: Vocab, objective: Objective, languages: Sequence[str]
) -> BatchPreview:
    """Return the preview of a batch; `languages` are those of its sides."""
    ids = batch.inputs["input_ids"]
    real = _real_tokens(batch)
    preview = objective.preview(batch, vocab)
    mixed = _is_mixed(batch, real, vocab)
    rows = []
    for row in range(len(ids)):
        columns = np.flatnonzero(real[row])
        texts = {"reads": token_texts(vocab, ids[row, columns])}
        if mixed:
            texts["language"] = [languages[side] for side in batch.sides[row, columns]]
        for key, name in _INPUTS:
            if key in batch.inputs:
                texts[name] = [
                    str(number) for number in batch.inputs[key][row, columns].tolist()
                ]
        lines = [
            PreviewLine(name, dict(zip(columns.tolist(), cells, strict=True)))
            for name, cells in texts.items()
        ]
        for name, cells_of_rows in preview.lines.items():
            if cells_of_rows.get(row):
                lines.append(PreviewLine(name, cells_of_rows[row]))
        rows.append(lines)
    counts = []
    for term, count in batch.counts.items():
        if not term.endswith(("_share", "_ratio")):
            counts.append(f"{term} {count:g}")
    return BatchPreview(rows, [*preview.notes, f"counts: {', '.join(counts)}"])


def _real_tokens(batch: Batch) -> BoolArray:
    """Return (B, L) false at padding."""
    mask = batch.inputs.get("attention_mask", np.ones_like(batch.inputs["input_ids"]))
    return np.asarray(mask, np.bool_)


def _is_mixed(batch: Batch, real: BoolArray, vocab: Vocab) -> bool:
    """Return whether sequences need a language line: not if each is one side, a special token, and the other side."""
    if batch.sides is None:
        return False
    # (B, L - 1) where the side is not that of the token before
    changes = (np.diff(batch.sides) != 0) & real[:, 1:]
    special = np.isin(batch.inputs["input_ids"], vocab.special_ids)
    at_special = special[:, :-1] | special[:, 1:]
    return not bool((changes.sum(axis=1) == 1).all() and at_special[changes].all())


def _width(text: str) -> int:
    """Return the terminal columns that a text takes."""
    width = 0
    for character in text:
        if unicodedata.combining(character):
            continue
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def training_samples(mixture: Mixture, vocab: Vocab) -> list[JsonObject]:
    """Return the first sequence of each source, as step 1 would build it: its first tokens by line of the preview."""
    samples = []
    for number, source in enumerate(mixture.sources):
        languages = source.language.split("-")
        preview = preview_batch(mixture.first_batch(number), vocab, source.learner, languages)
        columns = sorted({column for line in preview.rows[0] for column in line.cells})
        lines = {}
        for line in preview.rows[0]:
            lines[line.name] = [line.cells.get(column, "") for column in columns[:MAX_TOKENS]]
        samples.append({"objective": source.objective, "corpus": source.corpus, "lines": lines})
    return samples
