"""Cross-lingual natural language inference (Conneau et al. 2018): does a premise entail a hypothesis?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from interlace.objectives._inputs import Switch
from interlace.tasks import Task, Tuning
from interlace.tasks._apart import held_apart
from interlace.tasks._classification import Classifier, Pooling
from interlace.tasks._files import Asked, Files
from interlace.tasks._pair_classes import accuracy, encode_pairs, read_pairs

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data import Labelled
    from interlace.data.vocab import Vocab
    from interlace.tasks import Predictions
    from interlace.tasks._pair_classes import Chunks
    from interlace.text import TextPairs

LABELS = ("entailment", "neutral", "contradiction")


class Xnli(Task):
    """Accuracy over pairs, in percent; premise and hypothesis stand in one row, the longer one is cut first."""

    metric: ClassVar[str] = "accuracy"
    translatable: ClassVar[bool] = True

    files: Files = Field(
        "nli/{split}.{language}.tsv",
        description="NLI tables under the data root: a pattern, or patterns by split or 'test.de'.",
    )
    reader: dict[str, Any] | str = Field("nli", description="What reads the files; its settings name other columns.")
    max_length: int = Field(256, ge=8, description="Longest row in subwords, at most the model's own (XLM: 256).")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of the vector dropped before the linear layer.")
    pooling: Pooling = Field(
        "first", description="The row's vector: its first state (XLM), their mean, or the largest."
    )
    language_ids: Switch = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=5), description="How the task is fine-tuned (XTREME's code: 5 epochs)."
    )

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Labelled:
        """Pairs with a label each; the reader leaves out pairs without one and counts them."""
        asked = Asked("xnli", split, language, root)
        return encode_pairs("xnli", held_apart(self, asked, self._pairs(asked)), LABELS, vocab)

    def texts(self, split: str, language: str, root: Path) -> list[TextPairs]:
        """Premises and hypotheses."""
        return [chunk for _, chunk in self._pairs(Asked("xnli", split, language, root))]

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels."""
        return LABELS

    def learner(self) -> Classifier:
        """A classifier of three labels."""
        return Classifier(
            classes=len(LABELS),
            dropout=self.dropout,
            pooling=self.pooling,
            max_length=self.max_length,
            language_ids=self.language_ids,
        )

    def score(self, examples: Any, predictions: Predictions, gold: Predictions) -> dict[str, float]:  # noqa: ARG002
        """`accuracy`."""
        return {"accuracy": accuracy(predictions, gold)}

    def _pairs(self, asked: Asked) -> Chunks:
        return read_pairs(self.files, asked, self.reader, [asked.of])
