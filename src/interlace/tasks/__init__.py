"""Registry of tasks: what a pre-trained model is measured by.

A task reads its standard files and scores predictions. One that trains hands the loop a `TaskHead`, an objective that
can also predict; a probe has none and measures the backbone as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.core.registry import Registry
from interlace.core.settings import Settings
from interlace.data import LabeledExamples
from interlace.objectives import Objective
from interlace.tasks._file_tables import refuse_one_for_all
from interlace.tasks._files import FileQuery, find_sides
from interlace.tasks._outcomes import right_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Examples, Prepared
    from interlace.tasks._outcomes import Outcomes
    from interlace.text import Text, TextPairs

    Predictions = NDArray[Any] | Ragged
    """A class id a row, or a row of class ids, one a word; -1 where a model gave none. Or what a learner makes of an
    example in its place (`TaskHead.nothing`), such as the best answers to a question."""


Rate = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0, lt=1)]

Setting = Literal["zero-shot", "supervised", "translate-train", "translate-train-all", "translate-test"]
"""What a task is fine-tuned on and scored on: the source language alone; the scored language's own training text; the
source's training text translated into the language that is scored, or into all of them together; the source language
alone, with the test text translated into it."""

Scale = tuple[str, bool | None]
"""The unit of a score, and whether greater is better; None where neither more nor less is."""

Rule = Literal["source-dev", "mean-dev", "per-language-dev", "last"]
"""Whose development set chooses the weights and the learning rate: the source language's, that of all languages on the
mean, each language's own (a model a language); or none does, and the last weights count."""


class Tuning(Settings):
    """How a task is fine-tuned: by AdamW, with a learning rate that rises and falls linearly."""

    learning_rate: Rate | Annotated[list[Rate], Field(min_length=1)] = Field(
        2e-5, description="Peak learning rate of AdamW; of several, the one that `select` prefers (XTREME: 2e-5)."
    )
    epochs: float = Field(3.0, gt=0, description="Passes over the training set.")
    tokens_per_batch: int = Field(2048, ge=16, description="Padded subwords in a batch.")
    warmup_share: float = Field(0.1, ge=0, lt=1, description="Share of the steps with a rising learning rate.")
    weight_decay: float = Field(0.0, ge=0, description="AdamW's decoupled decay.")
    betas: tuple[Decay, Decay] = Field((0.9, 0.999), description="Adam's decay of moments (ALM: 0.9, 0.997).")
    select: Rule = Field("source-dev", description="Whose dev set chooses weights and learning rate.")
    checks: int = Field(1, ge=1, description="How often an epoch dev sets are scored (XLM: every 20,000 examples).")
    patience: int | None = Field(None, ge=1, description="Stop after so many checks without a better one.")
    freeze: int | None = Field(
        None, ge=0, description="Keep the embeddings and this many lowest layers as they are; none: tune all."
    )
    layer: int | None = Field(None, description="The layer that heads read, from 0, the embeddings; none: the last.")

    def model_post_init(self, _context: Any) -> None:
        """Several learning rates, and looks on the way, need a rule that judges."""
        if self.select != "last":
            return
        if len(self.rates) > 1:
            raise SettingsError("tuning.select = 'last' cannot choose among several learning rates; name a dev rule")
        for name, asked in {"checks": self.checks > 1, "patience": self.patience is not None}.items():
            if asked:
                raise SettingsError(
                    f"tuning.select = 'last' looks at no dev set, so tuning.{name} would do nothing; leave it out, or "
                    "name a dev rule"
                )

    @property
    def rates(self) -> list[float]:
        """The learning rates to try."""
        return self.learning_rate if isinstance(self.learning_rate, list) else [self.learning_rate]


class TaskHead(Objective):
    """An objective with heads of its own that can also predict.

    Where it predicts words, its batches hold `extra["words"]`, (N,) the word of each prediction in its row; where they
    do not, a prediction is for a whole row. That is how predictions made in buckets find their way back.
    """

    reads: ClassVar[type] = LabeledExamples

    layer: int | None = Field(None, description="The layer that heads read, from 0, the embeddings; none: the last.")

    def states(self, backbone: Backbone, batch: Batch) -> Tensor:
        """(B, L, H) states of the layer that heads read.

        Raises:
            SettingsError: the model has no such layer.
        """
        if self.layer is None:
            return backbone.encode(batch.inputs)
        layers = backbone.hidden_states(batch.inputs)
        if not -len(layers) <= self.layer < len(layers):
            raise SettingsError(f"tuning.layer = {self.layer}, but the model has {len(layers) - 1} layers")
        return layers[self.layer]

    @abstractmethod
    def predict(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> NDArray[Any]:
        """(N,) predicted class ids, aligned with `batch.at` and `batch.labels` (taken without gradients)."""

    def rows(self, examples: Any, prepared: Prepared) -> Any:  # noqa: ARG002 - most read examples as they are
        """What batches are made of: the examples, unless the model reads one of them in several rows."""
        return examples

    def nothing(self, count: int) -> NDArray[Any]:
        """(count,) predictions where there are none."""
        return np.full(count, -1, np.int32)

    def gold(self, examples: Any) -> Predictions:
        """What is right, shaped as predictions are."""
        right: Predictions = examples.labels if examples.tags is None else examples.tags
        return right

    def asked(self, rows: Any) -> list[NDArray[np.integer]]:
        """Columns of class numbers whose cross-entropies its loss is the mean of, -1 for none; empty: it is another.

        A model that only knows how frequent each class is reaches the mean of their entropies.
        """
        right = rows.labels if getattr(rows, "labels", None) is not None else getattr(rows, "tags", None)
        return [] if right is None else [right.flat if isinstance(right, Ragged) else right]

    def merged(self, examples: Any, rows: Any, found: NDArray[Any]) -> NDArray[Any]:  # noqa: ARG002 - as above
        """Predictions for the examples, from those for the rows that were made of them."""
        return found


class Task(Settings, ABC):
    """A measure of a model in one language; fields say where its files stand (`{language}` is filled in)."""

    metric: ClassVar[str]  # name of the main score, a key of what `score` or `measure` returns
    unit: ClassVar[str] = "%"
    greater_is_better: ClassVar[bool] = True
    others: ClassVar[dict[str, Scale]] = {}  # those of scores unlike the main one
    also: ClassVar[tuple[str, ...] | None] = None  # the other scores, on the main one's scale; None: nobody says which
    version: ClassVar[int] = 1  # goes up where the same files and settings come to other scores than before

    by_itself: ClassVar[bool] = False  # whether a probe measures a language without the source, which then counts too
    static: ClassVar[bool] = False  # whether it can score static word vectors too: `measure_words`
    translatable: ClassVar[bool] = False  # whether gold holds for a translation of the text: translate-test

    targets: list[str] | None = Field(None, description="Languages it is scored in; none: those of the recipe.")
    settings: list[Setting] = Field(
        ["zero-shot"], min_length=1, description="What is trained and scored on, one or several; probes have but this."
    )
    translations: Literal["machine", "human"] = Field(
        "machine", description="Whose translations the files hold, told beside the scores of translate-.. settings."
    )
    decontaminate: bool = Field(
        False,
        description="Leave out training rows that share a text with development or test rows of their language, and "
        "development rows that share one with test rows; the log counts them. For test sets cut out of one file.",
    )
    tuning: Tuning = Field(default_factory=Tuning, description="How the task is fine-tuned; of no use to probes.")

    @model_validator(mode="after")
    def _splits_apart(self) -> Self:
        """What is trained is scored on other text."""
        if self.learner() is not None:
            refuse_one_for_all(getattr(self, "files", {}))
        return self

    @model_validator(mode="after")
    def _nothing_for_naught(self) -> Self:
        """A probe is told nothing of training: who tunes it would read a score that knows nothing of that."""
        for name in ("settings", "decontaminate", "tuning"):
            default = type(self).model_fields[name].get_default(call_default_factory=True)
            if self.learner() is None and getattr(self, name) != default:
                message = f"{name}: nothing is trained for this task, so leave it out"
                raise ValueError(message)
        return self

    @abstractmethod
    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Examples:
        """The examples of one split (`train`, `dev`, `test`) in one language, tokenised; paths are under `root`.

        A probe of pairs takes `language` as the target; its `source` is a setting.

        Raises:
            DataError: there are no such files (says for which languages there are), or they hold what the task
                does not know.
        """

    def texts(self, split: str, language: str, root: Path) -> Sequence[Text | TextPairs]:  # noqa: ARG002
        """The running text of a split, as chunks, to be compared with training text; none of word lists.

        Of a parallel set both sides: each pair may have sentences of its own. Texts of two languages that do not
        correspond are chunks of each.

        Raises:
            DataError: as `examples`.
        """
        return ()

    def read_files(self, split: str, language: str, root: Path) -> list[Path]:
        """What `examples` reads, so that scores are made anew once a file has changed; one may stand there twice.

        By default what `files` and `gold` name, of a task with a `source` for both sides. Who reads more says so.

        Raises:
            DataError: a file is not there.
        """
        asked = FileQuery(type(self).__name__, split, language, root, getattr(self, "source", ""))
        named = [files for files in (getattr(self, field, None) for field in ("files", "gold")) if files]
        return [path for files in named for path in find_sides(files, asked)]

    def after(self, run: Path | None) -> Task:  # noqa: ARG002 - most do not care
        """The task as it scores what a run has learnt; one that asks what training has read looks in its folder."""
        return self

    def learner(self) -> TaskHead | None:
        """What the loop trains on `examples`; None for a probe."""
        return None

    def score(self, examples: Any, predictions: Predictions, gold: Predictions) -> dict[str, float]:
        """Scores (percent unless the unit says otherwise) of predictions in the order of the rows of `examples`.

        What has no gold (-1) is not scored; what has, but got no prediction (-1), is wrong.
        """
        raise NotImplementedError

    def scale(self, metric: str) -> Scale:
        """That of one of its scores; what stands behind a comma says of what."""
        return self.others.get(metric.split(", ", maxsplit=1)[0], (self.unit, self.greater_is_better))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes whose numbers are predicted; none where something else is."""
        return ()

    def told(self, examples: Any, predictions: Predictions) -> dict[str, Any]:  # noqa: ARG002 - most tell classes
        """What was predicted, as JSON files that other programs read, by name; classes are kept by themselves."""
        return {}

    def outcomes(self, examples: Any, predictions: Predictions, gold: Predictions) -> Outcomes:  # noqa: ARG002
        """(n,) score and (n,) weight of each example: a share of labels, or of words, that are right.

        The main score of any set of examples is the sum of the one by the sum of the other, as a share. What has no
        gold has no weight. Probes tell theirs with their scores: `Measured`.
        """
        return right_labels(predictions, gold)

    def samples(
        self, vocab: Vocab, examples: Any, predictions: Predictions, gold: Predictions, rows: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Some rows as people read them: `texts`, `gold` and `predicted`, or `words` and those `wrong`; may be none."""
        from interlace.tasks._samples import labelled

        return labelled(self.classes, vocab, examples, predictions, gold, rows)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Any) -> dict[str, float]:
        """A probe's scores of the backbone as it is.

        As `Measured` they tell too what each example got, so that the score gets an interval over examples, and
        systems are compared on the same ones.
        """
        raise NotImplementedError

    def measure_words(self, vectors: Mapping[str, WordVectors], examples: Any) -> dict[str, float]:
        """A probe's scores of static word vectors, by language; `examples` then takes None for the vocabulary."""
        raise NotImplementedError


TASKS: Registry[Task] = Registry(__name__, "task", Task)
