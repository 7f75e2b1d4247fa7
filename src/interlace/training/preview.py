"""Batches as people read them: aligned lines for the terminal, and sample sequences for the report."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.data.vocab import Vocab
from interlace.objectives import Batch, Objective, token_texts

if TYPE_CHECKING:
    from interlace.training.mixture import Mixture

MAX_TOKENS = 80  # of a sequence in a sample

_INPUTS = (("position_ids", "position"), ("token_type_ids", "language id"), ("langs", "language id"))


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
        margin, found = max((len(line.name) for row in self.rows for line in row), default=0), []
        for lines in self.rows:
            columns = sorted({column for line in lines for column in line.cells})
            widths = {column: max(_width(line.cells.get(column, "")) for line in lines) for column in columns}
            for line in lines:
                texts = {column: line.cells.get(column, "") for column in columns}
                cells = [text + " " * (widths[column] - _width(text)) for column, text in texts.items()]
                found.append("  ".join([line.name.ljust(margin), *cells]).rstrip())
            found.append("")
        return found[:-1] + self.notes


def preview_batch(batch: Batch, vocab: Vocab, objective: Objective, languages: Sequence[str]) -> BatchPreview:
    """Return the preview of a batch; `languages` are those of its sides."""
    ids = batch.inputs["input_ids"]
    real = batch.inputs.get("attention_mask", np.ones_like(ids)).astype(bool)
    preview = objective.preview(batch, vocab)
    mixed = batch.sides is not None
    if mixed:  # one side, a special token, and the other side need no language line
        turns = (np.diff(batch.sides) != 0) & real[:, 1:]
        special = np.isin(ids, vocab.special_ids)
        mixed = not bool((turns.sum(axis=1) == 1).all() and (special[:, :-1] | special[:, 1:])[turns].all())
    rows = []
    for row, columns in enumerate(map(np.flatnonzero, real)):
        texts = {"reads": token_texts(vocab, ids[row, columns])}
        if mixed:
            texts["language"] = [languages[side] for side in batch.sides[row, columns]]
        for key, name in _INPUTS:
            if key in batch.inputs:
                texts[name] = list(map(str, batch.inputs[key][row, columns].tolist()))
        lines = [PreviewLine(name, dict(zip(columns.tolist(), cells, strict=True))) for name, cells in texts.items()]
        lines += [PreviewLine(name, found) for name, cells in preview.lines.items() if (found := cells.get(row))]
        rows.append(lines)
    terms = {name: count for name, count in batch.counts.items() if not name.endswith(("_share", "_ratio"))}
    counts = ", ".join(f"{term} {count:g}" for term, count in terms.items())
    return BatchPreview(rows, [*preview.notes, f"counts: {counts}"])


def _width(text: str) -> int:
    """Return the terminal columns that a text takes."""
    kept = (character for character in text if not unicodedata.combining(character))
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in kept)


def training_samples(mixture: Mixture, vocab: Vocab, rows: int = 2) -> list[dict[str, Any]]:
    """Return the first sequences of the first batch of each source, exactly as step 1 would build them."""
    found = []
    for number, source in enumerate(mixture.sources):
        batch = mixture.first_batch(number)
        if source.learner.architecture == "seq2seq":
            count = min(rows, len(batch.extra["decoder_ids"]))
            shown = [_translation(batch, vocab, row, source.language) for row in range(count)]
        else:
            shown = _sequences(batch, vocab, rows, source.learner.architecture == "causal")
        found.append({"objective": source.objective, "corpus": source.corpus, "rows": shown})
    return found


def _translation(batch: Batch, vocab: Vocab, row: int, corpus: str) -> dict[str, Any]:
    """Return a source and, after it, its target, each on its side of the corpus."""
    source, target = (
        ids[row][ids[row] != vocab.pad][:MAX_TOKENS] for ids in (batch.inputs["input_ids"], batch.extra["decoder_ids"])
    )
    mine = (batch.at[0] == row) & (batch.at[1] < len(target))
    languages = {number: language for language, number in vocab.targets.items()}
    pair = corpus.split("-")
    side = pair.index(languages[int(target[0])]) if len(pair) == 2 else 1
    sides = [1 - side] * len(source) if batch.sides is None else batch.sides[row][: len(source)].tolist()
    return {
        "tokens": vocab.tokens([*source, *target]),
        "at": (batch.at[1][mine] + len(source)).tolist(),
        "targets": vocab.tokens(batch.labels[mine]),
        "changed": [],
        "sides": [*sides, *[side] * len(target)],
    }


def _sequences(batch: Batch, vocab: Vocab, count: int, causal: bool) -> list[dict[str, Any]]:
    """Return sequences with their targets; causal ones have no changed tokens."""
    ids = batch.inputs["input_ids"]
    real = batch.inputs.get("attention_mask", np.ones_like(ids)).astype(bool)
    sides = np.zeros_like(ids) if batch.sides is None else batch.sides
    found = []
    for row in range(min(count, len(ids))):
        tokens = ids[row][real[row]][:MAX_TOKENS]
        places = (np.cumsum(real[row]) - 1)[batch.at[1]]  # without padding, also between two sides
        mine = (batch.at[0] == row) & (places < len(tokens))
        columns, labels = places[mine], batch.labels[mine]
        found.append(
            {
                "tokens": vocab.tokens(tokens),
                "at": columns.tolist(),
                "targets": vocab.tokens(labels),
                "changed": [] if causal else columns[tokens[columns] != labels].tolist(),
                "sides": sides[row][real[row]][: len(tokens)].tolist(),
            }
        )
    return found
