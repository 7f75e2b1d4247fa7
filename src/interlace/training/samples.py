"""What the model saw: a few rows of every source as people can read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.objectives import Batch
    from interlace.training.mixture import Mixture

LONGEST = 80  # subwords shown of a row


def draw_samples(mixture: Mixture, vocab: Vocab, rows: int = 2) -> list[dict[str, Any]]:
    """The first rows of the first batch of each source, exactly as step 1 would have made them."""
    from interlace.training.mixture import Draw

    found = []
    for number, source in enumerate(mixture.sources):
        batch = mixture.batch(Draw(1, number, 0, ()), 0)
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
