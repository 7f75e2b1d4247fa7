"""What the model saw: a few rows of every source as people can read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.objectives import Batch
    from interlace.train.mixture import Mixture

LONGEST = 80  # subwords shown of a row


def draw_samples(mixture: Mixture, vocab: Vocab, rows: int = 2) -> list[dict[str, Any]]:
    """The first rows of the first batch of each source, exactly as step 1 would have made them."""
    from interlace.train.mixture import Draw

    return [
        {
            "objective": source.objective,
            "corpus": source.corpus,
            "rows": _rows(mixture.batch(Draw(1, number, 0, ()), 0), vocab, rows, source.learner.backbone == "causal"),
        }
        for number, source in enumerate(mixture.sources)
    ]


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
