"""Named entity recognition: F1 over whole entities (CoNLL 2003; XTREME's PAN-X; MasakhaNER).

An entity is right if its words and its type are. Tags that are no valid IOB2 are read as conlleval and seqeval read
them: an `I-` that does not continue an entity of its type begins one. Files are repaired alike, and the log counts it.

Legend: W words of all sentences, E entities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.display import listed
from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import BoolArray, DoubleArray, IntArray, Ragged
from interlace.data import LabeledExamples
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Scores, Tuning
from interlace.tasks.common.classification import TaggingTask
from interlace.tasks.common.files import Files, ReaderSettings, log_notes

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab


class Ner(TaggingTask):
    """F1 over entities, in percent; words beyond the maximum length are outside, so their entities are missed."""

    metric = "f1"
    further_metrics = ("precision", "recall")
    tag_kind = "names"

    files: Files = Field(
        "ner/{split}.{language}.tsv",
        description="Files of a token and its tag per line, under the data root: a pattern, or patterns by split or "
        "'test.de'.",
    )
    reader: ReaderSettings = Field(
        "iob",
        description="Reader of the files; must return tags of kind 'names'.",
    )
    types: tuple[str, ...] = Field(
        ("PER", "ORG", "LOC"),
        min_length=1,
        description="Entity types to train on and score (PAN-X: PER, ORG, LOC; MasakhaNER: DATE too).",
    )
    other_types: Literal["error", "outside"] = Field(
        "error",
        description="Entities of other types in a file: an error, or counted in the log and read as O.",
    )
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(epochs=10),
        description="How the task is fine-tuned (XTREME and ALIGN-MLM: 10 epochs, learning rate 2e-5).",
    )

    def model_post_init(self, _context: Any) -> None:
        """Reject duplicate types and types with a prefix."""
        for kind, count in Counter(self.types).items():
            if count > 1:
                raise ValueError(f"types: {kind!r} is given {count} times")
            if not kind or kind.startswith(("B-", "I-")):
                raise ValueError(
                    f"types: {kind!r}; types are named without B- and I-, such as 'PER'"
                )

    @property
    def classes(self) -> tuple[str, ...]:
        """O, then B and I of every type."""
        return tuple(tag_numbers(self.types))

    def check_metric(self, metric: str) -> None:
        """Raise a SettingsError if the task has no such metric; `f1 PER` is that of a type."""
        if metric not in [f"f1 {kind}" for kind in self.types]:
            super().check_metric(metric)

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> LabeledExamples:
        """Encode sentences with a tag per word; raise a DataError if a type is unknown, or there is no entity."""
        chunks = self.clean_chunks(self.query(split, language, root))
        numbers = tag_numbers(self.types)
        if self.other_types == "outside":
            other_tags: set[str] = set()
            for path, chunk in chunks:
                tags_of_words = chain.from_iterable(chunk.tags.get(self.tag_kind, ()))
                counts = Counter(tag for tag in tags_of_words if tag not in numbers)
                log_notes(
                    self.name,
                    path,
                    {
                        f"words of other types read as O ({listed(sorted(counts))})": counts.total()
                    },
                )
                other_tags |= counts.keys()
            numbers |= dict.fromkeys(other_tags, 0)
        examples = self.encode(chunks, vocab, numbers)
        tags: Any = examples.tags
        if not (tags.flat > 0).any():
            raise DataError(
                f"{self.name}: {chunks[0][0]}: no word is part of an entity, so there is no F1; take more rows, or see "
                "'types'"
            )
        return examples

    def score(self, examples: LabeledExamples, predictions: Any) -> Scores:
        """Return `f1`, `precision` and `recall` over entities of all types together (micro), and F1 of each type.

        Also the shares of words without a prediction. A type that is neither in the gold nor predicted has no F1.
        """
        gold: Any = examples.tags
        is_known = gold.flat >= 0
        first_words = gold.offsets - gold.offsets[0]
        predicted_tags = np.where(is_known, predictions.flat, 0)
        expected_tags = np.where(is_known, gold.flat, 0)
        predicted = entities(Ragged(predicted_tags, first_words))
        expected = entities(Ragged(expected_tags, first_words))
        right = is_among(predicted, expected)
        metrics = entity_rates(len(expected), len(predicted), int(right.sum()))
        for number, kind in enumerate(self.types):
            is_kind = predicted.types == number
            gold_count = int((expected.types == number).sum())
            predicted_count = int(is_kind.sum())
            right_count = int((is_kind & right).sum())
            if gold_count or predicted_count:
                rates = entity_rates(gold_count, predicted_count, right_count)
                metrics[f"f1 {kind}"] = rates["f1"]
        metrics |= self.unread(predictions, is_known)

        sentences = gold.rows()  # (W,) the sentence of each word

        def by_sentence(starts: IntArray) -> DoubleArray:
            return np.bincount(sentences[starts], minlength=len(gold)).astype(np.float64)

        score = 2 * by_sentence(predicted.starts[right])
        weight = by_sentence(predicted.starts) + by_sentence(expected.starts)
        return Scores(metrics, Examples(score, weight, identity_of(gold.lengths, gold.flat)))

    def explain_unknown(self, tag: str) -> str:
        """Return the settings that allow an unknown type."""
        kind = tag[2:]
        cure = (
            f"types = {[*self.types, kind]}, or other_types = 'outside' to read such words as O"
        )
        return f"an entity of type {kind!r}, but types = {list(self.types)}{did_you_mean(kind, self.types)}; set {cure}"


@dataclass(frozen=True)
class Entities:
    """(E,) half-open spans of words over all sentences, and the number of their type."""

    starts: IntArray
    stops: IntArray
    types: IntArray

    def __len__(self) -> int:
        return len(self.starts)


def entity_rates(gold: int, predicted: int, right: int) -> dict[str, float]:
    """Return `f1`, `precision` and `recall` in percent from numbers of entities; 0 where there are none."""
    if not right:
        return {"f1": 0.0, "precision": 0.0, "recall": 0.0}
    return {
        "f1": 200 * right / (predicted + gold),
        "precision": 100 * right / predicted,
        "recall": 100 * right / gold,
    }


def tag_numbers(types: Sequence[str]) -> dict[str, int]:
    """Return the number of every tag: 0 is O; of type k, 2k + 1 is B and 2k + 2 is I.

    >>> tag_numbers(["PER"])
    {'O': 0, 'B-PER': 1, 'I-PER': 2}
    """
    numbers = {"O": 0}
    for kind in types:
        numbers[f"B-{kind}"] = len(numbers)
        numbers[f"I-{kind}"] = len(numbers)
    return numbers


def entities(tags: Ragged) -> Entities:
    """Return the entities of rows of tags; -1 is outside.

    For example, with O, B-PER and I-PER as 0, 1 and 2, the row 1 2 0 2 1 has the words 0 to 2, 3 to 4 and 4 to 5.
    """
    flat = np.asarray(tags.flat, np.int64)  # (W,)
    flat = np.maximum(flat, 0)
    types = (flat - 1) // 2  # -1 outside
    is_inside = types >= 0
    is_i = flat % 2 == 0
    same_type = types[1:] == types[:-1]
    same_row = np.diff(tags.rows()) == 0
    continues = np.zeros(len(flat), np.bool_)
    continues[1:] = is_i[1:] & is_inside[1:] & same_type & same_row
    starts = np.flatnonzero(is_inside & ~continues)
    is_last = is_inside.copy()
    is_last[:-1] &= ~continues[1:]
    return Entities(starts, np.flatnonzero(is_last) + 1, types[starts])


def is_among(predicted: Entities, gold: Entities) -> BoolArray:
    """(E,) which of the predicted entities are gold ones: the same span of the same type."""
    width = 1 + max(predicted.stops.max(initial=0), gold.stops.max(initial=0))
    kinds = 1 + max(predicted.types.max(initial=0), gold.types.max(initial=0))

    def keys(side: Entities) -> IntArray:
        return np.asarray((side.starts * width + side.stops) * kinds + side.types, np.int64)

    return np.isin(keys(predicted), keys(gold))
