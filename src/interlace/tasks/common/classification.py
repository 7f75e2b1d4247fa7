"""Classification of sentences, of pairs of sentences, and of words, by a linear layer on states of the encoder.

    sequence  <s> he plays the piano </s> she sings </s>
    at         *                                            predict: contradiction

    sequence  <s> the doc tors read let ters </s>
    at             *   *       *    *                       predict: DET NOUN VERB NOUN

A sequence is read from its first state, whatever the tokenizer calls that token (XLM, ALM); mean and max pooling are
there to compare (Conneau & Lample 2019 found them no better). A word is read from its first subword (Devlin et al.
2019, section 5.3); one beyond the maximum sequence length has no prediction (-1) and is wrong.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import BoolArray, Int32Array, Ragged, distinct_rows
from interlace.core.randomness import Generator
from interlace.data import LabeledExamples, Pairs, Sentences
from interlace.data.filters import sides
from interlace.data.layout import pair_layout, sentence_layout
from interlace.objectives import Batch
from interlace.scores import MAJORITY
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import FineTuneTask, Scores, TaskHead, Tuning
from interlace.tasks.common.files import Chunks, FileQuery, ReaderSettings, encode, log_notes
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Prepared

Pooling = Literal["first", "mean", "max"]


class Classifier(TaskHead):
    """Dropout and a linear layer on one vector of each sequence."""

    term = "classification"

    pooling: Pooling = Field(
        "first", description="The sequence's vector: its first state, or the mean or maximum."
    )

    def batch(
        self,
        examples: LabeledExamples,
        prepared: Prepared,
        step: int,  # noqa: ARG002
        rng: Generator,  # noqa: ARG002
    ) -> Batch:
        """Predict the class of every sequence that has a label; nothing is random."""
        if examples.labels is None:
            raise DataError("classification: these examples have no labels")
        lay_out: Any = pair_layout if isinstance(examples.examples, Pairs) else sentence_layout
        layout = lay_out(examples.examples, prepared.vocab, self.sequence_length(prepared))
        languages = tuple(side.language for side in _sides(examples))
        rows = np.flatnonzero(examples.labels >= 0)
        extra = {}
        if self.pooling != "first":
            extra["content"] = layout.content
        return Batch.of(
            layout,
            languages,
            prepared,
            at=(rows, np.zeros_like(rows)),
            labels=examples.labels[rows].astype(np.int64),
            counts={self.term: float(len(rows))},
            extra=extra,
        )

    def features(self, backbone: Backbone, batch: Batch) -> Tensor:
        """Return the (N, H) vectors of the sequences; mean and max pooling leave out special tokens."""
        from interlace.models.backbone import pool

        if self.pooling == "first":
            return super().features(backbone, batch)
        states = backbone.encode(batch.inputs)
        return pool(states, batch.extra["content"], self.pooling)[batch.at[0]]


class ClassificationTask(FineTuneTask):
    """Base of tasks that assign a label to a sentence. Metric: accuracy, beside that of the most frequent class."""

    metric = "accuracy"
    other_scales = {MAJORITY: ("%", None)}
    translatable = True
    text_type: ClassVar[type[Text | TextPairs]] = Text
    unreadable: ClassVar[str] = "an empty sentence"  # what `is_readable` rejects
    labels: ClassVar[tuple[str, ...]] = ()

    reader: ReaderSettings = Field(
        "tsv", description="Reader of the files; must return labels."
    )
    pooling: Pooling = Field(
        "first", description="The sequence's vector: its first state (XLM), mean or maximum."
    )
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=5),
        description="How the task is fine-tuned (XTREME's code: 5 epochs, learning rate 2e-5).",
    )

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels."""
        return self.labels

    def read_chunks(self, query: FileQuery) -> Chunks[Any]:
        """Read the rows that can be classified, and count the others; raise a DataError if there is none.

        Rows with an empty sentence occur in machine-translated training files, as those of PAWS-X and XNLI. Test rows
        with one are kept: a translation that failed costs its score.
        """
        chunks = super().read_chunks(query)
        readable_chunks = []
        for path, chunk in chunks:
            rows = zip(*(side.lines for side in sides(chunk)), strict=True)
            readable = np.array([self.is_readable(query.split, *row) for row in rows], np.bool_)
            left_out = int((~readable).sum())
            log_notes(self.name, path, {f"rows with {self.unreadable} left out": left_out})
            if readable.any():
                readable_chunks.append((path, chunk.where(readable)))
        if not readable_chunks:
            raise DataError(f"{self.name}: {chunks[0][0]}: all rows have {self.unreadable}")
        return readable_chunks

    def is_readable(self, split: str, *sentences: str) -> bool:
        """Return whether a row of a split can be classified: outside of test sets no sentence is empty."""
        return split == "test" or all(sentence.strip() for sentence in sentences)

    def head(self) -> Classifier:
        """Return a classifier of the labels."""
        return self.build_head(Classifier, classes=len(self.classes))

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> LabeledExamples:
        """Encode labeled rows, count others; raise a DataError about an unknown label, or if there is none."""
        chunks = self.clean_chunks(self.query(split, language, root))
        labels = np.concatenate([self._label_ids(path, chunk) for path, chunk in chunks])
        path = chunks[0][0]
        log_notes(
            self.name, path, {"rows without a label, not scored": int((labels < 0).sum())}
        )
        if (labels < 0).all():
            raise DataError(f"{self.name}: {path}: no row has a label")
        texts = [chunk for _, chunk in chunks]
        if self.text_type is Text:
            return LabeledExamples(encode(texts, vocab), labels=labels)
        source = encode([pairs.source for pairs in texts], vocab)
        target = encode([pairs.target for pairs in texts], vocab)
        return LabeledExamples(Pairs(source, target), labels=labels)

    def _label_ids(self, path: Path, chunk: Text | TextPairs) -> Int32Array:
        """(n,) label numbers, -1 for rows without a label."""
        if chunk.labels is None:
            raise DataError(f"{self.name}: {path}: the reader found no labels")
        numbers = {"": -1}
        for number, label in enumerate(self.classes):
            numbers[label] = number
        label_ids = np.zeros(len(chunk), np.int32)
        for row, cell in enumerate(chunk.labels):
            label = cell.strip()
            if label not in numbers:
                text = " and ".join(repr(side.lines[row][:60]) for side in sides(chunk))
                hint = did_you_mean(label, self.classes)
                raise DataError(f"{self.name}: {path}: unknown label {label!r} of {text}{hint}")
            label_ids[row] = numbers[label]
        return label_ids

    def score(self, examples: LabeledExamples, predictions: Any) -> Scores:
        """Return `accuracy` of labeled rows and the majority share; a bootstrap draws equal first sentences at once."""
        gold = np.asarray(examples.labels)
        sentences = _sides(examples)
        is_scored = gold >= 0
        hits = (np.asarray(predictions) == gold) & is_scored
        word_counts = [side.word_counts for side in sentences if side.word_counts is not None]
        identity = identity_of(gold, *word_counts)  # two languages may have the same labels
        groups = distinct_rows(sentences[0].ids)[0] if len(sentences) == 2 else None
        majority = np.bincount(gold[is_scored]).max() / is_scored.sum()
        metrics = {
            "accuracy": 100 * float(hits[is_scored].mean()),
            MAJORITY: 100 * float(majority),
        }
        score = hits.astype(np.float64)
        weight = is_scored.astype(np.float64)
        return Scores(metrics, Examples(score, weight, identity, groups=groups))


class PairClassificationTask(ClassificationTask):
    """Base of tasks that assign a label to a pair of sentences; both are one sequence, truncated at the longer."""

    text_type: ClassVar[type[Text | TextPairs]] = TextPairs


def _sides(examples: LabeledExamples) -> tuple[Sentences, ...]:
    inner: Any = examples.examples
    if isinstance(inner, Pairs):
        return inner.source, inner.target
    return (inner,)


class Tagger(TaskHead):
    """Dropout and a linear layer on the last state of each word's first subword."""

    term = "tagging"

    def batch(
        self,
        examples: LabeledExamples,
        prepared: Prepared,
        step: int,  # noqa: ARG002
        rng: Generator,  # noqa: ARG002
    ) -> Batch:
        """Predict the tag of every word that has one and fits into the sequence; nothing is random."""
        sentences: Any = examples.examples
        tags: Any = examples.tags
        if tags is None:
            raise DataError("tagging: these examples have no tags")
        layout = sentence_layout(sentences, prepared.vocab, self.sequence_length(prepared))
        begins = layout.content.copy()  # (B, L) the first subword of each word
        begins[:, 1:] &= layout.words[:, 1:] != layout.words[:, :-1]
        rows, columns = np.nonzero(begins)
        words = layout.words[rows, columns]
        is_beyond = words >= tags.lengths[rows]
        if is_beyond.any():
            row = int(rows[is_beyond][0])
            raise DataError(
                f"tagging: row {row} has words beyond its {tags.lengths[row]} tags; "
                "tags and subwords must come from the same word tokenizer"
            )
        labels = tags.values[tags.offsets[rows] + words]
        is_known = labels >= 0
        return Batch.of(
            layout,
            (sentences.language,),
            prepared,
            at=(rows[is_known], columns[is_known]),
            labels=labels[is_known].astype(np.int64),
            counts={self.term: float(is_known.sum())},
            extra={"words": words[is_known]},
        )


class TaggingTask(FineTuneTask):
    """Base of tasks that assign a tag to each word."""

    other_scales = {"unread": ("%", False)}
    text_type: ClassVar[type[Text]] = Text
    tag_kind: ClassVar[str]  # the key of the tags in the text that the reader returns

    reader: ReaderSettings

    def head(self) -> Tagger:
        """Return a tagger of the classes."""
        return self.build_head(Tagger, classes=len(self.classes))

    def encode(
        self,
        chunks: Chunks[Text],
        vocab: Vocab,
        numbers: Mapping[str, int],
    ) -> LabeledExamples:
        """Encode words' tags, no subword in two words; raise a DataError that names the place of an unknown one."""
        tags: list[list[int]] = []
        sentences: list[Sentences] = []
        for path, chunk in chunks:
            if self.tag_kind not in chunk.tags:
                hint = did_you_mean(self.tag_kind, chunk.tags)
                raise DataError(
                    f"{self.name}: {path}: the reader found no tags of kind {self.tag_kind!r}{hint}"
                )
            for line, row in enumerate(chunk.tags[self.tag_kind]):
                for word, tag in enumerate(row):
                    if tag not in numbers:
                        position = (
                            f"sentence {chunk.lines[line]!r}, word {chunk.tokens(line)[word]!r}"
                        )
                        raise DataError(
                            f"{self.name}: {path}: {position}: {self.explain_unknown(tag)}"
                        )
                tags.append([numbers[tag] for tag in row])
            sentences.append(vocab.encode_words_apart(chunk))
        return LabeledExamples(Sentences.concatenate(sentences), tags=Ragged.of(tags))

    def unread(self, predictions: Any, is_scored: BoolArray) -> dict[str, float]:
        """Return the share of scored words without a prediction, which are wrong.

        They are beyond the maximum length, or have no subword, such as zero-width characters. is_scored: (W,) which of
        all words have a tag.
        """
        is_missing = predictions.flat[is_scored] < 0
        return {"unread": 100 * float(is_missing.mean())}

    @abstractmethod
    def explain_unknown(self, tag: str) -> str:
        """Return the error about an unknown tag."""
