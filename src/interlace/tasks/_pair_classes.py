"""Pairs of sentences with a class each, from a task's files: what tasks that classify pairs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.data import Labelled, Pairs
from interlace.errors import DataError, did_you_mean
from interlace.tasks._encode import encode
from interlace.tasks._files import find_parts
from interlace.tasks._read import log_notes, read_parts
from interlace.text import TextPairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.tasks import Predictions
    from interlace.tasks._files import Asked, Named

Chunks = list[tuple["Path", TextPairs]]  # with the file that each comes from


def read_pairs(files: Named, asked: Asked, reader: Mapping[str, Any] | str, languages: list[str]) -> Chunks:
    """All pairs of the files.

    languages: what the reader is asked for: the language, or it twice where the reader makes pairs of two columns only.

    Raises:
        DataError: there are no such files, or the reader gives no labels.
    """
    chunks = [
        (part.path, chunk)
        for part in find_parts(files, asked)
        for chunk in read_parts(asked.task, reader, [part], languages, TextPairs)
    ]
    for path, chunk in chunks:
        if chunk.labels is None:
            raise DataError(f"{asked.task}: {path}: the reader found no labels")
    return chunks


def encode_pairs(task: str, chunks: Chunks, classes: Sequence[str], vocab: Vocab) -> Labelled:
    """Subwords of both sides, and the number of each label among `classes`; -1 where a pair has none, which is counted.

    Raises:
        DataError: a label that is no class, or not one pair has a label.
    """
    labels = np.concatenate([_label_ids(task, path, chunk, classes) for path, chunk in chunks])
    path = chunks[0][0]
    log_notes(task, path, [{"pairs without a label, not scored": int((labels < 0).sum())}])
    if (labels < 0).all():
        raise DataError(f"{task}: {path}: no pair has a label")
    source = encode((chunk.source for _, chunk in chunks), vocab)
    target = encode((chunk.target for _, chunk in chunks), vocab)
    return Labelled(Pairs(source, target), labels=labels)


def accuracy(predictions: Predictions, gold: Predictions) -> float:
    """Percent of the rows with a label (not -1) whose prediction is it."""
    found, right = np.asarray(predictions), np.asarray(gold)
    return 100 * float((found == right)[right >= 0].mean())


def _label_ids(task: str, path: Path, pairs: TextPairs, classes: Sequence[str]) -> NDArray[np.int32]:
    """(n,) label numbers."""
    numbers = {label: number for number, label in enumerate(classes)} | {"": -1}
    labels = [label.strip() for label in pairs.labels or []]
    unknown = next((row for row, label in enumerate(labels) if label not in numbers), None)
    if unknown is not None:
        hint = did_you_mean(labels[unknown], classes)
        pair = f"{pairs.source.lines[unknown][:60]!r} and {pairs.target.lines[unknown][:60]!r}"
        raise DataError(f"{task}: {path}: label {labels[unknown]!r} of {pair}{hint}")
    return np.array([numbers[label] for label in labels], np.int32)
