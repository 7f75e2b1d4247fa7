"""Registry of evaluation tasks.

A `FineTuneTask` reads labeled examples, builds the `TaskHead` that is trained on them, and scores its predictions. A
`ProbeTask` measures a model without training it. Both return `Scores`: metrics and the outcome of every example.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from pydantic import Field, PrivateAttr, model_validator

from interlace.core.data_root import Root
from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.json_files import JsonObject
from interlace.core.ragged import AnyArray, IntegerArray, Ragged
from interlace.core.registry import Registry
from interlace.core.settings import Settings
from interlace.data import LabeledExamples
from interlace.objectives import Batch, Objective, Prepared, Term
from interlace.tasks.common.files import (
    Chunks,
    FileQuery,
    Files,
    MissingDataError,
    drop_shared_texts,
    find_parts,
    log,
    read_text,
    require_split,
)
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone
    from interlace.scores.examples import Examples

    Predictions = AnyArray | Ragged
    """One prediction per example, or one class per word (`Ragged`); `TaskHead.empty_predictions` if there is none."""

INIT_STD = 0.02  # standard deviation of a new head's weights, as in BERT

Setting = Literal["zero-shot", "supervised", "translate-train", "translate-test"]
"""What a task is fine-tuned and scored on. zero-shot: fine-tuned on the source language. supervised: one model for each
language, fine-tuned on its own training text. translate-train: the same with the source's training text translated into
each language. translate-test: fine-tuned on the source language, scored on test text translated into it."""

SelectionRule = Literal["source-dev", "mean-dev", "per-language-dev", "last"]
"""Whose development set selects the weights and the learning rate: the source language's, the mean over all languages,
each language's own (a model for each language), or none: the last weights."""

Scale = tuple[str, bool | None]
"""The unit of a metric, and whether higher is better; None where neither is."""

Rate = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0, lt=1)]


class Tuning(Settings):
    """Fine-tuning with AdamW and a learning rate that rises and falls linearly."""

    learning_rate: Rate | Annotated[list[Rate], Field(min_length=1)] = Field(
        2e-5,
        description="Peak learning rate; of a list, `select` chooses one (XTREME: 2e-5; small models need about 1e-3).",
    )
    epochs: float = Field(3.0, gt=0, description="Passes over the training set.")
    tokens_per_batch: int = Field(
        2048,
        ge=16,
        description="Tokens per batch over all processes, padding included.",
    )
    micro_batches: int = Field(
        1,
        ge=1,
        description="Parts of a batch that are computed one after another, or by as many processes; an update is the "
        "same for any number of processes that divides it.",
    )
    warmup_share: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="Share of the steps with a rising learning rate.",
    )
    weight_decay: float = Field(0.0, ge=0, description="Decoupled weight decay of AdamW.")
    betas: tuple[Decay, Decay] = Field(
        (0.9, 0.999),
        description="Decay rates of Adam's moments (ALM: 0.9, 0.997).",
    )
    select: SelectionRule = Field(
        "source-dev",
        description="Whose dev set selects the weights and the learning rate.",
    )
    checks: int = Field(
        1,
        ge=1,
        description="Dev evaluations per epoch (XLM: every 20,000 examples).",
    )

    def model_post_init(self, _context: Any) -> None:
        """Require a dev set for a learning-rate sweep and for periodic evaluation."""
        if self.select != "last":
            return
        if len(self.rates) > 1:
            raise SettingsError(
                "tuning.select = 'last' cannot choose among several learning rates; name a dev rule"
            )
        if self.checks > 1:
            raise SettingsError(
                "tuning.select = 'last' evaluates no dev set, so tuning.checks has no effect; name a dev rule"
            )

    def check_processes(self, count: int) -> None:
        """Raise a SettingsError unless the micro-batches divide evenly by processes, so that updates stay the same."""
        if self.micro_batches % count:
            raise SettingsError(
                f"tuning.micro_batches = {self.micro_batches}: a batch cannot be shared by {count} processes; set "
                f"{count} (with any number of processes, for the same updates), or use one process"
            )

    @property
    def rates(self) -> list[float]:
        """The learning rates to try."""
        return (
            self.learning_rate if isinstance(self.learning_rate, list) else [self.learning_rate]
        )


class HeadSettings(Settings):
    """Settings that a task passes on to its head."""

    max_length: int = Field(
        256,
        ge=8,
        description="Maximum sequence length in tokens (XLM: 256, XTREME: 128).",
    )
    dropout: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="Dropout probability before the linear layer.",
    )


class TaskHead(HeadSettings, Objective):
    """Base of task heads: what fine-tuning trains on top of a backbone. It learns as an objective does, and predicts.

    The default is dropout and one linear layer on the states at `batch.at` (Devlin et al. 2019, section 4). A head that
    predicts words puts `extra["words"]` into its batches: (N,) the word of each prediction in its sequence.
    """

    reads: ClassVar[type] = LabeledExamples

    classes: int = Field(2, ge=2, description="Outputs of the linear layer.")

    @property
    def name(self) -> str:
        """The task, for errors."""
        return self.term

    def modules(self, backbone: Backbone) -> nn.ModuleDict:
        """Create the head; weights are drawn from torch's generator, which the loop has seeded."""
        from torch import nn

        linear = nn.Linear(backbone.width, self.classes)
        nn.init.normal_(linear.weight, std=INIT_STD)
        nn.init.zeros_(linear.bias)
        return nn.ModuleDict({"dropout": nn.Dropout(self.dropout), "linear": linear})

    def sequence_length(self, prepared: Prepared) -> int:
        """Return the maximum sequence length: this head's or the model's."""
        return min(self.max_length, prepared.traits.max_length)

    def features(self, backbone: Backbone, batch: Batch) -> Tensor:
        """Return the (N, H) vectors that the linear layer reads."""
        return backbone.encode(batch.inputs)[batch.at]

    def logits(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> Tensor:
        """Return the (N, C) logits in float32."""
        logits: Tensor = heads["linear"](heads["dropout"](self.features(backbone, batch)))
        return logits.float()

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Return the sum of cross-entropies over predictions."""
        from torch.nn.functional import cross_entropy

        return {
            self.term: Term(
                cross_entropy(
                    self.logits(backbone, heads, batch), batch.labels, reduction="sum"
                )
            )
        }

    def predict(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> AnyArray:
        """Return (N,) predictions, aligned with `batch.at`: the most likely classes."""
        import torch

        with torch.inference_mode():
            classes = self.logits(backbone, heads, batch).argmax(dim=-1)
        return np.asarray(classes.cpu().numpy(), np.int32)

    def sequences(self, examples: Any, prepared: Prepared) -> Any:  # noqa: ARG002 - most read an example as it is
        """Return the sequences that batches are made of: the examples, or several windows for each."""
        return examples

    def merge(self, examples: Any, sequences: Any, predictions: AnyArray) -> AnyArray:  # noqa: ARG002 - as above
        """Return predictions for the examples from those for their sequences."""
        return predictions

    def empty_predictions(self, count: int) -> AnyArray:
        """Return `count` predictions that predict nothing."""
        return np.full(count, -1, np.int32)

    def gold(self, examples: Any) -> Predictions:
        """Return the right answers in the shape of predictions; -1: none, not scored."""
        return cast("Predictions", examples.labels if examples.tags is None else examples.tags)

    def class_columns(self, sequences: Any) -> list[IntegerArray]:
        """Return columns of gold classes (-1: none) of whose cross-entropies the loss is the mean.

        A model that only knows the frequency of each class reaches the mean of the columns' entropies. Empty if the
        loss is another.
        """
        if not isinstance(sequences, LabeledExamples):
            return []
        gold = self.gold(sequences)
        return [gold.flat if isinstance(gold, Ragged) else gold]


Head = TypeVar("Head", bound=TaskHead)


@dataclass(frozen=True, eq=False)
class Scores:
    """What a task measured.

    metrics: value by name; the main one is `metric`, or the task's.
    outcomes: the outcome of each example. The main metric is `outcomes.total`. None for a metric that is not computed
        from sums over examples, such as a correlation.
    metric: the main metric's name if it depends on the model; "": `Task.metric`.
    details: further facts for the score's row, such as signatures.
    outputs: text that the model wrote, one line per example.
    """

    metrics: dict[str, float]
    outcomes: Examples | None = None
    metric: str = ""
    details: JsonObject = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def __getitem__(self, metric: str) -> float:
        return self.metrics[metric]


class Task(Settings, ABC):
    """What a model is measured by, in one language at a time. Subclass `FineTuneTask` or `ProbeTask`."""

    metric: ClassVar[str]  # name of the main metric, a key of `Scores.metrics`
    unit: ClassVar[str] = "%"
    greater_is_better: ClassVar[bool] = True
    other_scales: ClassVar[dict[str, Scale]] = {}  # further metrics with another scale
    # further metrics with the scale of the main one, without suffixes such as ", all"; studies can compare these
    further_metrics: ClassVar[tuple[str, ...]] = ()
    # raised when the same files and settings lead to other scores than before
    scoring_version: ClassVar[int] = 1
    # what `reader` returns; None: no running text
    text_type: ClassVar[type[Text | TextPairs] | None] = None
    # whether its targets are directions: a `TranslationTask`
    translates: ClassVar[bool] = False
    # whether it can also score static word vectors: `measure_words`
    static_vectors: ClassVar[bool] = False

    files: Files = Field("", description="Files under the data root.")
    targets: list[str] | None = Field(
        None,
        description="Languages to score; none: those of the recipe.",
    )

    _run: Path | None = PrivateAttr(None)

    @property
    def name(self) -> str:
        """The name in the registry: that of the file."""
        return Path(inspect.getfile(type(self))).stem

    def bind(self, run: Path | None) -> Self:
        """Return a copy that knows the folder of the run that is scored."""
        task = self.model_copy()
        task._run = run  # noqa: SLF001 - its own copy
        return task

    def query(self, split: str, language: str, root: Root) -> FileQuery:
        """Return what to look for in `files`."""
        return FileQuery(self.name, split, language, root, getattr(self, "source", ""))

    @abstractmethod
    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> Any:
        """Read and encode the examples of a split (`train`, `dev`, `test`) in one language; paths are below `root`.

        For tasks over pairs, `language` is the target and the setting `source` the other language.

        Raises:
            DataError: a file is missing or damaged.
        """

    def read_chunks(self, query: FileQuery) -> Chunks[Any]:
        """Read the text of a split by the setting `reader`, as `text_type` says; nothing for word lists."""
        task: Any = self
        if self.text_type is None:
            return []
        languages = self.reader_languages(query)
        return read_text(
            self.name,
            task.reader,
            languages,
            self.text_type,
            find_parts(self.files, query),
        )

    def reader_languages(self, query: FileQuery) -> list[str]:
        """Return the languages that the reader is called with."""
        return [query.language]

    def texts(self, split: str, language: str, root: Root) -> Sequence[Text | TextPairs]:
        """Return the running text of a split, as `examples`, for contamination checks; empty for word lists."""
        query = self.query(split, language, root)
        if query.source == query.language:
            return []
        return [chunk for _, chunk in self.read_chunks(query)]

    def read_files(self, split: str, language: str, root: Root) -> list[Path]:
        """Return all files that `examples` reads; scores are computed again once their content changes.

        The default covers `files` and `gold`. A task that reads more overrides it.

        Raises:
            DataError: a file is missing.
        """
        query = self.query(split, language, root)
        paths = []
        for files in (self.files, getattr(self, "gold", None)):
            for side in (query.language, query.source):
                if files and side:
                    paths += [part.path for part in find_parts(files, query, side)]
        return paths

    def check_metric(self, metric: str) -> None:
        """Raise a SettingsError if the task has no such metric; a suffix after a comma does not count."""
        names = [self.metric, *self.other_scales, *self.further_metrics]
        if metric.partition(", ")[0] not in names:
            raise SettingsError(
                f"{self.name} has no metric {metric!r}{did_you_mean(metric, names)}"
            )

    def scale(self, metric: str) -> Scale:
        """Return the unit of a metric, and whether higher is better; a suffix after a comma does not count."""
        return self.other_scales.get(
            metric.partition(", ")[0], (self.unit, self.greater_is_better)
        )


class FineTuneTask(HeadSettings, Task):
    """A task that a model with a head is fine-tuned for."""

    # whether gold labels hold for a translation of the text: translate-test
    translatable: ClassVar[bool] = False

    settings: list[Setting] = Field(
        ["zero-shot"],
        min_length=1,
        description="Evaluation settings to train and score.",
    )
    translations: Literal["machine", "human"] = Field(
        "machine",
        description="Who translated the files of translate-.. settings ('human': XNLI's own test sets); recorded with "
        "the scores. translate-test on human translations is an oracle.",
    )
    decontaminate: bool = Field(
        False,
        description="Remove training rows that share a text with dev or test rows of their language, and dev rows that "
        "share one with test rows; the log counts them. For splits cut from one file.",
    )
    tuning: Tuning = Field(default_factory=Tuning, description="How the task is fine-tuned.")

    @model_validator(mode="after")
    def _require_split(self) -> Self:
        if self.files:
            require_split(self.files)
        if {"supervised", "translate-train"} <= set(self.settings):
            raise ValueError(
                "settings: 'supervised' and 'translate-train' read the same training files, those of the split "
                "'train'; name two tasks with files of their own"
            )
        return self

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that are predicted; empty if predictions are something else."""
        return ()

    @abstractmethod
    def head(self) -> TaskHead:
        """Return the head to train on the examples."""

    def build_head(self, kind: type[Head], **settings: Any) -> Head:
        """Create a head with the settings that it shares with the task."""
        shared = kind.model_fields.keys() & type(self).model_fields.keys()
        return kind(**{name: getattr(self, name) for name in shared}, **settings)

    @abstractmethod
    def score(self, examples: Any, predictions: Any) -> Scores:
        """Score predictions in the examples' order, in percent or `unit`; -1: no gold, or a wrong prediction."""

    def clean_chunks(self, query: FileQuery) -> Chunks[Any]:
        """Return `read_chunks`, decontaminated if that is set; raise a DataError if no row is left."""
        chunks = self.read_chunks(query)
        held_out: list[Text | TextPairs] = []
        for split in self.held_out_splits(query.split):  # none unless `decontaminate`
            try:
                held_out += self.texts(split, query.language, query.root)
            except MissingDataError as error:
                log.info("no held-out text to remove: %s", error)
        return drop_shared_texts(query, chunks, held_out) if held_out else chunks

    def held_out_splits(self, split: str) -> tuple[str, ...]:
        """Return the splits that rows of this split must not share a text with."""
        if not self.decontaminate:
            return ()
        return {"train": ("dev", "test"), "dev": ("test",)}.get(split, ())

    def exports(self, examples: Any, predictions: Any) -> JsonObject:  # noqa: ARG002 - most export nothing
        """Return predictions as JSON files that other programs read, by file name."""
        return {}


class ProbeTask(Task):
    """A task that measures a model as it is; nothing is trained."""

    # whether the source language is scored like the others
    scores_source: ClassVar[bool] = False

    @abstractmethod
    def measure(self, backbone: Backbone, vocab: Vocab, examples: Any) -> Scores:
        """Measure a model."""

    def measure_words(self, vectors: Mapping[str, WordVectors], examples: Any) -> Scores:
        """Measure static word vectors, by language; `examples` then takes None for the vocabulary."""
        raise NotImplementedError


TASKS: Registry[Task] = Registry(__name__, "task", Task)
