"""Named entities, zero-shot from the source language: F1 over whole entities (CoNLL 2003; XTREME's PAN-X; MasakhaNER).

An entity is right where its words and its type are. Predictions that are no valid IOB2 are read as conlleval reads
them: an `I-` that goes on with no entity of its type begins one. Files are mended the same way, and the log counts it.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples
from interlace.objectives import BoolOrAuto
from interlace.tasks import Scale, Task, Tuning
from interlace.tasks._apart import decontaminate
from interlace.tasks._entities import by_row, compare, entities, tag_numbers
from interlace.tasks._files import FileQuery, Files
from interlace.tasks._read import log_notes
from interlace.tasks._tagged import encode_tagged, read_tagged, tag_ids
from interlace.tasks._tagging import Tagger

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.tasks import Predictions
    from interlace.tasks._outcomes import Outcomes
    from interlace.tasks._tagged import Chunks
    from interlace.text import Text

_KIND = "names"

log = logging.getLogger(__name__)


class Ner(Task):
    """F1 over entities, in percent; words cut off beyond the longest row are outside, so their entities are missed."""

    metric: ClassVar[str] = "f1"
    others: ClassVar[dict[str, Scale]] = dict.fromkeys(("opened", "unread"), ("%", False))

    files: Files = Field(
        "ner/{split}.{language}.tsv",
        description="Files of a token and its tag a line, under the data root: a pattern, or patterns by split or "
        "'test.de'.",
    )
    reader: dict[str, Any] | str = Field("iob", description="What reads the files; must give tags of kind 'names'.")
    types: tuple[str, ...] = Field(
        ("PER", "ORG", "LOC"),
        min_length=1,
        description="Types of entities that are learnt and scored (PAN-X: PER, ORG, LOC; MasakhaNER: DATE too).",
    )
    other_types: Literal["refuse", "outside"] = Field(
        "refuse", description="Entities of other types in a file: an error, or counted in the log and read as O."
    )
    max_length: int = Field(
        256, ge=8, description="Longest row in subwords, at most the model's own (XTREME, ALIGN-MLM: 128)."
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of the state dropped before the linear layer.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=10),
        description="How the task is fine-tuned (XTREME and ALIGN-MLM: 10 epochs, learning rate 2e-5).",
    )

    def model_post_init(self, _context: Any) -> None:
        """Every type is one, once."""
        for kind, count in Counter(self.types).items():
            if count > 1:
                message = f"types: {kind!r} stands there {count} times"
                raise ValueError(message)
            if not kind or kind.startswith(("B-", "I-")):
                message = f"types: {kind!r}; types are named without B- and I-, such as 'PER'"
                raise ValueError(message)

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> LabeledExamples:
        """Sentences with a tag a word; what the reader mended is counted in the log."""
        asked = FileQuery("ner", split, language, root)
        chunks = decontaminate(self, asked, read_tagged(self.files, asked, self.reader, _KIND))
        tags = tag_ids(asked, chunks, _KIND, self._numbers(chunks), self._strange)
        if not (tags.flat > 0).any():
            raise DataError(
                f"ner: {chunks[0][0]}: no word is part of an entity, so there is no F1; take more rows, or see 'types'"
            )
        if split == "train":
            self._warn_of_missing(tags, chunks[0][0])
        return LabeledExamples(encode_tagged(chunks, vocab), tags=tags)

    def texts(self, split: str, language: str, root: Path) -> list[Text]:
        """The sentences."""
        return [
            chunk for _, chunk in read_tagged(self.files, FileQuery("ner", split, language, root), self.reader, _KIND)
        ]

    @property
    def classes(self) -> tuple[str, ...]:
        """O, then B and I of every type."""
        return tuple(tag_numbers(self.types))

    @property
    def also(self) -> tuple[str, ...]:  # type: ignore[override]
        """Both sides of F1, and that of each type."""
        return ("precision", "recall", *(f"f1 {kind}" for kind in self.types))

    def learner(self) -> Tagger:
        """A tagger of B and I of every type, and O."""
        return Tagger(
            classes=1 + 2 * len(self.types),
            dropout=self.dropout,
            max_length=self.max_length,
            language_ids=self.language_ids,
        )

    def score(self, examples: Any, predictions: Predictions, gold: Predictions) -> dict[str, float]:  # noqa: ARG002
        """`f1`, `precision` and `recall` over entities of all types together (micro), and of each type.

        Also `opened`, the percentage of entities found that began with an I (no valid IOB2), and `unread`, that of
        words beyond the longest row. A type that is neither there nor found has no score of its own.
        """
        told = np.asarray(gold.flat) >= 0
        found, right = (entities(side) for side in _told(predictions, gold))
        together, by_type = compare(found, right, len(self.types))
        scores = {"f1": together.f1, "precision": together.precision, "recall": together.recall}
        for kind, counts in zip(self.types, by_type, strict=True):
            if counts.found or counts.gold:
                scores[f"f1 {kind}"] = counts.f1
        unread = np.asarray(predictions.flat)[told] < 0
        opened = float(found.opened.mean()) if len(found) else 0.0
        return {**scores, "opened": 100 * opened, "unread": 100 * float(unread.mean())}

    def outcomes(self, examples: Any, predictions: Predictions, gold: Predictions) -> Outcomes:  # noqa: ARG002
        """Of each sentence, twice the entities that are right by those found and those there together: F1."""
        found, right = _told(predictions, gold)
        return by_row(entities(found), entities(right), right.rows(), len(right))

    def _numbers(self, chunks: Chunks) -> dict[str, int]:
        """The number of every tag; with `outside`, those of other types are 0, and counted in the log."""
        known = tag_numbers(self.types)
        if self.other_types == "refuse":
            return known
        others: Counter[str] = Counter()
        for path, chunk in chunks:
            new = Counter(tag for row in chunk.tags[_KIND] for tag in row if tag not in known)
            log_notes("ner", path, [{f"words of other types read as O ({', '.join(sorted(new))})": new.total()}])
            others += new
        return known | dict.fromkeys(others, 0)

    def _strange(self, tag: str) -> str:
        kind = tag[2:]
        cure = f"types = {[*self.types, kind]}, or other_types = 'outside' to read such words as O"
        return f"an entity of type {kind!r}, but types = {list(self.types)}{did_you_mean(kind, self.types)}; set {cure}"

    def _warn_of_missing(self, tags: Ragged, path: Path) -> None:
        there = np.unique((tags.flat[tags.flat > 0] - 1) // 2)
        missing = [kind for number, kind in enumerate(self.types) if number not in there]
        if missing:
            log.warning("ner: %s: no entity of type %s to learn from; it will not be found", path, ", ".join(missing))


def _told(predictions: Any, gold: Any) -> tuple[Ragged, Ragged]:
    """Both sides, with O for words that nobody told the tag of."""
    told, starts = np.asarray(gold.flat) >= 0, gold.offsets - gold.offsets[0]
    found, right = (Ragged(np.where(told, side.flat, 0), starts) for side in (predictions, gold))
    return found, right
