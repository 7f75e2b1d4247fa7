"""Tasks that give pairs of sentences a class each: all but where their pairs come from."""

from __future__ import annotations

import logging
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, did_you_mean
from interlace.data import LabeledExamples, Pairs
from interlace.objectives import BoolOrAuto
from interlace.tasks import Task, Tuning
from interlace.tasks._apart import decontaminate
from interlace.tasks._classification import Classifier, Pooling
from interlace.tasks._encode import encode
from interlace.tasks._files import FileQuery, Files, find_parts
from interlace.tasks._read import log_notes, read_parts
from interlace.text import TextPairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.tasks import Predictions
    from interlace.tasks._files import Named

Chunks = list[tuple["Path", TextPairs]]  # with the file that each comes from

log = logging.getLogger(__name__)


class PairTask(Task):
    """Accuracy over pairs, in percent. Subclass, name the task and its labels, and say how pairs are read."""

    metric: ClassVar[str] = "accuracy"
    also: ClassVar[tuple[str, ...]] = ()
    translatable: ClassVar[bool] = True
    called: ClassVar[str]  # the task's name in errors and logs
    labels: ClassVar[tuple[str, ...]]

    files: Files
    reader: dict[str, Any] | str
    max_length: int = Field(
        256, ge=8, description="Longest row in subwords, at most the model's own (XLM: 256, XTREME: 128)."
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of the vector dropped before the linear layer.")
    pooling: Pooling = Field(
        "first", description="The row's vector: its first state (XLM), their mean, or the largest."
    )
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=5),
        description="How the task is fine-tuned (XTREME's code: 5 epochs, learning rate 2e-5).",
    )

    @abstractmethod
    def pairs(self, asked: FileQuery) -> Chunks:
        """The pairs of one split in one language."""

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> LabeledExamples:
        """Pairs with a label each; those without one are counted and not scored."""
        asked = FileQuery(self.called, split, language, root)
        chunks = decontaminate(self, asked, self.pairs(asked))
        found = encode_pairs(self.called, chunks, self.labels, vocab)
        if split == "train":
            self._warn_of_missing(found, chunks[-1][0])
        return found

    def _warn_of_missing(self, examples: LabeledExamples, path: Path) -> None:
        """A label that nothing is learnt of is never predicted, which scores alone do not tell."""
        there = set() if examples.labels is None else set(examples.labels.tolist())
        missing = [label for number, label in enumerate(self.labels) if number not in there]
        if missing:
            log.warning("%s: %s: no pair labelled %s to learn from", self.called, path, " or ".join(missing))

    def texts(self, split: str, language: str, root: Path) -> list[TextPairs]:
        """Both sentences."""
        return [chunk for _, chunk in self.pairs(FileQuery(self.called, split, language, root))]

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels."""
        return self.labels

    def learner(self) -> Classifier:
        """A classifier of the labels."""
        return Classifier(
            classes=len(self.labels),
            dropout=self.dropout,
            pooling=self.pooling,
            max_length=self.max_length,
            language_ids=self.language_ids,
        )

    def score(self, examples: Any, predictions: Predictions, gold: Predictions) -> dict[str, float]:  # noqa: ARG002
        """`accuracy`."""
        return {"accuracy": accuracy(predictions, gold)}


def read_pairs(files: Named, asked: FileQuery, reader: Mapping[str, Any] | str, languages: list[str]) -> Chunks:
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


def encode_pairs(task: str, chunks: Chunks, classes: Sequence[str], vocab: Vocab) -> LabeledExamples:
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
    return LabeledExamples(Pairs(source, target), labels=labels)


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
