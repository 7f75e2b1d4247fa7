"""Named entity recognition: F1 over whole entities (CoNLL 2003; XTREME's PAN-X; MasakhaNER).

An entity is right if its words and its type are. Tags that are no valid IOB2 are read as conlleval and seqeval read
them: an `I-` that does not continue an entity of its type begins one. Files are repaired alike, and the log counts it.

Legend: W words of all sentences, E entities.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples
from interlace.tasks import Scale, Scores, Tuning
from interlace.tasks.common.files import Files
from interlace.tasks.common.reading import ReaderSettings, log_notes
from interlace.tasks.common.tagging import TaggingTask, encode_tagged, outcomes_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.tasks.common.reading import Chunks


class Ner(TaggingTask):
    """F1 over entities, in percent; words beyond the maximum length are outside, so their entities are missed."""

    metric: ClassVar[str] = "f1"
    other_scales: ClassVar[dict[str, Scale]] = dict.fromkeys(("opened", "unread"), ("%", False))
    tag_kind: ClassVar[str] = "names"

    files: Files = Field(
        "ner/{split}.{language}.tsv",
        description="Files of a token and its tag per line, under the data root: a pattern, or patterns by split or "
        "'test.de'.",
    )
    reader: ReaderSettings = Field("iob", description="Reader of the files; must return tags of kind 'names'.")
    types: tuple[str, ...] = Field(
        ("PER", "ORG", "LOC"),
        min_length=1,
        description="Entity types to train on and score (PAN-X: PER, ORG, LOC; MasakhaNER: DATE too).",
    )
    other_types: Literal["error", "outside"] = Field(
        "error", description="Entities of other types in a file: an error, or counted in the log and read as O."
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
                raise ValueError(f"types: {kind!r}; types are named without B- and I-, such as 'PER'")

    @property
    def classes(self) -> tuple[str, ...]:
        """O, then B and I of every type."""
        return tuple(tag_numbers(self.types))

    @property
    def same_scale(self) -> tuple[str, ...]:  # type: ignore[override]
        """Precision, recall, and F1 of each type."""
        return ("precision", "recall", *(f"f1 {kind}" for kind in self.types))

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> LabeledExamples:
        """Encode sentences with a tag per word.

        Raises:
            DataError: an unknown type, or there is no entity.
        """
        chunks = self.clean_chunks(self.query(split, language, root))
        tags = self.tag_ids(chunks, self._numbers(chunks))
        path = chunks[0][0]
        if not (tags.flat > 0).any():
            raise DataError(
                f"{self.name}: {path}: no word is part of an entity, so there is no F1; take more rows, or see 'types'"
            )
        return LabeledExamples(encode_tagged(chunks, vocab), tags=tags)

    def score(self, examples: LabeledExamples, predictions: Any) -> Scores:
        """Return `f1`, `precision` and `recall` over entities of all types together (micro), and F1 of each type.

        Also `opened`, the percentage of predicted entities that begin with an I (no valid IOB2), and `unread`, that of
        words beyond the maximum length. A type that is neither in the gold nor predicted has no F1.
        """
        gold: Any = examples.tags
        known, starts = gold.flat >= 0, gold.offsets - gold.offsets[0]
        predicted, right = (Ragged(np.where(known, side.flat, 0), starts) for side in (predictions, gold))
        found, expected = entities(predicted), entities(right)
        together, by_type = compare(found, expected, len(self.types))
        metrics = {"f1": together.f1, "precision": together.precision, "recall": together.recall}
        for kind, counts in zip(self.types, by_type, strict=True):
            if counts.found or counts.gold:
                metrics[f"f1 {kind}"] = counts.f1
        metrics["opened"] = 100 * (float(found.opened.mean()) if len(found) else 0.0)
        metrics["unread"] = 100 * float((predictions.flat[known] < 0).mean())
        return Scores(metrics, outcomes_of(*by_sentence(found, expected, right.rows(), len(right)), gold))

    def _numbers(self, chunks: Chunks[Any]) -> dict[str, int]:
        """Return the number of every tag; with `outside`, tags of other types are 0 and counted in the log."""
        known = tag_numbers(self.types)
        if self.other_types == "error":
            return known
        others: Counter[str] = Counter()
        for path, chunk in chunks:
            new = Counter(tag for row in chunk.tags[self.tag_kind] for tag in row if tag not in known)
            log_notes(self.name, path, [{f"words of other types read as O ({', '.join(sorted(new))})": new.total()}])
            others += new
        return known | dict.fromkeys(others, 0)

    def explain_unknown(self, tag: str) -> str:
        """Return the settings that allow an unknown type."""
        kind = tag[2:]
        cure = f"types = {[*self.types, kind]}, or other_types = 'outside' to read such words as O"
        return f"an entity of type {kind!r}, but types = {list(self.types)}{did_you_mean(kind, self.types)}; set {cure}"


# ---- entities ----


@dataclass(frozen=True)
class Entities:
    """Spans of words, counted over all sentences.

    starts, stops, types: (E,) half-open spans and the number of the type, in order.
    opened: (E,) whether it begins with an I.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    types: NDArray[np.int64]
    opened: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True)
class EntityCounts:
    """Numbers of right, found and gold entities."""

    right: int
    found: int
    gold: int

    @property
    def precision(self) -> float:
        """Percentage of found entities that are right; 0 if none is found."""
        return 100 * self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Percentage of gold entities that are found; 0 if there is none."""
        return 100 * self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both, in percent; 0 if nothing is right."""
        return 200 * self.right / (self.found + self.gold) if self.right else 0.0


def tag_numbers(types: Sequence[str]) -> dict[str, int]:
    """Return the number of every tag: 0 is O; of type k, 2k + 1 is B and 2k + 2 is I.

    >>> tag_numbers(["PER"])
    {'O': 0, 'B-PER': 1, 'I-PER': 2}
    """
    tags = ["O", *(f"{part}-{kind}" for kind in types for part in "BI")]
    return {tag: number for number, tag in enumerate(tags)}


def entities(tags: Ragged) -> Entities:
    """Return the entities of rows of tags; -1 is outside."""
    flat = np.maximum(np.asarray(tags.flat, np.int64), 0)
    types = (flat - 1) // 2  # -1 outside
    continues = np.zeros(len(flat), np.bool_)  # an I behind a word of its type, in the same row
    continues[1:] = (flat[1:] % 2 == 0) & (types[1:] >= 0) & (types[1:] == types[:-1]) & (np.diff(tags.rows()) == 0)
    starts = np.flatnonzero((types >= 0) & ~continues)
    last = types >= 0
    last[:-1] &= ~continues[1:]
    return Entities(starts, np.flatnonzero(last) + 1, types[starts], flat[starts] % 2 == 0)


def compare(found: Entities, gold: Entities, kinds: int) -> tuple[EntityCounts, list[EntityCounts]]:
    """Count entities over all types together, and for each type. Right is the same span of the same type."""
    right = _matching(found, gold)
    counts = [np.bincount(types, minlength=kinds) for types in (found.types[right], found.types, gold.types)]
    by_type = [EntityCounts(*(int(count[kind]) for count in counts)) for kind in range(kinds)]
    return EntityCounts(int(right.sum()), len(found), len(gold)), by_type


def by_sentence(
    found: Entities, gold: Entities, rows: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return twice the right entities, and found and gold ones together, of each sentence: F1 is their ratio.

    rows: (W,) the sentence of each word. count: number of sentences.
    """
    right, every, expected = (
        np.bincount(rows[starts], minlength=count).astype(np.float64)
        for starts in (found.starts[_matching(found, gold)], found.starts, gold.starts)
    )
    return 2 * right, every + expected


def _matching(found: Entities, gold: Entities) -> NDArray[np.bool_]:
    """(E,) which of the found entities are in the gold."""
    width = 1 + max(found.stops.max(initial=0), gold.stops.max(initial=0))
    kinds = 1 + max(found.types.max(initial=0), gold.types.max(initial=0))
    keys = [(side.starts * width + side.stops) * kinds + side.types for side in (found, gold)]
    return np.isin(*keys)
