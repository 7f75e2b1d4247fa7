"""A batch as people read it: a line of what the model sees, and below each subword what is asked of it there.

What is asked, an objective tells itself (`Objective.preview`); here it is set in columns.

What the model saw: a few rows of every source as people can read them.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.objectives import token_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.data.vocab import Vocab
    from interlace.objectives import Batch, Objective
    from interlace.training.mixture import Mixture


@dataclass(frozen=True)
class PreviewLine:
    """What is said of some columns of a row."""

    name: str
    cells: Mapping[int, str]


@dataclass(frozen=True)
class BatchPreview:
    """The rows of a batch, several lines each, and what is said of all of it."""

    rows: list[list[PreviewLine]]
    notes: list[str]

    def text(self) -> list[str]:
        """Lines of text: the columns of a row stand below each other, an empty line between rows."""
        width = max((len(line.name) for row in self.rows for line in row), default=0)
        blocks = [_table(row, width) for row in self.rows]
        return [line for block in blocks for line in (*block, "")][:-1] + self.notes


def preview_batch(batch: Batch, vocab: Vocab, objective: Objective, languages: Sequence[str]) -> BatchPreview:
    """Any objective's batch.

    languages: of the two sides, or of the one that there is.
    """
    ids = batch.inputs["input_ids"]
    real = batch.inputs.get("attention_mask", np.ones_like(ids)).astype(bool)
    preview = objective.preview(batch, vocab)
    mixed = batch.sides is not None and not _side_by_side(batch, real, vocab)
    rows = []
    for row, count in enumerate(real.sum(axis=1).tolist()):
        lines = [PreviewLine("reads", dict(enumerate(token_texts(vocab, ids[row, :count]))))]
        if mixed:
            sides = batch.sides[row, :count].tolist()
            lines.append(PreviewLine("language", {column: languages[side] for column, side in enumerate(sides)}))
        lines += _inputs(batch, row, count)
        lines += [PreviewLine(name, found) for name, cells in preview.lines.items() if (found := cells.get(row))]
        rows.append(lines)
    return BatchPreview(rows, [*preview.notes, f"counts: {_counts(batch)}"])


def _side_by_side(batch: Batch, real: Any, vocab: Vocab) -> bool:
    """Whether every row is one side and then the other, with a special between, so that nobody need be told."""
    turns = (np.diff(batch.sides) != 0) & real[:, 1:]
    behind_special = np.isin(batch.inputs["input_ids"][:, :-1], vocab.special_ids)
    return bool((turns.sum(axis=1) == 1).all() and behind_special[turns].all())


def _inputs(batch: Batch, row: int, count: int) -> list[PreviewLine]:
    """What the encoder reads beside the subwords."""
    lines = []
    for key, name in (("position_ids", "position"), ("token_type_ids", "language id"), ("langs", "language id")):
        if key in batch.inputs:
            values = batch.inputs[key][row, :count].tolist()
            lines.append(PreviewLine(name, {column: str(value) for column, value in enumerate(values)}))
    return lines


def _counts(batch: Batch) -> str:
    terms = {name: count for name, count in batch.counts.items() if not name.endswith(("_share", "_ratio"))}
    return ", ".join(f"{term} {count:g}" for term, count in terms.items())


def _table(lines: Sequence[PreviewLine], width: int) -> list[str]:
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


LONGEST = 80  # subwords shown of a row


def training_samples(mixture: Mixture, vocab: Vocab, rows: int = 2) -> list[dict[str, Any]]:
    """The first rows of the first batch of each source, exactly as step 1 would have made them."""
    from interlace.training.mixture import MixtureDraw

    found = []
    for number, source in enumerate(mixture.sources):
        batch = mixture.batch(MixtureDraw(1, number, 0, ()), 0)
        if source.learner.architecture == "seq2seq":
            there = range(min(rows, len(batch.extra["decoder_ids"])))
            shown = [_written(batch, vocab, row, source.language) for row in there]
        else:
            shown = _rows(batch, vocab, rows, source.learner.architecture == "causal")
        found.append({"objective": source.objective, "corpus": source.corpus, "rows": shown})
    return found


def _written(batch: Batch, vocab: Vocab, row: int, corpus: str) -> dict[str, Any]:
    """A row that is read and behind it the one that is written, each on its side of the corpus."""
    read, written = (_real(ids[row], vocab) for ids in (batch.inputs["input_ids"], batch.extra["decoder_ids"]))
    mine = (batch.at[0] == row) & (batch.at[1] < len(written))
    languages = {number: language for language, number in vocab.targets.items()}
    pair = corpus.split("-")
    side = pair.index(languages[int(written[0])]) if len(pair) == 2 else 1
    sides = [1 - side] * len(read) if batch.sides is None else batch.sides[row][: len(read)].tolist()
    return {
        "tokens": vocab.tokens([*read, *written]),
        "at": (batch.at[1][mine] + len(read)).tolist(),
        "targets": vocab.tokens(batch.labels[mine]),
        "changed": [],
        "sides": [*sides, *[side] * len(written)],
    }


def _real(ids: Any, vocab: Vocab) -> Any:
    """A row without padding, as much of it as is shown."""
    return ids[ids != vocab.pad][:LONGEST]


def _rows(batch: Batch, vocab: Vocab, count: int, causal: bool) -> list[dict[str, Any]]:
    ids = batch.inputs["input_ids"]
    real = batch.inputs.get("attention_mask", np.ones_like(ids)).astype(bool)
    return [_row(batch, vocab, row, ids[row][real[row]][:LONGEST], causal) for row in range(min(count, len(ids)))]


def _row(batch: Batch, vocab: Vocab, row: int, ids: Any, causal: bool) -> dict[str, Any]:
    """A row; from left to right nothing is altered, and `targets` are what comes next."""
    mine = (batch.at[0] == row) & (batch.at[1] < len(ids))
    columns, labels = batch.at[1][mine], batch.labels[mine]
    return {
        "tokens": vocab.tokens(ids),
        "at": columns.tolist(),
        "targets": vocab.tokens(labels),
        "changed": [] if causal else columns[ids[columns] != labels].tolist(),
        "sides": [0] * len(ids) if batch.sides is None else batch.sides[row][: len(ids)].tolist(),
    }
