"""Paraphrases in seven languages (Yang et al. 2019, PAWS-X): do two sentences of like words say the same?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.errors import DataError
from interlace.objectives._inputs import Switch
from interlace.tasks import Task, Tuning
from interlace.tasks._apart import held_apart
from interlace.tasks._classification import Classifier, Pooling
from interlace.tasks._files import Asked, Files
from interlace.tasks._pair_classes import accuracy, encode_pairs, read_pairs
from interlace.tasks._read import log_notes

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data import Labelled
    from interlace.data.vocab import Vocab
    from interlace.tasks import Predictions
    from interlace.tasks._pair_classes import Chunks
    from interlace.text import TextPairs

LABELS = ("0", "1")  # 1: paraphrases
_UNTRANSLATED = "NS"  # stands in dev and test files where a sentence has no translation


class Pawsx(Task):
    """Accuracy over pairs, in percent; both sentences stand in one row, the longer one is cut first.

    Pairs with a sentence that was never translated (`NS`) are left out and counted, as in the paper's table 2.
    """

    metric: ClassVar[str] = "accuracy"
    translatable: ClassVar[bool] = True

    files: Files = Field(
        "pawsx/{split}-{language}.tsv",
        description="Tables under the data root: a pattern, or patterns by split or 'test.de'.",
    )
    reader: dict[str, Any] | str = Field(
        {"name": "tsv", "columns": [0, 1], "label": 2, "header": False},
        description="What reads the files: two columns of text and one of labels, by number from 0 (XTREME's files) or "
        "by name where there is a header (the authors' files: sentence1, sentence2, label).",
    )
    max_length: int = Field(256, ge=8, description="Longest row in subwords, at most the model's own (XTREME: 128).")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of the vector dropped before the linear layer.")
    pooling: Pooling = Field("first", description="The row's vector: its first state, their mean, or the largest.")
    language_ids: Switch = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=5),
        description="How the task is fine-tuned (XTREME's code: 5 epochs, learning rate 2e-5).",
    )

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Labelled:
        """Pairs with a label each; those without one are counted and not scored."""
        asked = Asked("pawsx", split, language, root)
        return encode_pairs("pawsx", held_apart(self, asked, self._pairs(asked)), LABELS, vocab)

    def texts(self, split: str, language: str, root: Path) -> list[TextPairs]:
        """Both sentences."""
        return [chunk for _, chunk in self._pairs(Asked("pawsx", split, language, root))]

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels."""
        return LABELS

    def learner(self) -> Classifier:
        """A classifier of two labels."""
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
        return _translated(read_pairs(self.files, asked, self.reader, [asked.of, asked.of]))


def _translated(chunks: Chunks) -> Chunks:
    """The pairs of which both sentences are there."""
    found = []
    for path, chunk in chunks:
        sides = zip(chunk.source.lines, chunk.target.lines, strict=True)
        there = np.array([_UNTRANSLATED not in {first.strip(), second.strip()} for first, second in sides])
        log_notes("pawsx", path, [{f"pairs without a translation ({_UNTRANSLATED}) left out": int((~there).sum())}])
        if there.any():
            found.append((path, chunk.where(there)))
    if not found:
        raise DataError(f"pawsx: {chunks[0][0]}: no pair is translated, all hold {_UNTRANSLATED!r}")
    return found
