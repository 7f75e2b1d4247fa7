"""Room of tasks: what a pre-trained model is measured by.

A task reads its standard files and scores predictions. One that trains hands the loop a `Learner`, an objective that
can also predict; a probe has none and measures the backbone as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from interlace.data import Labelled
from interlace.objectives import Objective
from interlace.registry import Room
from interlace.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Examples
    from interlace.ragged import Ragged

    Predictions = NDArray[np.int32] | Ragged
    """A class id a row, or a row of class ids, one a word; -1 where a model gave none."""


class Tuning(Settings):
    """How a task is fine-tuned; the defaults are XTREME's where a task names no others."""

    learning_rate: float = Field(2e-5, gt=0, description="Peak learning rate of AdamW (XTREME: 2e-5).")
    epochs: float = Field(3.0, gt=0, description="Passes over the training set.")
    tokens_per_batch: int = Field(2048, ge=16, description="Padded subwords in a batch.")
    warmup_share: float = Field(0.1, ge=0, lt=1, description="Share of the steps with a rising learning rate.")
    weight_decay: float = Field(0.0, ge=0, description="AdamW's decoupled decay.")
    select: bool = Field(True, description="Keep the epoch that is best on the source language's dev set.")


class Learner(Objective):
    """An objective with heads of its own that can also predict.

    Where it predicts words, its batches hold `extra["words"]`, (N,) the word of each prediction in its row; where they
    do not, a prediction is for a whole row. That is how predictions made in buckets find their way back.
    """

    reads: ClassVar[type] = Labelled

    @abstractmethod
    def predict(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> NDArray[np.int32]:
        """(N,) predicted class ids, aligned with `batch.at` and `batch.labels` (taken without gradients)."""


class Task(Settings, ABC):
    """A measure of a model in one language; fields say where its files stand (`{language}` is filled in)."""

    metric: ClassVar[str]  # name of the main score, a key of what `score` or `measure` returns
    unit: ClassVar[str] = "%"
    greater_is_better: ClassVar[bool] = True

    tuning: Tuning = Field(default_factory=Tuning, description="How the task is fine-tuned; probes ignore it.")

    @abstractmethod
    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Examples:
        """The examples of one split (`train`, `dev`, `test`) in one language, tokenised; paths are under `root`.

        A probe of pairs takes `language` as the target; its `source` is a setting.

        Raises:
            DataError: there are no such files (says for which languages there are), or they hold what the task
                does not know.
        """

    def learner(self) -> Learner | None:
        """What the loop trains on `examples`; None for a probe."""
        return None

    def score(self, examples: Any, predictions: Predictions, gold: Predictions) -> dict[str, float]:
        """Scores (percent unless the unit says otherwise) of predictions in the order of the rows of `examples`.

        What has no gold (-1) is not scored; what has, but got no prediction (-1), is wrong.
        """
        raise NotImplementedError

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Any) -> dict[str, float]:
        """A probe's scores of the backbone as it is."""
        raise NotImplementedError


TASKS: Room[Task] = Room(__name__, "task", Task)
