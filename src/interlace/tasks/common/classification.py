"""Sequence classification: one label for a sentence or a pair of sentences, from one vector of the sequence.

    sequence  <s> he plays the piano </s> she sings </s>
    at         *                                            predict: contradiction

XLM and ALM read the first state, whatever the tokenizer calls that token. Mean and max pooling are there to compare
(Conneau & Lample 2019 found them no better).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, did_you_mean
from interlace.data import LabeledExamples, Pairs
from interlace.data.layout import pair_layout, sentence_layout
from interlace.objectives import Batch
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import FineTuneTask, Scores, TaskHead, Tuning
from interlace.tasks.common.files import find_parts
from interlace.tasks.common.reading import ReaderSettings, encode, log_notes, read_parts
from interlace.tasks.common.vectors import Pooling, words_per_line
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from interlace.core.randomness import Generator
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Prepared
    from interlace.tasks.common.files import FileQuery
    from interlace.tasks.common.reading import Chunks


class Classifier(TaskHead):
    """Dropout and a linear layer on one vector of each sequence."""

    term: ClassVar[str] = "classification"

    pooling: Pooling = Field("first", description="The sequence's vector: its first state, or the mean or maximum.")

    def batch(self, examples: LabeledExamples, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Predict the class of every sequence that has a label; nothing is random."""
        if examples.labels is None:
            raise DataError("classification: these examples have no labels")
        inner: Any = examples.examples
        sides = (inner.source, inner.target) if isinstance(inner, Pairs) else (inner,)
        lay_out: Any = pair_layout if isinstance(inner, Pairs) else sentence_layout
        layout = lay_out(inner, prepared.vocab, self.sequence_length(prepared))
        rows = np.flatnonzero(examples.labels >= 0)
        return Batch(
            inputs=self.encoder_inputs(layout, tuple(side.language for side in sides), prepared),
            at=(rows, np.zeros_like(rows)),
            labels=examples.labels[rows].astype(np.int64),
            counts={self.term: float(len(rows))},
            tokens=layout.tokens,
            extra={} if self.pooling == "first" else {"content": layout.content},
        )

    def features(self, backbone: Backbone, batch: Batch) -> Tensor:
        """Return the (N, H) vectors of the sequences; mean and max pooling leave out special tokens."""
        from interlace.models.backbone import pool

        if self.pooling == "first":
            return super().features(backbone, batch)
        return pool(self.states(backbone, batch), batch.extra["content"], self.pooling)[batch.at[0]]


class ClassificationTask(FineTuneTask):
    """Base of tasks that assign a label to a sentence. Metric: accuracy."""

    metric: ClassVar[str] = "accuracy"
    same_scale: ClassVar[tuple[str, ...]] = ()
    translatable: ClassVar[bool] = True
    kind: ClassVar[type[Text | TextPairs]] = Text  # what the reader returns
    labels: ClassVar[tuple[str, ...]] = ()

    reader: ReaderSettings = Field("tsv", description="Reader of the files; must return labels.")
    pooling: Pooling = Field(
        "first", description="The sequence's vector: its first state (XLM), the mean or the maximum."
    )
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=5),
        description="How the task is fine-tuned (XTREME's code: 5 epochs, learning rate 2e-5).",
    )

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels."""
        return self.labels

    def head(self) -> Classifier:
        """Return a classifier of the labels."""
        return self.build_head(Classifier, classes=len(self.classes))

    def read_chunks(self, query: FileQuery) -> Chunks[Any]:
        """Read all rows of the files.

        Raises:
            DataError: a file is missing, or the reader returns no labels.
        """
        kind: Any = self.kind
        chunks = [
            (part.path, chunk)
            for part in find_parts(self.files, query)
            for chunk in read_parts(query.task, self.reader, [part], self.reader_languages(query), kind)
        ]
        for path, chunk in chunks:
            if chunk.labels is None:
                raise DataError(f"{query.task}: {path}: the reader found no labels")
        return chunks

    def reader_languages(self, query: FileQuery) -> list[str]:
        """Return the languages that the reader is called with."""
        return [query.language]

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> LabeledExamples:
        """Encode the rows with their labels; rows without a label are counted and not scored.

        Raises:
            DataError: an unknown label, or no row has a label.
        """
        chunks = self.clean_chunks(self.query(split, language, root))
        labels = np.concatenate([self._label_ids(path, chunk) for path, chunk in chunks])
        path = chunks[0][0]
        log_notes(self.name, path, [{"rows without a label, not scored": int((labels < 0).sum())}])
        if (labels < 0).all():
            raise DataError(f"{self.name}: {path}: no row has a label")
        if self.kind is Text:
            return LabeledExamples(encode((chunk for _, chunk in chunks), vocab), labels=labels)
        source, target = (encode((getattr(chunk, side) for _, chunk in chunks), vocab) for side in ("source", "target"))
        return LabeledExamples(Pairs(source, target), labels=labels)

    def _label_ids(self, path: Path, chunk: Text | TextPairs) -> NDArray[np.int32]:
        """(n,) label numbers, -1 for rows without a label."""
        numbers = {label: number for number, label in enumerate(self.classes)} | {"": -1}
        labels = [label.strip() for label in chunk.labels or []]
        unknown = next((row for row, label in enumerate(labels) if label not in numbers), None)
        if unknown is not None:
            sides = (chunk,) if isinstance(chunk, Text) else (chunk.source, chunk.target)
            text = " and ".join(repr(side.lines[unknown][:60]) for side in sides)
            hint = did_you_mean(labels[unknown], self.classes)
            raise DataError(f"{self.name}: {path}: unknown label {labels[unknown]!r} of {text}{hint}")
        return np.array([numbers[label] for label in labels], np.int32)

    def score(self, examples: LabeledExamples, predictions: Any) -> Scores:
        """Return `accuracy` over the rows that have a label."""
        gold, sides = np.asarray(examples.labels), _sides(examples)
        scored = gold >= 0
        hits = (np.asarray(predictions) == gold) & scored
        outcomes = Examples(
            hits.astype(np.float64),
            scored.astype(np.float64),
            identity_of(gold, *map(words_per_line, sides)),  # two languages may have the same labels
            groups=_groups(sides[0].ids) if len(sides) == 2 else None,
        )
        return Scores({"accuracy": 100 * float(hits[scored].mean())}, outcomes)

    def samples(
        self, vocab: Vocab, examples: LabeledExamples, predictions: Any, rows: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Return the texts of some rows with their gold and predicted labels."""
        names, gold = [*self.classes, "none"], np.asarray(examples.labels)  # -1 is the last
        return [
            {
                "texts": [vocab.decode(side.ids[row]) for side in _sides(examples)],
                "gold": names[int(gold[row])],
                "predicted": names[int(predictions[row])],
            }
            for row in rows.tolist()
        ]


class PairClassificationTask(ClassificationTask):
    """Base of tasks that assign a label to a pair of sentences; both are one sequence, truncated at the longer."""

    kind: ClassVar[type[Text | TextPairs]] = TextPairs


def _sides(examples: LabeledExamples) -> tuple[Any, ...]:
    inner: Any = examples.examples
    return (inner.source, inner.target) if isinstance(inner, Pairs) else (inner,)


def _groups(ids: Any) -> NDArray[np.int64]:
    """(n,) the number of each row's first sentence: pairs that share one are drawn together by a bootstrap."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(np.asarray(row).tobytes(), len(known)) for row in ids], np.int64)
